//! Authorization of the HTTP+SSE transport (revision 2024-11-05).

use std::sync::Arc;

use serde_json::{Value, json};
use toolwire::store::{Mailboxes, MemoryMailboxes, MemorySessionStore, SessionStore};
use toolwire::transport::http::HttpOptions;
use toolwire_tests::http::request::Request;
use toolwire_tests::http::session::tool_call;
use toolwire_tests::http::socket::Connection;
use toolwire_tests::peer::{legacy, modern};

use super::protected_server::{
    ProtectedServer, bare_challenge, config, insufficient, options, tokens, with_token,
};

async fn start_server() -> ProtectedServer {
    let options = options(config().with_verifier(tokens())).with_http_sse();
    ProtectedServer::serve(options, |server| server).await
}

fn stream() -> Request {
    Request::new("GET")
        .with_target("/sse")
        .with("Accept", "text/event-stream")
}

/// An open event stream.
struct Stream {
    connection: Connection,
    text: String,
}

impl Stream {
    /// Returns the data of the next event.
    async fn next(&mut self) -> String {
        loop {
            while let Some(end) = self.text.find("\n\n") {
                let block: String = self.text.drain(..end + 2).collect();
                if let Some(data) = block.lines().find_map(|line| line.strip_prefix("data: ")) {
                    return data.to_owned();
                }
            }
            let chunk = self
                .connection
                .chunk()
                .await
                .unwrap()
                .expect("the stream is open");
            self.text += std::str::from_utf8(&chunk).unwrap();
        }
    }

    async fn message(&mut self) -> Value {
        serde_json::from_str(&self.next().await).unwrap()
    }
}

async fn open(server: &ProtectedServer, token: &str) -> (Stream, String) {
    let mut connection = server.endpoint.connect().await;
    connection.send(with_token(stream(), token).bytes()).await;
    assert_eq!(connection.headers().await.status, 200);
    let text = String::new();
    let mut stream = Stream { connection, text };
    let address = stream.next().await;
    (stream, address)
}

fn post(address: &str, message: &Value) -> Request {
    Request::post(message).with_target(address)
}

#[tokio::test]
async fn both_endpoints_require_a_token() {
    let server = start_server().await;
    let (_events, address) = open(&server, "ann").await;
    let ping = legacy(1, "ping", json!({}));
    for request in [stream(), post(&address, &ping), post("/message", &ping)] {
        let response = server.endpoint.request(&request).await;
        assert_eq!(response.status(), 401);
        assert_eq!(
            response.header("www-authenticate"),
            Some(&*bare_challenge())
        );
    }
}

#[tokio::test]
async fn stream_of_another_user_is_indistinguishable_from_an_unknown_stream() {
    let server = start_server().await;
    let (mut events, address) = open(&server, "ann").await;
    let ping = legacy(1, "ping", json!({}));
    let (start, id) = address.split_once("sessionId=").unwrap();
    let unknown_address = format!("{start}sessionId={}", "x".repeat(id.len()));
    let of_other_user = server.send("bob", post(&address, &ping)).await;
    let unknown = server.send("bob", post(&unknown_address, &ping)).await;
    assert_eq!(of_other_user.status(), 404);
    assert_eq!(of_other_user.text(), unknown.text());
    assert_eq!(
        server.send("ann", post(&address, &ping)).await.status(),
        202
    );
    let response = events.message().await;
    assert_eq!(response, json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
}

/// Initializes the session and reads the response.
async fn initialize(server: &ProtectedServer, events: &mut Stream, address: &str, token: &str) {
    let params = json!({
        "protocolVersion": "2024-11-05", "capabilities": {},
        "clientInfo": {"name": "old", "version": "1"},
    });
    let initialize = post(address, &legacy(0, "initialize", params));
    assert_eq!(server.send(token, initialize).await.status(), 202);
    events.message().await;
}

#[tokio::test]
async fn handler_gets_the_token_of_its_message() {
    let server = start_server().await;
    let (mut events, address) = open(&server, "ann").await;
    initialize(&server, &mut events, &address, "ann").await;
    for (token, scopes) in [("ann", ""), ("ann-reads", "files:read"), ("ann", "")] {
        let call = tool_call(1, "whoami", json!({}));
        let response = server.send(token, post(&address, &call)).await;
        assert_eq!(response.status(), 202);
        let result = events.message().await;
        let text = &result["result"]["content"][0]["text"];
        assert_eq!(text, &format!("Some(\"ann\") None {scopes}"));
    }
}

/// Returns requests, each with the scopes that it requires.
fn requests_with_required_scopes() -> Vec<(Value, &'static str)> {
    let filter = json!({"notifications": {"resourceSubscriptions": ["file:///plan"]}});
    let prompt = json!({"type": "ref/prompt", "name": "letter"});
    let completion = json!({"ref": prompt, "argument": {"name": "to", "value": ""}});
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
        (legacy(1, "completion/complete", completion), "mail:read"),
        (modern(1, "subscriptions/listen", filter), "files:read"),
    ]
}

