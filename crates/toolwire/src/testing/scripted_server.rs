//! A server that a test controls message by message.

use std::future::Future;
use std::panic::Location;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use toolwire_proto::features::VersionFeatures;
use toolwire_types::{ProtocolVersion, code};

use crate::client::{Client, ClientBuilder};
use crate::error::Error;
use crate::testing::received::{RECEIVE_TIMEOUT, ReceivedMessage, outcome, parse, receive_in_time};
use crate::testing::wire::{ScriptConnector, Wire};

/// How often other tasks are polled before the client counts as silent.
const YIELDS_BEFORE_SILENCE: usize = 64;

/// A scripted server for a real client: it expects messages, responds, sends its own messages, or disconnects.
///
/// The methods that expect a message fail the test if another message arrives, or none within 10 s
/// ([`with_timeout`](Self::with_timeout)). Dropping the script closes the connection.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use serde_json::json;
/// use toolwire::testing::{ScriptedServer, assert_text};
/// use toolwire::{Client, ProtocolVersion};
///
/// let builder = Client::builder("test", "1.0.0");
/// let (client, mut server) = ScriptedServer::connect(builder, ProtocolVersion::V2026_07_28).await;
///
/// let call = tokio::spawn(client.call_tool("add", json!({"a": 1, "b": 2})).into_future());
/// let request = server.expect("tools/call").await;
/// assert_eq!(request.params["arguments"], json!({"a": 1, "b": 2}));
/// server.respond(&request, json!({"content": [{"type": "text", "text": "3"}]})).await;
/// assert_text(&call.await.unwrap().unwrap(), "3");
/// # }
/// ```
#[derive(Debug)]
pub struct ScriptedServer {
    arrivals: mpsc::UnboundedReceiver<Wire>,
    wire: Option<Wire>,
    /// Replaced connections. They are closed with the script.
    earlier: Vec<Wire>,
    timeout: Duration,
}

impl ScriptedServer {
    /// Connects a client and negotiates this revision, as a server with all capabilities.
    ///
    /// # Panics
    /// Panics if the client cannot connect, for example because it does not support the revision.
    pub async fn connect(builder: ClientBuilder, version: ProtocolVersion) -> (Client, Self) {
        let (mut server, connecting) = Self::listening(builder);
        let client = if version.is_legacy() {
            let (client, ()) = tokio::join!(connecting, server.initialize(version));
            client
        } else {
            tokio::pin!(connecting);
            let early = tokio::select! {
                biased;
                () = server.discover(version) => None,
                // A client that was given a detected era sends no probe.
                client = &mut connecting => Some(client),
            };
            match early {
                Some(client) => client,
                None => connecting.await,
            }
        };
        let client = match client {
            Ok(client) => client,
            Err(error) => panic!("the client cannot connect to the scripted server: {error}"),
        };
        if server.wire.is_none() {
            server.accept().await;
        }
        (client, server)
    }

    /// Returns a server whose script begins before the first message, and the future that connects the client to it.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// use toolwire::{Client, testing::ScriptedServer};
    ///
    /// let (mut server, connecting) = ScriptedServer::listening(Client::builder("test", "1.0.0"));
    /// let connecting = tokio::spawn(connecting);
    /// server.accept().await;
    /// let probe = server.expect("server/discover").await;
    /// server.respond_error(&probe, -32022, "no", serde_json::json!({"supported": ["1999-12-31"]})).await;
    /// let error = connecting.await.unwrap().unwrap_err();
    /// assert!(error.to_string().contains("1999-12-31"));
    /// # }
    /// ```
    pub fn listening(
        builder: ClientBuilder,
    ) -> (
        Self,
        impl Future<Output = Result<Client, Error>> + Send + 'static,
    ) {
        let (connector, arrivals) = ScriptConnector::new();
        let server = Self {
            arrivals,
            wire: None,
            earlier: Vec::new(),
            timeout: RECEIVE_TIMEOUT,
        };
        (server, Client::open(builder.config, Box::new(connector)))
    }

