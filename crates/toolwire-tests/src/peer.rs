//! A scripted peer for tests that list the messages in wire order.
//!
//! The peer sends JSON text to a server in the same process and compares complete messages. Waits have a timeout only
//! so that a broken server fails a test instead of blocking it. No test depends on elapsed time.

use std::future::Future;
use std::time::Duration;

use serde_json::{Map, Value, json};
use toolwire::transport::{InProcess, Limits};
use toolwire::{IntoToolResponse, RequestContext, Server, Tool, ToolHandler};

/// The timeout of every wait, longer than any wait of a passing test.
const SAFETY_NET: Duration = Duration::from_secs(60);

/// The client side of a connection.
#[derive(Debug)]
pub struct Peer {
    wire: InProcess,
}

impl Peer {
    /// Connects to a server with default limits.
    pub fn connect(server: &Server) -> Self {
        Self::connect_with(server, Limits::default())
    }

    /// Connects to a server with these limits.
    pub fn connect_with(server: &Server, limits: Limits) -> Self {
        Self {
            wire: InProcess::connect_with(server, limits),
        }
    }

    /// Sends one message, given as text or as a JSON value.
    pub async fn send(&self, message: impl ToString) {
        self.wire.send(&message.to_string()).await.unwrap();
    }

    /// Sends raw bytes, including line breaks.
    pub async fn send_bytes(&self, bytes: impl Into<Vec<u8>>) {
        self.wire.send_bytes(bytes.into()).await.unwrap();
    }

    /// Returns the next message.
    pub async fn receive(&mut self) -> Value {
        let message = self.receive_text().await;
        serde_json::from_str(&message).unwrap()
    }

    /// Returns the next message as text, exactly as it was sent.
    pub async fn receive_text(&mut self) -> String {
        within(self.wire.receive())
            .await
            .expect("the server has ended the connection")
    }

    /// Expects that the next message equals `expected`.
    #[track_caller]
    pub fn expect(&mut self, expected: Value) -> impl Future<Output = ()> {
        let caller = std::panic::Location::caller();
        async move {
            let received = self.receive().await;
            assert_eq!(received, expected, "at {caller}");
        }
    }

    /// Expects that the next message is an error with this id and code, and returns the error.
    #[track_caller]
    pub fn expect_error(&mut self, id: impl Into<Value>, code: i64) -> impl Future<Output = Value> {
        let caller = std::panic::Location::caller();
        let id = id.into();
        async move {
            let received = self.receive().await;
            assert_eq!(received["id"], id, "{received} at {caller}");
            assert_eq!(received["error"]["code"], code, "{received} at {caller}");
            assert_eq!(received.get("result"), None, "{received} at {caller}");
            received["error"].clone()
        }
    }

    /// Sends a request and returns the next message, which must be its response.
    #[track_caller]
    pub fn call(&mut self, request: Value) -> impl Future<Output = Value> {
        let caller = std::panic::Location::caller();
        async move {
            self.send(&request).await;
            let response = self.receive().await;
            assert_eq!(response["id"], request["id"], "{response} at {caller}");
            response
        }
    }

    /// Sends a request and returns the result of its response.
    #[track_caller]
    pub fn result_of(&mut self, request: Value) -> impl Future<Output = Value> {
        let caller = std::panic::Location::caller();
        async move {
            let mut response = self.call(request).await;
            assert!(response.get("result").is_some(), "{response} at {caller}");
            response["result"].take()
        }
    }

    /// Sends a request, expects an error with this code, and returns the error.
    #[track_caller]
    pub fn error_of(&mut self, request: Value, code: i64) -> impl Future<Output = Value> {
        let caller = std::panic::Location::caller();
        async move {
            let mut response = self.call(request).await;
            assert_eq!(response["error"]["code"], code, "{response} at {caller}");
            response["error"].take()
        }
    }

