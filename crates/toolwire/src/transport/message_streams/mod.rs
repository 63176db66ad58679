//! Transports of your own: a pair of message streams, or a pair of byte streams with one message per line.

#[cfg(feature = "client")]
mod client;
mod server;

use std::future::Future;
use std::io;

use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use toolwire_proto::framing::encode_line;

/// The receiving half of a connection, for a transport that delivers whole messages, such as a WebSocket.
///
/// [`Server::serve_messages`](crate::Server::serve_messages) and `Client::connect_messages` take it. An implementation
/// can write `async fn receive(&mut self) -> io::Result<Option<Vec<u8>>>`.
#[doc(alias = "Transport")]
pub trait MessageReader: Send + 'static {
    /// Returns the next JSON-RPC message, or `None` at the end of the connection. An error ends the connection, too.
    ///
    /// The future is dropped only when the connection ends.
    fn receive(&mut self) -> impl Future<Output = io::Result<Option<Vec<u8>>>> + Send;
}

/// The sending half of a connection, for a transport that delivers whole messages, such as a WebSocket.
///
/// [`Server::serve_messages`](crate::Server::serve_messages) and `Client::connect_messages` take it. An implementation
/// can write `async fn send(&mut self, message: Vec<u8>) -> io::Result<()>`.
pub trait MessageWriter: Send + 'static {
    /// Sends one JSON-RPC message, which is JSON text without line breaks. An error ends the connection.
    fn send(&mut self, message: Vec<u8>) -> impl Future<Output = io::Result<()>> + Send;

    /// Closes the sending half after the last message. Does nothing by default.
    fn close(&mut self) -> impl Future<Output = io::Result<()>> + Send {
        std::future::ready(Ok(()))
    }
}

/// Writes messages as lines.
struct LineWriter<W>(W);

impl<W: AsyncWrite + Send + Unpin + 'static> MessageWriter for LineWriter<W> {
    async fn send(&mut self, message: Vec<u8>) -> io::Result<()> {
        let mut line = Vec::with_capacity(message.len() + 1);
        encode_line(&mut line, &message);
        self.0.write_all(&line).await?;
        self.0.flush().await
    }

    async fn close(&mut self) -> io::Result<()> {
        self.0.shutdown().await
    }
}