    /// Sets how long the script waits for each message. In a test with paused time it must be longer than the client's
    /// timeouts. Default: 10 s.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Accepts the next connection: the first one, or one of a client that connects again. The previous connection
    /// stays open, but is not read any more.
    ///
    /// # Panics
    /// Panics if the client does not connect in time.
    #[track_caller]
    pub fn accept(&mut self) -> impl Future<Output = ()> {
        let at = Location::caller();
        async move {
            let arrival = tokio::time::timeout(self.timeout, self.arrivals.recv()).await;
            match arrival {
                Ok(Some(wire)) => self.earlier.extend(self.wire.replace(wire)),
                Ok(None) | Err(_) => {
                    panic!("expected a connection at {at}, but the client did not connect")
                }
            }
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

    /// Returns the next message, or `None` if the client has disconnected.
    #[track_caller]
    pub fn receive_or_end(&mut self) -> impl Future<Output = Option<Value>> {
        let at = Location::caller();
        async move {
            let wire = self.wire.as_mut().expect("the client is connected");
            let next = tokio::time::timeout(self.timeout, wire.from_client.recv()).await;
            match next {
                Ok(message) => message.map(|message| parse(&String::from_utf8_lossy(&message), at)),
                Err(_) => {
                    panic!("expected a message or the end at {at}, but nothing arrived in time")
                }
            }
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

    /// Returns the result or the error object of the next message, which must be the response with this id.
    #[track_caller]
    pub fn expect_response(
        &mut self,
        id: impl Into<Value>,
    ) -> impl Future<Output = Result<Value, Value>> {
        let at = Location::caller();
        let id = id.into();
        async move { outcome(&self.next(at).await, &id, at) }
    }

    /// Checks that the client has sent nothing and is not about to send, unless time passes.
    ///
    /// This is exact on a current-thread runtime. On other runtimes a message may still arrive later.
    #[track_caller]
    pub fn expect_silence(&mut self) -> impl Future<Output = ()> {
        let at = Location::caller();
        async move {
            for _ in 0..YIELDS_BEFORE_SILENCE {
                tokio::task::yield_now().await;
            }
            let wire = self.wire.as_mut().expect("the client is connected");
            if let Ok(message) = wire.from_client.try_recv() {
                let message = String::from_utf8_lossy(&message);
                panic!("expected silence at {at}, but received:\n{message}");
            }
        }
    }

    /// Checks that the client has disconnected without sending another message.
    #[track_caller]
    pub fn expect_disconnect(&mut self) -> impl Future<Output = ()> {
        let at = Location::caller();
        async move {
            let wire = self.wire.as_mut().expect("the client is connected");
            let end = tokio::time::timeout(self.timeout, wire.from_client.recv()).await;
            match end {
                Ok(None) => {}
                Ok(Some(message)) => {
                    let message = String::from_utf8_lossy(&message);
                    panic!("expected the end at {at}, but received:\n{message}");
                }
                Err(_) => panic!("expected the end at {at}, but the client stays connected"),
            }
        }
    }

    /// Responds to a request with a result. In revisions with `resultType`, a result without it is complete.
    pub async fn respond(&self, request: &ReceivedMessage, result: Value) {
        self.send(json!({"jsonrpc": "2.0", "id": request.id, "result": result}))
            .await;
    }

    /// Responds to a request with an error. `data` may be `null`.
    pub async fn respond_error(
        &self,
        request: &ReceivedMessage,
        code: i64,
        message: &str,
        data: Value,
    ) {
        let mut error = json!({"code": code, "message": message});
        if !data.is_null() {
            error["data"] = data;
        }
        self.send(json!({"jsonrpc": "2.0", "id": request.id, "error": error}))
            .await;
    }

    /// Sends a notification to the client.
    pub async fn notify(&self, method: &str, params: Value) {
        self.send(json!({"jsonrpc": "2.0", "method": method, "params": params}))
            .await;
    }

    /// Sends a request to the client, as servers of legacy revisions do.
    pub async fn ask(&self, id: impl Into<Value>, method: &str, params: Value) {
        let id = id.into();
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await;
    }

    /// Sends one message unchanged: a JSON value or any text.
    ///
    /// # Panics
    /// Panics after [`disconnect`](Self::disconnect). It does not panic if the client has disconnected.
    pub async fn send(&self, message: impl ToString) {
        let wire = self.wire.as_ref().expect("the client is connected");
        let to_client = wire.to_client.as_ref();
        let to_client = to_client.expect("the script has not disconnected");
        drop(to_client.send(message.to_string().into_bytes()).await);
    }

    /// Closes the connection: pending calls fail. Messages that the client has sent can still be received.
    pub fn disconnect(&mut self) {
        if let Some(wire) = &mut self.wire {
            wire.to_client = None;
        }
    }

    async fn next(&mut self, at: &Location<'_>) -> String {
        let wire = self.wire.as_mut().expect("the client is connected");
        let message = async {
            let message = wire.from_client.recv().await?;
            Some(String::from_utf8_lossy(&message).into_owned())
        };
        receive_in_time(self.timeout, at, message).await
    }

    async fn discover(&mut self, version: ProtocolVersion) {
        self.accept().await;
        let request = self.expect("server/discover").await;
        let result = json!({
            "resultType": "complete",
            "supportedVersions": [version],
            "capabilities": everything(),
            "_meta": {"io.modelcontextprotocol/serverInfo": server_info()},
        });
        self.respond(&request, result).await;
    }

    async fn initialize(&mut self, version: ProtocolVersion) {
        let at = Location::caller();
        self.accept().await;
        let mut text = self.next(at).await;
        if parse(&text, at)["method"] == "server/discover" {
            let probe = ReceivedMessage::read(text, "server/discover", true, at);
            self.respond_error(
                &probe,
                code::METHOD_NOT_FOUND,
                "unknown method",
                Value::Null,
            )
            .await;
            text = self.next(at).await;
        }
        let request = ReceivedMessage::read(text, "initialize", true, at);
        let result = json!({
            "protocolVersion": version,
            "capabilities": everything(),
            "serverInfo": server_info(),
        });
        self.respond(&request, result).await;
        self.expect_notification("notifications/initialized").await;
    }
}

fn server_info() -> Value {
    json!({"name": "script", "version": "1.0.0"})
}

/// Returns all capabilities of a server. Revisions ignore the capabilities that they do not have.
fn everything() -> Value {
    json!({
        "completions": {},
        "logging": {},
        "prompts": {"listChanged": true},
        "resources": {"listChanged": true, "subscribe": true},
        "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}},
        "tools": {"listChanged": true},
    })
}
