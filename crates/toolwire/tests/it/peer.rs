//! A scripted peer: tests that read like a wire log.
//!
//! It speaks JSON text to a server in the same process and compares whole messages. Waiting is bounded only so that a
//! broken server fails a test instead of hanging it; no test depends on time passing.

#![expect(
    clippy::unwrap_used,
    reason = "a test may panic, also outside its own function"
)]

use std::future::Future;
use std::time::Duration;

use serde_json::{Map, Value, json};
use toolwire::transport::{InProcess, Limits};
use toolwire::{IntoToolResponse, RequestContext, Server, Tool, ToolHandler};

/// Longer than anything a passing test waits for.
const SAFETY_NET: Duration = Duration::from_secs(60);

/// The client's end of a connection.
#[derive(Debug)]
pub(crate) struct Peer {
    wire: InProcess,
}

impl Peer {
    pub(crate) fn connect(server: &Server) -> Self {
        Self::connect_with(server, Limits::default())
    }

    pub(crate) fn connect_with(server: &Server, limits: Limits) -> Self {
        Self {
            wire: InProcess::connect_with(server, limits),
        }
    }

    /// Sends one message: text as it is, or a JSON value.
    pub(crate) async fn send(&self, message: impl ToString) {
        self.wire.send(&message.to_string()).await.unwrap();
    }

    /// Sends raw bytes, line breaks and all.
    pub(crate) async fn send_bytes(&self, bytes: impl Into<Vec<u8>>) {
        self.wire.send_bytes(bytes.into()).await.unwrap();
    }

    /// The next message, whatever it is.
    pub(crate) async fn receive(&mut self) -> Value {
        let message = self.receive_text().await;
        serde_json::from_str(&message).unwrap()
    }

    /// The next message as the bytes on the wire.
    pub(crate) async fn receive_text(&mut self) -> String {
        within(self.wire.receive())
            .await
            .expect("the server has ended the connection")
    }

    /// The next message is exactly this one.
    #[track_caller]
    pub(crate) fn expect(&mut self, expected: Value) -> impl Future<Output = ()> {
        let caller = std::panic::Location::caller();
        async move {
            let received = self.receive().await;
            assert_eq!(received, expected, "at {caller}");
        }
    }

    /// The next message is an error with this id and code; returns the error.
    #[track_caller]
    pub(crate) fn expect_error(
        &mut self,
        id: impl Into<Value>,
        code: i64,
    ) -> impl Future<Output = Value> {
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

    /// Sends a request and returns the next message, which must be its answer.
    #[track_caller]
    pub(crate) fn call(&mut self, request: Value) -> impl Future<Output = Value> {
        let caller = std::panic::Location::caller();
        async move {
            self.send(&request).await;
            let answer = self.receive().await;
            assert_eq!(answer["id"], request["id"], "{answer} at {caller}");
            answer
        }
    }

    /// Sends a request and returns the result of its answer.
    #[track_caller]
    pub(crate) fn result_of(&mut self, request: Value) -> impl Future<Output = Value> {
        let caller = std::panic::Location::caller();
        async move {
            let mut answer = self.call(request).await;
            assert!(answer.get("result").is_some(), "{answer} at {caller}");
            answer["result"].take()
        }
    }

    /// Sends a request, which must be refused with this code; returns the error.
    #[track_caller]
    pub(crate) fn refusal_of(&mut self, request: Value, code: i64) -> impl Future<Output = Value> {
        let caller = std::panic::Location::caller();
        async move {
            let mut answer = self.call(request).await;
            assert_eq!(answer["error"]["code"], code, "{answer} at {caller}");
            answer["error"].take()
        }
    }

    /// Nothing is on its way: several round trips of `ping` bring nothing but their own answers.
    ///
    /// One round trip is answered in the server's loop; the others give every task that is ready its turn.
    #[track_caller]
    pub(crate) fn expect_silence(&mut self) -> impl Future<Output = ()> {
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

    /// The legacy handshake, with no client capabilities. Returns the result of `initialize`.
    pub(crate) async fn initialize(&mut self, version: &str) -> Value {
        self.initialize_with(version, json!({})).await
    }

    /// The legacy handshake with client capabilities. Returns the result of `initialize`.
    pub(crate) async fn initialize_with(&mut self, version: &str, capabilities: Value) -> Value {
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

    /// Hangs up; answers can still be received.
    pub(crate) fn hang_up(&mut self) {
        self.wire.close();
    }

    /// The server has nothing more to say and has left.
    pub(crate) async fn expect_end(mut self) {
        let message = within(self.wire.receive()).await;
        assert_eq!(message, None);
        within(self.wire.closed()).await;
    }
}

/// A server that offers nothing yet and leaves its name out of results, so that they are short.
pub(crate) fn server() -> Server {
    Server::new("wire", "1.0.0").without_server_info()
}

/// A tool that takes any arguments and looks at none.
pub(crate) fn plain<M, F, Fut>(name: &str, handler: F) -> ToolHandler
where
    F: Fn(RequestContext) -> Fut + Send + Sync + 'static,
    Fut: Future + Send + 'static,
    Fut::Output: IntoToolResponse<M>,
{
    let descriptor = Tool::new(name, json!({"type": "object"}));
    ToolHandler::raw(descriptor, move |ctx, _| handler(ctx))
}

/// Bounds a wait that should be short.
pub(crate) async fn within<T>(waiting: impl Future<Output = T>) -> T {
    tokio::time::timeout(SAFETY_NET, waiting)
        .await
        .expect("nothing happened for a long time")
}

/// A 2026-07-28 request of a client that can do nothing.
pub(crate) fn modern(id: impl Into<Value>, method: &str, params: Value) -> Value {
    modern_with(id, method, params, json!({}))
}

/// A 2026-07-28 request of a client with these capabilities. `_meta` entries in `params` are kept.
pub(crate) fn modern_with(
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

/// A 2026-07-28 `tools/call`.
pub(crate) fn call(id: impl Into<Value>, tool: &str, arguments: Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    modern(id, "tools/call", params)
}

/// The `_meta` every 2026-07-28 request carries.
pub(crate) fn modern_meta(capabilities: Value) -> Map<String, Value> {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "peer", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    });
    serde_json::from_value(meta).unwrap()
}

/// A request as written, without `_meta` of its own.
pub(crate) fn legacy(id: impl Into<Value>, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params})
}

/// A notification.
pub(crate) fn notification(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

/// `notifications/cancelled` for a request.
pub(crate) fn cancel(id: impl Into<Value>) -> Value {
    notification("notifications/cancelled", json!({"requestId": id.into()}))
}

/// An answer.
pub(crate) fn answer(id: impl Into<Value>, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "result": result})
}

/// A 2026-07-28 answer: `resultType` is filled in.
pub(crate) fn complete(id: impl Into<Value>, mut result: Value) -> Value {
    result["resultType"] = json!("complete");
    answer(id, result)
}

/// A result of a tool that says one thing.
pub(crate) fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

/// A result of a tool that failed with a text.
pub(crate) fn failed(message: &str) -> Value {
    let mut result = text(message);
    result["isError"] = json!(true);
    result
}
