//! The two endpoints of 2024-11-05 behind a guard.

use serde_json::{Value, json};

use super::guarded::{Guarded, bare_challenge, config, options, tokens, with_token};
use crate::http::request::Request;
use crate::http::session::tool_call;
use crate::http::socket::Wire;
use crate::peer::{legacy, modern};

async fn guarded() -> Guarded {
    let options = options(config().with_verifier(tokens())).with_http_with_sse();
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

#[tokio::test]
async fn what_needs_scopes_is_refused_whatever_the_token() {
    let guarded = guarded().await;
    let (mut events, address) = open(&guarded, "bob").await;
    let hello = json!({
        "protocolVersion": "2024-11-05", "capabilities": {},
        "clientInfo": {"name": "old", "version": "1"},
    });
    let wish = json!({"notifications": {"resourceSubscriptions": ["file:///plan"]}});
    assert_eq!(
        guarded
            .ask("bob", post(&address, &legacy(0, "initialize", hello)))
            .await
            .status(),
        202
    );
    events.message().await;
    for message in [
        tool_call(1, "write", json!({})),
        legacy(1, "resources/read", json!({"uri": "file:///plan"})),
        legacy(1, "resources/subscribe", json!({"uri": "file:///plan"})),
        modern(1, "subscriptions/listen", wish),
    ] {
        assert_eq!(
            guarded.ask("bob", post(&address, &message)).await.status(),
            202
        );
        let refused = events.message().await;
        assert_eq!(refused["error"]["code"], -32600, "{message}: {refused}");
    }
    assert_eq!(guarded.runs(), 0);
}
