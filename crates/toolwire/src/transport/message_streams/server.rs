//! Serves a connection on a pair of streams.

use std::future::Future;
use std::io;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite};
use tokio::sync::mpsc;

use crate::engine::BoxFuture;
use crate::error::Error;
use crate::server::Server;
use crate::transport::duplex::MessageLoop;
use crate::transport::limits::Limits;
use crate::transport::message_streams::{LineWriter, MessageReader, MessageWriter};
use crate::transport::outgoing_queue::OutgoingQueue;

/// The size of one read in bytes.
const CHUNK: usize = 64 * 1024;

/// The number of reads that may wait for the message loop.
const CHUNKS_IN_FLIGHT: usize = 4;

impl Server {
    /// Serves one connection on a pair of byte streams with one message per line, such as the halves of a socket. The
    /// rules are those of stdio. Returns when the client closes the connection, or the server shuts down.
    ///
    /// ```no_run
    /// # #[cfg(unix)]
    /// # async fn serve() -> std::io::Result<()> {
    /// use tokio::net::UnixListener;
    /// use toolwire::Server;
    /// use toolwire::transport::Limits;
    ///
    /// let server = Server::new("demo", "1.0.0");
    /// let listener = UnixListener::bind("/run/demo/mcp.sock")?;
    /// loop {
    ///     let (reader, writer) = listener.accept().await?.0.into_split();
    ///     let server = server.clone();
    ///     tokio::spawn(async move {
    ///         if let Err(error) = server.serve_io(reader, writer, Limits::default()).await {
    ///             eprintln!("{error}");
    ///         }
    ///     });
    /// }
    /// # }
    /// ```
    ///
    /// # Cancellation
    /// Dropping the future closes the connection at once.
    ///
    /// # Errors
    /// Returns an error if reading or writing fails, or if an extension needs something that the server does not offer.
    pub async fn serve_io(
        &self,
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
        limits: Limits,
    ) -> Result<(), Error> {
        serve(self.clone(), ByteInput(reader), LineWriter(writer), limits).await
    }

    /// Serves one connection on a pair of message streams, such as the halves of a WebSocket. The rules are those of
    /// stdio. Returns when the client closes the connection, or the server shuts down.
    ///
    /// # Cancellation
    /// Dropping the future closes the connection at once.
    ///
    /// # Errors
    /// Returns an error if reading or writing fails, or if an extension needs something that the server does not offer.
    pub async fn serve_messages(
        &self,
        reader: impl MessageReader,
        writer: impl MessageWriter,
        limits: Limits,
    ) -> Result<(), Error> {
        serve(self.clone(), MessageInput(reader), writer, limits).await
    }
}

/// The input of a connection: bytes with one message per line.
trait LineInput: Send + 'static {
    /// Returns the next bytes, or `None` at the end.
    fn read(&mut self) -> impl Future<Output = io::Result<Option<Vec<u8>>>> + Send;
}

struct ByteInput<R>(R);

impl<R: AsyncRead + Send + Unpin + 'static> LineInput for ByteInput<R> {
    async fn read(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = Vec::with_capacity(CHUNK);
        let length = self.0.read_buf(&mut bytes).await?;
        if length < CHUNK / 2 {
            bytes.shrink_to_fit();
        }
        Ok((length > 0).then_some(bytes))
    }
}

struct MessageInput<R>(R);

impl<R: MessageReader> LineInput for MessageInput<R> {
    async fn read(&mut self) -> io::Result<Option<Vec<u8>>> {
        let message = self.0.receive().await?;
        Ok(message.map(|mut message| {
            // Line breaks between the tokens of a message would split it.
            for byte in &mut message {
                if matches!(byte, b'\n' | b'\r') {
                    *byte = b' ';
                }
            }
            message.push(b'\n');
            message
        }))
    }
}

/// Boxes the future, so that the caller's future stays small.
fn serve(
    server: Server,
    input: impl LineInput,
    writer: impl MessageWriter,
    limits: Limits,
) -> BoxFuture<'static, Result<(), Error>> {
    Box::pin(serve_to_the_end(server, input, writer, limits))
}

async fn serve_to_the_end(
    server: Server,
    mut input: impl LineInput,
    mut writer: impl MessageWriter,
    limits: Limits,
) -> Result<(), Error> {
    server.check_start()?;
    let drain = limits.drain;
    let out = OutgoingQueue::new(limits.outbox()).reporting_to(&server);
    let out = Arc::new(out);
    let (sender, chunks) = mpsc::channel(CHUNKS_IN_FLIGHT);
    let connection = MessageLoop::new(server, Arc::clone(&out), limits).run(chunks);
    let reading = async move {
        while let Some(bytes) = input.read().await? {
            if sender.send(bytes.into()).await.is_err() {
                break;
            }
        }
        Ok(())
    };
    let writing = async {
        while let Some(message) = out.next().await {
            if let Err(error) = writer.send(message).await {
                // The message loop ends, because no response can reach the client.
                out.fail();
                return Err(error);
            }
        }
        writer.close().await
    };
    tokio::pin!(writing);
    let serving = async {
        tokio::pin!(connection);
        tokio::select! {
            () = &mut connection => Ok(()),
            read = reading => {
                // The end of the input ends the message loop, after running requests have finished.
                connection.await;
                read
            }
        }
    };
    tokio::pin!(serving);
    let (read, written) = tokio::select! {
        read = &mut serving => {
            let written = tokio::time::timeout(drain, writing).await;
            (read, written.unwrap_or(Ok(())))
        }
        written = &mut writing => (serving.await, written),
    };
    read.map_err(|error| Error::io("the connection cannot be read", error))?;
    written.map_err(|error| Error::io("the connection cannot be written", error))
}
