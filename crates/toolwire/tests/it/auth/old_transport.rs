//! The two endpoints of 2024-11-05 behind a guard.

use std::sync::Arc;

use serde_json::{Value, json};
use toolwire::store::{Bus, MemoryBus, MemorySessionStore, SessionStore};
use toolwire::transport::http::HttpOptions;

use super::guarded::{Guarded, bare_challenge, config, insufficient, options, tokens, with_token};
use crate::http::request::Request;
use crate::http::session::tool_call;
use crate::http::socket::Wire;
use crate::peer::{legacy, modern};

async fn guarded() -> Guarded {
    let options = options(config().with_verifier(tokens())).with_http_sse();
    Guarded::serve(options, |server| server).await
}

fn stream() -> Request {
    Request::new("GET")
        .with_target("/sse")
        .with("Accept", "text/event-stream")
}

/// An open stream.
struct Stream {
    wire: Wire,
    text: String,
}

impl Stream {
    /// The data of the next event.
    async fn next(&mut self) -> String {
        loop {
            while let Some(end) = self.text.find("\n\n") {
                let block: String = self.text.drain(..end + 2).collect();
                if let Some(data) = block.lines().find_map(|line| line.strip_prefix("data: ")) {
                    return data.to_owned();
                }
            }
            let chunk = self
                .wire
                .chunk()
                .await
                .unwrap()
                .expect("the stream goes on");
            self.text += std::str::from_utf8(&chunk).unwrap();
        }
    }

    async fn message(&mut self) -> Value {
        serde_json::from_str(&self.next().await).unwrap()
    }
}

async fn open(guarded: &Guarded, token: &str) -> (Stream, String) {
    let mut wire = guarded.endpoint.connect().await;
    wire.send(with_token(stream(), token).bytes()).await;
    assert_eq!(wire.head().await.status, 200);
    let text = String::new();
    let mut stream = Stream { wire, text };
    let address = stream.next().await;
    (stream, address)
}

fn post(address: &str, message: &Value) -> Request {
    Request::post(message).with_target(address)
}

#[tokio::test]
async fn both_endpoints_want_a_token() {
    let guarded = guarded().await;
    let (_events, address) = open(&guarded, "ann").await;
    let ping = legacy(1, "ping", json!({}));
    for request in [stream(), post(&address, &ping), post("/message", &ping)] {
        let answer = guarded.endpoint.ask(&request).await;
        assert_eq!(answer.status(), 401);
        assert_eq!(answer.header("www-authenticate"), Some(&*bare_challenge()));
    }
}