#[tokio::test]
async fn request_without_scopes_is_challenged_and_request_with_scopes_is_served() {
    let server = start_server().await;
    let (mut events, address) = open(&server, "ann").await;
    initialize(&server, &mut events, &address, "ann").await;
    for (message, scopes) in requests_with_required_scopes() {
        let response = server.send("ann", post(&address, &message)).await;
        assert_eq!(response.status(), 403, "{message}");
        let expected = insufficient(scopes);
        assert_eq!(response.header("www-authenticate"), Some(&*expected));
        assert_eq!(response.message()["id"], 1);
    }
    assert_eq!(server.runs(), 0);
    // Another token of the same user has the scope, and works on the same stream.
    let read = legacy(2, "resources/read", json!({"uri": "file:///plan"}));
    let response = server.send("ann-reads", post(&address, &read)).await;
    assert_eq!(response.status(), 202);
    let read = events.message().await;
    assert_eq!(
        read["id"], 2,
        "a rejected message gets no response on the stream"
    );
    assert!(read["result"].is_object(), "{read}");

    let (mut events, address) = open(&server, "bob").await;
    initialize(&server, &mut events, &address, "bob").await;
    for (message, _) in requests_with_required_scopes() {
        let response = server.send("bob", post(&address, &message)).await;
        assert_eq!(response.status(), 202, "{message}");
        let served = events.message().await;
        assert_eq!(served.get("error"), None, "{message}: {served}");
    }
    assert_eq!(server.runs(), 1);
}

#[tokio::test]
async fn server_without_authorization_rejects_requests_that_require_scopes() {
    let options = HttpOptions::new().with_http_sse();
    let server = ProtectedServer::serve(options, |server| server).await;
    let (_events, address) = open(&server, "any").await;
    for (message, _) in requests_with_required_scopes() {
        let response = server.endpoint.request(&post(&address, &message)).await;
        assert_eq!(response.status(), 403, "{message}");
        assert_eq!(response.header("www-authenticate"), None);
    }
}

#[tokio::test]
async fn token_is_forwarded_with_its_message_to_the_node_of_the_stream() {
    let sessions: Arc<dyn SessionStore> = Arc::new(MemorySessionStore::default());
    let mailboxes: Arc<dyn Mailboxes> = Arc::new(MemoryMailboxes::default());
    let node = async || {
        let options = options(config().with_verifier(tokens()))
            .with_http_sse()
            .with_session_store(Arc::clone(&sessions))
            .with_mailboxes(Arc::clone(&mailboxes));
        ProtectedServer::serve(options, |server| server).await
    };
    let (near, far) = (node().await, node().await);
    let (mut events, address) = open(&near, "ann").await;
    initialize(&near, &mut events, &address, "ann").await;
    let write = tool_call(1, "write", json!({}));
    assert_eq!(far.send("ann", post(&address, &write)).await.status(), 403);
    let read = legacy(2, "resources/read", json!({"uri": "file:///plan"}));
    let response = far.send("ann-reads", post(&address, &read)).await;
    assert_eq!(response.status(), 202);
    let read = events.message().await;
    assert_eq!(read["id"], 2);
    assert!(read["result"].is_object(), "{read}");
    let call = tool_call(3, "whoami", json!({}));
    assert_eq!(
        far.send("ann-reads", post(&address, &call)).await.status(),
        202
    );
    let result = events.message().await;
    let text = &result["result"]["content"][0]["text"];
    assert_eq!(text, "Some(\"ann\") None files:read");
}
