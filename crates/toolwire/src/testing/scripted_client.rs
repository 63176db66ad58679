//! A client that a test controls message by message.

use std::future::Future;
use std::panic::Location;
use std::time::Duration;

use serde_json::{Map, Value, json};
use toolwire_proto::features::VersionFeatures;
use toolwire_types::{ProtocolVersion, meta_key};

use crate::server::Server;
use crate::testing::received::{RECEIVE_TIMEOUT, ReceivedMessage, outcome, parse, receive_in_time};
use crate::transport::InProcess;

/// A scripted client for a real server: it sends messages and checks the messages of the server.
///
/// The methods that expect a message fail the test if another message arrives, or none within 10 s
/// ([`with_timeout`](Self::with_timeout)).
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use serde_json::json;
/// use toolwire::{ProtocolVersion, Server, testing::ScriptedClient, tool};
///
/// /// Adds two integers.
/// #[tool]
/// async fn add(a: i64, b: i64) -> i64 { a + b }
///
/// let server = Server::new("demo", "1.0.0").tool(add);
/// let mut client = ScriptedClient::with_version(&server, ProtocolVersion::V2025_06_18, json!({})).await;
/// let params = json!({"name": "add", "arguments": {"a": 1, "b": 2}});
/// let result = client.call("tools/call", params).await.unwrap();
/// assert_eq!(result["content"][0]["text"], "3");
/// # }
/// ```
#[derive(Debug)]
pub struct ScriptedClient {
    wire: InProcess,
    timeout: Duration,
    next_id: i64,
    /// Added to the `_meta` of every request.
    meta: Map<String, Value>,
}

impl ScriptedClient {
    /// Connects without sending a message. Requests are sent without additional `_meta`.
    #[must_use]
    pub fn connect(server: &Server) -> Self {
        Self {
            wire: InProcess::connect(server),
            timeout: RECEIVE_TIMEOUT,
            next_id: 1,
            meta: Map::new(),
        }
    }

    /// Connects as a client of this revision with these capabilities.
    ///
    /// In a legacy revision it performs the handshake. In a modern revision it adds the required `_meta` to every
    /// request.
    ///
    /// # Panics
    /// Panics if the server does not support the revision.
    pub async fn with_version(
        server: &Server,
        version: ProtocolVersion,
        capabilities: Value,
    ) -> Self {
        let mut client = Self::connect(server);
        let info = json!({"name": "script", "version": "1.0.0"});
        if version.is_legacy() {
            let params = json!({
                "protocolVersion": version,
                "capabilities": capabilities,
                "clientInfo": info,
            });
            match client.call("initialize", params).await {
                Ok(result) => assert_eq!(result["protocolVersion"], json!(version)),
                Err(error) => panic!("the server rejected `initialize`: {error}"),
            }
            client.notify("notifications/initialized", json!({})).await;
        } else {
            let meta = [
                (meta_key::PROTOCOL_VERSION, json!(version)),
                (meta_key::CLIENT_INFO, info),
                (meta_key::CLIENT_CAPABILITIES, capabilities),
            ];
            client.meta = meta
                .map(|(key, value)| (key.to_owned(), value))
                .into_iter()
                .collect();
        }
        client
    }

    /// Sets how long the script waits for each message. Default: 10 s.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sends a request and returns its id.
    pub async fn request(&mut self, method: &str, mut params: Value) -> Value {
        let id = json!(self.next_id);
        self.next_id += 1;
        if !self.meta.is_empty() {
            let mut meta = self.meta.clone();
            if let Some(Value::Object(own)) = params.get_mut("_meta").map(Value::take) {
                meta.extend(own);
            }
            params["_meta"] = Value::Object(meta);
        }
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await;
        id
    }

    /// Sends a request and returns its outcome. The next message must be its response.
    ///
    /// # Errors
    /// Returns the error object of the server.
    #[track_caller]
    pub fn call(
        &mut self,
        method: &str,
        params: Value,
    ) -> impl Future<Output = Result<Value, Value>> {
        let at = Location::caller();
        async move {
            let id = self.request(method, params).await;
            outcome(&self.next(at).await, &id, at)
        }
    }

    /// Sends a notification to the server.
    pub async fn notify(&mut self, method: &str, params: Value) {
        self.send(json!({"jsonrpc": "2.0", "method": method, "params": params}))
            .await;
    }

    /// Responds to a request of a legacy server.
    pub async fn respond(&mut self, request: &ReceivedMessage, result: Value) {
        self.send(json!({"jsonrpc": "2.0", "id": request.id, "result": result}))
            .await;
    }

    /// Sends one message unchanged: a JSON value, or any text without line breaks.
    ///
    /// # Panics
    /// Panics if the server has closed the connection.
    pub async fn send(&mut self, message: impl ToString) {
        if let Err(error) = self.wire.send(&message.to_string()).await {
            panic!("the message cannot be sent to the server: {error}");
        }
    }

    /// Returns the next message of any kind.
    #[track_caller]
    pub fn receive(&mut self) -> impl Future<Output = Value> {
        let at = Location::caller();
        async move {
            let text = self.next(at).await;
            parse(&text, at)
        }
    }

    /// Returns the next message, which must be a request of this method.
    #[track_caller]
    pub fn expect(&mut self, method: &str) -> impl Future<Output = ReceivedMessage> {
        let at = Location::caller();
        async move { ReceivedMessage::read(self.next(at).await, method, true, at) }
    }

    /// Returns the next message, which must be a notification of this method.
    #[track_caller]
    pub fn expect_notification(&mut self, method: &str) -> impl Future<Output = ReceivedMessage> {
        let at = Location::caller();
        async move { ReceivedMessage::read(self.next(at).await, method, false, at) }
    }

    /// Returns the outcome of the next message, which must be the response to this request.
    ///
    /// # Errors
    /// Returns the error object of the server.
    #[track_caller]
    pub fn expect_response(&mut self, id: Value) -> impl Future<Output = Result<Value, Value>> {
        let at = Location::caller();
        async move { outcome(&self.next(at).await, &id, at) }
    }

    /// Disconnects. Responses to running requests can still be received.
    pub fn disconnect(&mut self) {
        self.wire.close();
    }

    async fn next(&mut self, at: &Location<'_>) -> String {
        receive_in_time(self.timeout, at, self.wire.receive()).await
    }
}
