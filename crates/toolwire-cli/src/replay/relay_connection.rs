//! A client's connection to a relay in this process, message by message.

use std::io;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use toolwire::relay::Relay;
use toolwire::transport::{Limits, MessageReader, MessageWriter};

/// The number of requests that may wait for the relay.
const QUEUED_REQUESTS: usize = 64;

/// The number of received messages that may wait while a request is sent.
const QUEUED_RESPONSES: usize = 4096;

/// How long a request may wait until the relay accepts it, and how long the end of a connection may take.
const STEP_TIMEOUT: Duration = Duration::from_secs(5);

/// A connection to the relay in this process.
pub(super) struct RelayConnection {
    to_server: Option<mpsc::Sender<Vec<u8>>>,
    from_server: mpsc::Receiver<Vec<u8>>,
    serving: JoinHandle<()>,
}

impl RelayConnection {
    pub(super) fn open(relay: &Relay) -> Self {
        let (to_server, incoming) = mpsc::channel(QUEUED_REQUESTS);
        let (outgoing, from_server) = mpsc::channel(QUEUED_RESPONSES);
        let server = relay.server().clone();
        let serving = tokio::spawn(async move {
            let (reader, writer) = (RequestReader(incoming), ResponseWriter(outgoing));
            // An error ends the connection, which the replay reports.
            let _ = server
                .serve_messages(reader, writer, Limits::default())
                .await;
        });
        Self {
            to_server: Some(to_server),
            from_server,
            serving,
        }
    }

    pub(super) async fn send(&self, message: &Value) {
        if let Some(to_server) = &self.to_server {
            let sending = to_server.send(message.to_string().into_bytes());
            // A message that cannot be sent is reported with the response that does not arrive.
            let _ = timeout(STEP_TIMEOUT, sending).await;
        }
    }

    /// Returns the next message, or `None` at the end of the connection.
    pub(super) async fn receive(&mut self) -> Option<Vec<u8>> {
        self.from_server.recv().await
    }

    pub(super) async fn close(mut self) {
        self.to_server = None;
        self.from_server.close();
        if timeout(STEP_TIMEOUT, &mut self.serving).await.is_err() {
            self.serving.abort();
        }
    }
}

struct RequestReader(mpsc::Receiver<Vec<u8>>);

impl MessageReader for RequestReader {
    async fn receive(&mut self) -> io::Result<Option<Vec<u8>>> {
        Ok(self.0.recv().await)
    }
}

struct ResponseWriter(mpsc::Sender<Vec<u8>>);

impl MessageWriter for ResponseWriter {
    async fn send(&mut self, message: Vec<u8>) -> io::Result<()> {
        let sent = self.0.send(message).await;
        sent.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}
