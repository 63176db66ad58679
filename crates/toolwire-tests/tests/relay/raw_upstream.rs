//! An upstream server that the test plays message by message.

use serde_json::{Value, json};
use tokio::sync::mpsc;
use toolwire::relay::Upstream;
use toolwire_tests::channel_transport::{ChannelReader, ChannelWriter};
use toolwire_tests::peer::within;

/// The connections that a relay opens to the upstream server.
pub(crate) struct RawUpstream(mpsc::UnboundedReceiver<RawConnection>);

/// The server's side of one connection.
pub(crate) struct RawConnection {
    incoming: mpsc::Receiver<Vec<u8>>,
    outgoing: mpsc::Sender<Vec<u8>>,
}

/// Returns an upstream whose connections the test serves.
pub(crate) fn raw_upstream() -> (Upstream, RawUpstream) {
    let (opened, connections) = mpsc::unbounded_channel();
    let upstream = Upstream::new(move |builder| {
        let (to_server, incoming) = mpsc::channel(16);
        let (outgoing, from_server) = mpsc::channel(16);
        let connection = RawConnection { incoming, outgoing };
        opened
            .send(connection)
            .expect("the test waits for connections");
        builder.connect_messages(ChannelReader(from_server), ChannelWriter(to_server))
    });
    (upstream, RawUpstream(connections))
}

impl RawUpstream {
    /// Returns the next connection.
    pub(crate) async fn accept(&mut self) -> RawConnection {
        within(self.0.recv()).await.expect("the relay is open")
    }

    /// Returns `true` if there is no further connection.
    pub(crate) fn is_quiet(&mut self) -> bool {
        self.0.try_recv().is_err()
    }

    /// Accepts a legacy session, and responds to `initialize` with this result. Returns the parameters of `initialize`.
    pub(crate) async fn accept_legacy(&mut self, result: &str) -> (RawConnection, Value) {
        let mut connection = self.accept().await;
        let request = connection.receive().await;
        assert_eq!(request["method"], "initialize");
        connection.respond(&request, result).await;
        (connection, request["params"].clone())
    }

    /// Accepts a connection of a modern client, and responds to its probe.
    pub(crate) async fn accept_modern(&mut self) -> RawConnection {
        let mut connection = self.accept().await;
        connection.discover(&modern_details()).await;
        connection
    }

    /// Accepts a connection of a legacy client, as a modern server with this result of `server/discover`.
    pub(crate) async fn accept_rejecting(&mut self, details: &str) -> RawConnection {
        let mut connection = self.accept().await;
        let request = connection.receive().await;
        assert_eq!(request["method"], "initialize");
        let error = r#"{"code":-32601,"message":"unknown method"}"#;
        connection.reject(&request, error).await;
        connection.discover(details).await;
        connection
    }
}

/// Returns the result of `server/discover` of a server with tools.
pub(crate) fn modern_details() -> String {
    json!({
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {}},
        "ttlMs": 0,
        "cacheScope": "public",
    })
    .to_string()
}

impl RawConnection {
    /// Responds to `server/discover` with this result.
    async fn discover(&mut self, details: &str) {
        let request = self.receive().await;
        assert_eq!(request["method"], "server/discover", "{request}");
        self.respond(&request, details).await;
    }

    /// Returns the next message of the relay as text.
    pub(crate) async fn receive_text(&mut self) -> String {
        let message = within(self.incoming.recv()).await;
        let message = message.expect("the connection is open");
        String::from_utf8(message).expect("messages are UTF-8")
    }

    pub(crate) async fn receive(&mut self) -> Value {
        let text = self.receive_text().await;
        serde_json::from_str(&text).expect("messages are JSON")
    }

    /// Returns the next message, or `None` after the end of the connection.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        let message = self.incoming.recv().await?;
        Some(serde_json::from_slice(&message).expect("messages are JSON"))
    }

    /// Waits until the relay closes the connection.
    pub(crate) async fn expect_end(&mut self) {
        while within(self.incoming.recv()).await.is_some() {}
    }

    pub(crate) async fn send(&self, message: impl ToString) {
        let message = message.to_string().into_bytes();
        self.outgoing.send(message).await.expect("the relay reads");
    }

    /// Responds to a request with the text of a result.
    pub(crate) async fn respond(&self, request: &Value, result: &str) {
        let id = &request["id"];
        self.send(format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#
        ))
        .await;
    }

    /// Responds to a request with the text of an error.
    pub(crate) async fn reject(&self, request: &Value, error: &str) {
        let id = &request["id"];
        self.send(format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#))
            .await;
    }
}
