//! Messages over channels, like those of a WebSocket.

use std::io;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use toolwire::transport::{Limits, MessageReader, MessageWriter};
use toolwire::{Error, Server};

/// The receiving end of a channel.
#[derive(Debug)]
#[expect(clippy::exhaustive_structs, reason = "tests read the channel directly")]
pub struct ChannelReader(pub mpsc::Receiver<Vec<u8>>);

impl MessageReader for ChannelReader {
    async fn receive(&mut self) -> io::Result<Option<Vec<u8>>> {
        Ok(self.0.recv().await)
    }
}

/// The sending end of a channel.
#[derive(Debug)]
#[expect(
    clippy::exhaustive_structs,
    reason = "tests write to the channel directly"
)]
pub struct ChannelWriter(pub mpsc::Sender<Vec<u8>>);

impl MessageWriter for ChannelWriter {
    async fn send(&mut self, message: Vec<u8>) -> io::Result<()> {
        let sent = self.0.send(message).await;
        sent.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

/// Serves a server over two channels. Returns the ends of its client, and the task of the connection.
pub fn serve(server: Server) -> (ChannelReader, ChannelWriter, JoinHandle<Result<(), Error>>) {
    let (to_server, incoming) = mpsc::channel(4);
    let (outgoing, from_server) = mpsc::channel(4);
    let serving = tokio::spawn(async move {
        let (reader, writer) = (ChannelReader(incoming), ChannelWriter(outgoing));
        server
            .serve_messages(reader, writer, Limits::default())
            .await
    });
    (
        ChannelReader(from_server),
        ChannelWriter(to_server),
        serving,
    )
}
