//! A connection within one process, with the same messages and rules as stdio.

#[cfg(feature = "client")]
mod client;

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::error::Error;
use crate::server::Server;
use crate::transport::chunk::Chunk;
use crate::transport::duplex::MessageLoop;
use crate::transport::limits::Limits;
use crate::transport::outgoing_queue::OutgoingQueue;

/// The client side of a connection to a server in the same process.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use toolwire::{Server, transport::InProcess};
///
/// let mut client = InProcess::connect(&Server::new("demo", "1.0.0"));
/// client.send(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).await.unwrap();
/// assert_eq!(client.receive().await.unwrap(), r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
/// # }
/// ```
#[derive(Debug)]
pub struct InProcess {
    to_server: Option<mpsc::Sender<Chunk>>,
    from_server: Arc<OutgoingQueue>,
    serving: JoinHandle<()>,
}

impl InProcess {
    /// Connects to a server. Requires a tokio runtime.
    #[must_use]
    pub fn connect(server: &Server) -> Self {
        Self::connect_with(server, Limits::default())
    }

    /// Connects to a server with these limits.
    #[must_use]
    pub fn connect_with(server: &Server, limits: Limits) -> Self {
        let out = Arc::new(OutgoingQueue::new(limits.outbox()).reporting_to(server));
        // A client that sends faster than the server reads waits after this many messages.
        let (to_server, chunks) = mpsc::channel(64);
        let connection = MessageLoop::new(server.clone(), Arc::clone(&out), limits);
        Self {
            to_server: Some(to_server),
            from_server: out,
            serving: tokio::spawn(connection.run(chunks)),
        }
    }

    /// Sends one message, which must not contain a line break.
    ///
    /// # Errors
    /// Returns an error if the server has closed the connection.
    pub async fn send(&self, message: &str) -> Result<(), Error> {
        let mut line = Vec::with_capacity(message.len() + 1);
        line.extend_from_slice(message.as_bytes());
        line.push(b'\n');
        self.send_bytes(line).await
    }

    /// Sends raw bytes.
    ///
    /// # Errors
    /// Returns an error if the server has closed the connection.
    pub async fn send_bytes(&self, bytes: Vec<u8>) -> Result<(), Error> {
        match &self.to_server {
            Some(to_server) => {
                let sent = to_server.send(bytes.into()).await;
                sent.map_err(|_| Error::closed())
            }
            None => Err(Error::closed()),
        }
    }

    /// Returns the next message of the server, or `None` if the connection is closed.
    pub async fn receive(&mut self) -> Option<String> {
        let message = self.from_server.next().await?;
        Some(String::from_utf8(message).expect("the server writes JSON text"))
    }

    /// Closes the input. Running requests finish, and [`receive`](Self::receive) still returns their responses.
    pub fn close(&mut self) {
        self.to_server = None;
    }

    /// Closes the input and waits until the server has closed the connection.
    pub async fn closed(mut self) {
        self.close();
        drop((&mut self.serving).await);
    }
}

impl Drop for InProcess {
    fn drop(&mut self) {
        self.from_server.fail();
    }
}