#[tokio::test]
async fn the_stream_of_another_looks_like_none() {
    let guarded = guarded().await;
    let (mut events, address) = open(&guarded, "ann").await;
    let ping = legacy(1, "ping", json!({}));
    let (start, id) = address.split_once("sessionId=").unwrap();
    let invented = format!("{start}sessionId={}", "x".repeat(id.len()));
    let foreign = guarded.ask("bob", post(&address, &ping)).await;
    let unknown = guarded.ask("bob", post(&invented, &ping)).await;
    assert_eq!(foreign.status(), 404);
    assert_eq!(foreign.text(), unknown.text());
    assert_eq!(
        guarded.ask("ann", post(&address, &ping)).await.status(),
        202
    );
    let answer = events.message().await;
    assert_eq!(answer, json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
}

/// The handshake; its answer is read.
async fn initialize(guarded: &Guarded, events: &mut Stream, address: &str, token: &str) {
    let hello = json!({
        "protocolVersion": "2024-11-05", "capabilities": {},
        "clientInfo": {"name": "old", "version": "1"},
    });
    let hello = post(address, &legacy(0, "initialize", hello));
    assert_eq!(guarded.ask(token, hello).await.status(), 202);
    events.message().await;
}

#[tokio::test]
async fn a_handler_sees_the_token_of_its_message() {
    let guarded = guarded().await;
    let (mut events, address) = open(&guarded, "ann").await;
    initialize(&guarded, &mut events, &address, "ann").await;
    for (token, scopes) in [("ann", ""), ("ann-reads", "files:read"), ("ann", "")] {
        let call = tool_call(1, "whoami", json!({}));
        let answer = guarded.ask(token, post(&address, &call)).await;
        assert_eq!(answer.status(), 202);
        let said = events.message().await;
        let said = &said["result"]["content"][0]["text"];
        assert_eq!(said, &format!("Some(\"ann\") None {scopes}"));
    }
}

/// Things that need scopes, and which.
fn guarded_things() -> Vec<(Value, &'static str)> {
    let wish = json!({"notifications": {"resourceSubscriptions": ["file:///plan"]}});
    let prompt = json!({"type": "ref/prompt", "name": "letter"});
    let completing = json!({"ref": prompt, "argument": {"name": "to", "value": ""}});
    vec![
        (tool_call(1, "write", json!({})), "files:read files:write"),
        (
            legacy(1, "resources/read", json!({"uri": "file:///plan"})),
            "files:read",
        ),
        (
            legacy(1, "resources/subscribe", json!({"uri": "file:///plan"})),
            "files:read",
        ),
        (
            legacy(1, "prompts/get", json!({"name": "letter"})),
            "mail:read",
        ),
        (legacy(1, "completion/complete", completing), "mail:read"),
        (modern(1, "subscriptions/listen", wish), "files:read"),
    ]
}

#[tokio::test]
async fn what_needs_scopes_is_refused_with_all_of_them_and_served_to_whom_they_are_granted() {
    let guarded = guarded().await;
    let (mut events, address) = open(&guarded, "ann").await;
    initialize(&guarded, &mut events, &address, "ann").await;
    for (message, scopes) in guarded_things() {
        let answer = guarded.ask("ann", post(&address, &message)).await;
        assert_eq!(answer.status(), 403, "{message}");
        let expected = insufficient(scopes);
        assert_eq!(answer.header("www-authenticate"), Some(&*expected));
        assert_eq!(answer.message()["id"], 1);
    }
    assert_eq!(guarded.runs(), 0);
    // Another token of hers is enough, on the same stream.
    let read = legacy(2, "resources/read", json!({"uri": "file:///plan"}));
    let answer = guarded.ask("ann-reads", post(&address, &read)).await;
    assert_eq!(answer.status(), 202);
    let read = events.message().await;
    assert_eq!(read["id"], 2, "only what was accepted is answered");
    assert!(read["result"].is_object(), "{read}");

    let (mut events, address) = open(&guarded, "bob").await;
    initialize(&guarded, &mut events, &address, "bob").await;
    for (message, _) in guarded_things() {
        let answer = guarded.ask("bob", post(&address, &message)).await;
        assert_eq!(answer.status(), 202, "{message}");
        let served = events.message().await;
        assert_eq!(served.get("error"), None, "{message}: {served}");
    }
    assert_eq!(guarded.runs(), 1);
}

#[tokio::test]
async fn without_authorization_nobody_has_scopes_here_either() {
    let options = HttpOptions::new().with_http_sse();
    let guarded = Guarded::serve(options, |server| server).await;
    let (_events, address) = open(&guarded, "whatever").await;
    for (message, _) in guarded_things() {
        let answer = guarded.endpoint.ask(&post(&address, &message)).await;
        assert_eq!(answer.status(), 403, "{message}");
        assert_eq!(answer.header("www-authenticate"), None);
    }
}

#[tokio::test]
async fn a_token_goes_with_its_message_to_the_node_that_has_the_stream() {
    let sessions: Arc<dyn SessionStore> = Arc::new(MemorySessionStore::default());
    let bus: Arc<dyn Bus> = Arc::new(MemoryBus::default());
    let node = async || {
        let options = options(config().with_verifier(tokens()))
            .with_http_sse()
            .with_session_store(Arc::clone(&sessions))
            .with_bus(Arc::clone(&bus));
        Guarded::serve(options, |server| server).await
    };
    let (near, far) = (node().await, node().await);
    let (mut events, address) = open(&near, "ann").await;
    initialize(&near, &mut events, &address, "ann").await;
    let write = tool_call(1, "write", json!({}));
    assert_eq!(far.ask("ann", post(&address, &write)).await.status(), 403);
    let read = legacy(2, "resources/read", json!({"uri": "file:///plan"}));
    let answer = far.ask("ann-reads", post(&address, &read)).await;
    assert_eq!(answer.status(), 202);
    let read = events.message().await;
    assert_eq!(read["id"], 2);
    assert!(read["result"].is_object(), "{read}");
    let call = tool_call(3, "whoami", json!({}));
    assert_eq!(
        far.ask("ann-reads", post(&address, &call)).await.status(),
        202
    );
    let said = events.message().await;
    let said = &said["result"]["content"][0]["text"];
    assert_eq!(said, "Some(\"ann\") None files:read");
}