    /// Expects that no message is pending: several `ping` requests receive only their own responses.
    ///
    /// The first `ping` is served by the loop of the connection. The others let every ready task run.
    #[track_caller]
    pub fn expect_silence(&mut self) -> impl Future<Output = ()> {
        let caller = std::panic::Location::caller();
        async move {
            for round in 0..8 {
                let id = format!("silence-{round}");
                self.send(legacy(id.as_str(), "ping", json!({}))).await;
                let received = self.receive().await;
                assert_eq!(received["id"], id, "{received} at {caller}");
                tokio::task::yield_now().await;
            }
        }
    }

    /// Performs the legacy handshake without client capabilities and returns the result of `initialize`.
    pub async fn initialize(&mut self, version: &str) -> Value {
        self.initialize_with(version, json!({})).await
    }

    /// Performs the legacy handshake with client capabilities and returns the result of `initialize`.
    pub async fn initialize_with(&mut self, version: &str, capabilities: Value) -> Value {
        let params = json!({
            "protocolVersion": version,
            "capabilities": capabilities,
            "clientInfo": {"name": "legacy-peer", "version": "1"},
        });
        let result = self.result_of(legacy(0, "initialize", params)).await;
        self.send(notification("notifications/initialized", json!({})))
            .await;
        result
    }

    /// Closes the input of the server. Responses can still be received.
    pub fn close_input(&mut self) {
        self.wire.close();
    }

    /// Expects that the server sends no more messages and ends the connection.
    pub async fn expect_end(mut self) {
        let message = within(self.wire.receive()).await;
        assert_eq!(message, None);
        within(self.wire.closed()).await;
    }
}

/// Returns a server without features and without server info in its results, so that expected results are short.
pub fn server() -> Server {
    Server::new("wire", "1.0.0").without_server_info()
}

/// Returns a tool that accepts any arguments and ignores them.
pub fn plain<M, F, Fut>(name: &str, handler: F) -> ToolHandler
where
    F: Fn(RequestContext) -> Fut + Send + Sync + 'static,
    Fut: Future + Send + 'static,
    Fut::Output: IntoToolResponse<M>,
{
    let descriptor = Tool::new(name, json!({"type": "object"}));
    ToolHandler::raw(descriptor, move |ctx, _| handler(ctx))
}

/// Waits for a future, and panics after the timeout.
pub async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(SAFETY_NET, future)
        .await
        .expect("timeout")
}

/// Returns a 2026-07-28 request without client capabilities.
pub fn modern(id: impl Into<Value>, method: &str, params: Value) -> Value {
    modern_with(id, method, params, json!({}))
}

/// Returns a 2026-07-28 request with these client capabilities. Entries of `_meta` in `params` are retained.
pub fn modern_with(
    id: impl Into<Value>,
    method: &str,
    mut params: Value,
    capabilities: Value,
) -> Value {
    let mut meta = modern_meta(capabilities);
    if let Some(Value::Object(own)) = params.get_mut("_meta").map(Value::take) {
        meta.extend(own);
    }
    params["_meta"] = Value::Object(meta);
    legacy(id, method, params)
}

/// Returns a 2026-07-28 `tools/call`.
pub fn call(id: impl Into<Value>, tool: &str, arguments: Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    modern(id, "tools/call", params)
}

/// Returns the required `_meta` of a 2026-07-28 request.
pub fn modern_meta(capabilities: Value) -> Map<String, Value> {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "peer", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    });
    serde_json::from_value(meta).unwrap()
}

/// Returns a request without adding `_meta`.
pub fn legacy(id: impl Into<Value>, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params})
}

/// Returns a notification.
pub fn notification(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

/// Returns `notifications/cancelled` for a request.
pub fn cancel(id: impl Into<Value>) -> Value {
    notification("notifications/cancelled", json!({"requestId": id.into()}))
}

/// Returns a response with a result.
pub fn result_response(id: impl Into<Value>, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "result": result})
}

/// Returns a 2026-07-28 response with `resultType: "complete"`.
pub fn complete(id: impl Into<Value>, mut result: Value) -> Value {
    result["resultType"] = json!("complete");
    result_response(id, result)
}

/// Returns a tool result with one text.
pub fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

/// Returns a tool result that is an error with this text.
pub fn failed(message: &str) -> Value {
    let mut result = text(message);
    result["isError"] = json!(true);
    result
}
