//! A client of the 2025 revisions.

use std::net::SocketAddr;

use serde_json::{Value, json};

use crate::http::endpoint::Endpoint;
use crate::http::events::Events;
use crate::http::request::Request;
use crate::http::socket::{Connection, Response};
use crate::peer::{legacy, notification};

/// The revisions with sessions on a single endpoint.
pub const REVISIONS: [&str; 3] = ["2025-03-26", "2025-06-18", "2025-11-25"];

/// The client side of a session. It is bound neither to a connection nor to a node.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Session {
    /// The address of the node that receives the requests.
    pub address: SocketAddr,
    /// The session id.
    pub id: String,
    /// The protocol version.
    pub version: &'static str,
}

impl Session {
    /// Performs the handshake of a client with elicitation, sampling and roots.
    pub async fn open(endpoint: &Endpoint, version: &'static str) -> Self {
        let session = Self::initialize(endpoint, version).await;
        let initialized = notification("notifications/initialized", json!({}));
        assert_eq!(session.post(&initialized).await.status(), 202);
        session
    }

    /// Sends `initialize` without the notification that completes the handshake.
    pub async fn initialize(endpoint: &Endpoint, version: &'static str) -> Self {
        let response = endpoint.request(&initialize_request(version)).await;
        assert_eq!(response.status(), 200, "{}", response.text());
        let message = response.message();
        assert_eq!(message["result"]["protocolVersion"], version, "{message}");
        let id = response
            .header("mcp-session-id")
            .expect("a session is opened");
        Self {
            address: endpoint.address,
            id: id.to_owned(),
            version,
        }
    }

    /// Returns the same session on another node.
    pub fn at(&self, endpoint: &Endpoint) -> Self {
        Self {
            address: endpoint.address,
            ..self.clone()
        }
    }

    /// Returns a POST request with a message in this session.
    pub fn post_request(&self, message: &Value) -> Request {
        Request::post(message).in_session(&self.id, self.version)
    }

    /// Posts a message on a new connection.
    pub async fn post(&self, message: &Value) -> Response {
        self.request(&self.post_request(message)).await
    }

    /// Posts a request and returns the single message of its JSON response.
    #[track_caller]
    pub fn call(&self, message: Value) -> impl Future<Output = Value> {
        let caller = std::panic::Location::caller();
        async move {
            let response = self.post(&message).await;
            assert_eq!(response.status(), 200, "{} at {caller}", response.text());
            response.message()
        }
    }

    /// Posts a message that gets no JSON-RPC response.
    #[track_caller]
    pub fn send(&self, message: Value) -> impl Future<Output = ()> {
        let caller = std::panic::Location::caller();
        async move {
            let response = self.post(&message).await;
            assert_eq!(response.status(), 202, "{} at {caller}", response.text());
            assert_eq!(response.text(), "");
        }
    }

    /// Posts a request whose response is an event stream.
    pub async fn stream(&self, message: &Value) -> Events {
        self.events(&self.post_request(message)).await
    }

    /// Opens a server stream.
    pub async fn listen(&self) -> Events {
        self.events(&Request::get(&self.id, self.version)).await
    }

    /// Resumes a stream after the event with this id.
    pub async fn resume(&self, last: &str) -> Events {
        self.events(&self.resume_request(last)).await
    }

    /// Returns a GET request that resumes a stream after the event with this id.
    pub fn resume_request(&self, last: &str) -> Request {
        Request::get(&self.id, self.version).with("Last-Event-ID", last)
    }

    /// Ends the session with a DELETE request.
    pub async fn end(&self) -> Response {
        self.request(&Request::delete(&self.id, self.version)).await
    }

    /// Sends a request on a new connection and returns the complete response.
    pub async fn request(&self, request: &Request) -> Response {
        let mut connection = Connection::connect(self.address).await;
        connection.send(request.bytes()).await;
        connection.response().await
    }

    async fn events(&self, request: &Request) -> Events {
        let mut connection = Connection::connect(self.address).await;
        connection.send(request.bytes()).await;
        let headers = connection.headers().await;
        Events::new(connection, headers)
    }
}

/// Returns the `initialize` request of a client with elicitation, sampling and roots.
pub fn initialize_request(version: &str) -> Request {
    let params = json!({
        "protocolVersion": version,
        "capabilities": {"elicitation": {}, "sampling": {}, "roots": {}},
        "clientInfo": {"name": "legacy-peer", "version": "1"},
    });
    Request::post(&legacy(0, "initialize", params))
}

/// Returns a `tools/call` of the 2025 revisions.
pub fn tool_call(id: impl Into<Value>, tool: &str, arguments: Value) -> Value {
    legacy(
        id,
        "tools/call",
        json!({"name": tool, "arguments": arguments}),
    )
}

/// Returns a `tools/call` with a progress token.
pub fn tool_call_with_token(id: impl Into<Value>, tool: &str, token: impl Into<Value>) -> Value {
    let meta = json!({"progressToken": token.into()});
    legacy(
        id,
        "tools/call",
        json!({"name": tool, "arguments": {}, "_meta": meta}),
    )
}
