//! A client of the 2025 revisions.

use std::net::SocketAddr;

use serde_json::{Value, json};

use crate::http::endpoint::Endpoint;
use crate::http::events::Events;
use crate::http::request::Request;
use crate::http::socket::{Answer, Wire};
use crate::peer::{legacy, notification};

/// The revisions that have sessions over one endpoint.
pub(crate) const REVISIONS: [&str; 3] = ["2025-03-26", "2025-06-18", "2025-11-25"];

/// A session, from the client's side. It belongs to no connection and to no node.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    pub(crate) address: SocketAddr,
    pub(crate) id: String,
    pub(crate) version: &'static str,
}

impl Session {
    /// The handshake of a client that can answer everything.
    pub(crate) async fn open(endpoint: &Endpoint, version: &'static str) -> Self {
        let session = Self::initialize(endpoint, version).await;
        let initialized = notification("notifications/initialized", json!({}));
        assert_eq!(session.post(&initialized).await.status(), 202);
        session
    }

    /// The first half of the handshake.
    pub(crate) async fn initialize(endpoint: &Endpoint, version: &'static str) -> Self {
        let answer = endpoint.ask(&initialize_request(version)).await;
        assert_eq!(answer.status(), 200, "{}", answer.text());
        let message = answer.message();
        assert_eq!(message["result"]["protocolVersion"], version, "{message}");
        let id = answer
            .header("mcp-session-id")
            .expect("a session is opened");
        Self {
            address: endpoint.address,
            id: id.to_owned(),
            version,
        }
    }

    /// The same session on another node.
    pub(crate) fn at(&self, endpoint: &Endpoint) -> Self {
        Self {
            address: endpoint.address,
            ..self.clone()
        }
    }

    pub(crate) fn request(&self, message: &Value) -> Request {
        Request::post(message).in_session(&self.id, self.version)
    }

    /// Posts a message on a connection of its own.
    pub(crate) async fn post(&self, message: &Value) -> Answer {
        self.ask(&self.request(message)).await
    }

    /// Posts a request and returns the one message of its plain answer.
    #[track_caller]
    pub(crate) fn call(&self, message: Value) -> impl Future<Output = Value> {
        let caller = std::panic::Location::caller();
        async move {
            let answer = self.post(&message).await;
            assert_eq!(answer.status(), 200, "{} at {caller}", answer.text());
            answer.message()
        }
    }

    /// Posts something that needs no answer.
    #[track_caller]
    pub(crate) fn tell(&self, message: Value) -> impl Future<Output = ()> {
        let caller = std::panic::Location::caller();
        async move {
            let answer = self.post(&message).await;
            assert_eq!(answer.status(), 202, "{} at {caller}", answer.text());
            assert_eq!(answer.text(), "");
        }
    }

    /// Posts a request whose answer is a stream.
    pub(crate) async fn stream(&self, message: &Value) -> Events {
        self.events(&self.request(message)).await
    }

    /// Opens a stream for whatever the server has to say.
    pub(crate) async fn listen(&self) -> Events {
        self.events(&Request::get(&self.id, self.version)).await
    }

    /// Comes back to a stream.
    pub(crate) async fn resume(&self, last: &str) -> Events {
        self.events(&self.resume_request(last)).await
    }

    pub(crate) fn resume_request(&self, last: &str) -> Request {
        Request::get(&self.id, self.version).with("Last-Event-ID", last)
    }

    pub(crate) async fn end(&self) -> Answer {
        self.ask(&Request::delete(&self.id, self.version)).await
    }

    pub(crate) async fn ask(&self, request: &Request) -> Answer {
        let mut wire = Wire::connect(self.address).await;
        wire.send(request.bytes()).await;
        wire.answer().await
    }

    async fn events(&self, request: &Request) -> Events {
        let mut wire = Wire::connect(self.address).await;
        wire.send(request.bytes()).await;
        let head = wire.head().await;
        Events::new(wire, head)
    }
}

/// `initialize` of a client that can answer everything.
pub(crate) fn initialize_request(version: &str) -> Request {
    let params = json!({
        "protocolVersion": version,
        "capabilities": {"elicitation": {}, "sampling": {}, "roots": {}},
        "clientInfo": {"name": "legacy-peer", "version": "1"},
    });
    Request::post(&legacy(0, "initialize", params))
}

/// A `tools/call` of the 2025 revisions.
pub(crate) fn tool_call(id: impl Into<Value>, tool: &str, arguments: Value) -> Value {
    legacy(
        id,
        "tools/call",
        json!({"name": tool, "arguments": arguments}),
    )
}

/// A `tools/call` with a token for progress.
pub(crate) fn tool_call_with_token(
    id: impl Into<Value>,
    tool: &str,
    token: impl Into<Value>,
) -> Value {
    let meta = json!({"progressToken": token.into()});
    legacy(
        id,
        "tools/call",
        json!({"name": tool, "arguments": {}, "_meta": meta}),
    )
}
