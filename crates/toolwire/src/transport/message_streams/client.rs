//! Connects a client to a server on a pair of streams.

use std::fmt;
use std::future::Future;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;
use toolwire_proto::framing::{Frame, LineDecoder};
use toolwire_proto::negotiate::Channel;

use crate::client::config::ClientLimits;
use crate::client::incoming::IncomingMessages;
use crate::client::send::SendMessage;
use crate::client::stream_transport::{StreamReader, StreamShutdown, StreamTransport};
use crate::client::transport::{ClientTransport, Connect};
use crate::client::{Client, ClientBuilder};
use crate::engine::BoxFuture;
use crate::error::{Closure, Error};
use crate::sync::lock;
use crate::transport::message_streams::{LineWriter, MessageReader, MessageWriter};

/// The size of one read in bytes.
const CHUNK: usize = 64 * 1024;

/// The number of messages that wait for the writer. Further senders wait for capacity.
const QUEUE_LEN: usize = 64;

/// How many responses and notifications may wait for a server that does not read, in addition to the calls.
const EXTRA_PERMITS: usize = 1024;

/// The number of bytes of a message over the limit in which its id is searched.
const HEAD: usize = 256;

impl Client {
    /// Connects to a server on a pair of byte streams with one message per line, such as the halves of a socket.
    /// Requires a tokio runtime.
    ///
    /// # Errors
    /// Returns an error if the server does not respond, or has no protocol revision in common with the client.
    pub async fn connect_io(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Result<Self, Error> {
        ClientBuilder::default().connect_io(reader, writer).await
    }

    /// Connects to a server on a pair of message streams, such as the halves of a WebSocket. Requires a tokio runtime.
    ///
    /// # Errors
    /// Returns an error if the server does not respond, or has no protocol revision in common with the client.
    pub async fn connect_messages(
        reader: impl MessageReader,
        writer: impl MessageWriter,
    ) -> Result<Self, Error> {
        ClientBuilder::default()
            .connect_messages(reader, writer)
            .await
    }
}

impl ClientBuilder {
    /// Connects to a server on a pair of byte streams; see [`Client::connect_io`].
    ///
    /// # Errors
    /// Returns an error if the server does not respond, or has no protocol revision in common with the client.
    pub async fn connect_io(
        self,
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Result<Client, Error> {
        let limits = &self.config.limits;
        let input = ByteStreamReader {
            reader,
            decoder: LineDecoder::new(limits.message_bytes),
            chunk: Vec::new(),
            at: 0,
        };
        let connector = StreamConnector::new(input, LineWriter(writer), limits);
        Client::open(self.config, Box::new(connector)).await
    }

    /// Connects to a server on a pair of message streams; see [`Client::connect_messages`].
    ///
    /// # Errors
    /// Returns an error if the server does not respond, or has no protocol revision in common with the client.
    pub async fn connect_messages(
        self,
        reader: impl MessageReader,
        writer: impl MessageWriter,
    ) -> Result<Client, Error> {
        let limits = &self.config.limits;
        let input = MessageStreamReader {
            reader,
            max_bytes: limits.message_bytes,
        };
        let connector = StreamConnector::new(input, writer, limits);
        Client::open(self.config, Box::new(connector)).await
    }
}

/// A message of the server.
enum IncomingMessage {
    Complete(Vec<u8>),
    /// The first bytes of a message over the limit.
    TooLong(Vec<u8>),
}

/// The input of a connection.
trait Input: Send + 'static {
    /// Returns the next message, or `None` at the end.
    fn next(&mut self) -> impl Future<Output = io::Result<Option<IncomingMessage>>> + Send;
}

struct MessageStreamReader<R> {
    reader: R,
    max_bytes: usize,
}

impl<R: MessageReader> Input for MessageStreamReader<R> {
    async fn next(&mut self) -> io::Result<Option<IncomingMessage>> {
        let message = self.reader.receive().await?;
        Ok(message.map(|mut message| {
            if message.len() > self.max_bytes {
                message.truncate(HEAD);
                IncomingMessage::TooLong(message)
            } else {
                IncomingMessage::Complete(message)
            }
        }))
    }
}

struct ByteStreamReader<R> {
    reader: R,
    decoder: LineDecoder,
    /// The current chunk, and the position of the next unread byte.
    chunk: Vec<u8>,
    at: usize,
}

impl<R: AsyncRead + Send + Unpin + 'static> Input for ByteStreamReader<R> {
    async fn next(&mut self) -> io::Result<Option<IncomingMessage>> {
        loop {
            let mut rest = &self.chunk[self.at..];
            let frame = self.decoder.next_frame(&mut rest);
            self.at = self.chunk.len() - rest.len();
            match frame {
                Some(Frame::Line(line)) => {
                    return Ok(Some(IncomingMessage::Complete(line.into_owned())));
                }
                Some(Frame::TooLong) => {
                    let head = self.decoder.skipped_head().to_vec();
                    return Ok(Some(IncomingMessage::TooLong(head)));
                }
                Some(Frame::Unterminated(_)) | None => {}
            }
            self.chunk.clear();
            self.at = 0;
            self.chunk.reserve(CHUNK);
            if self.reader.read_buf(&mut self.chunk).await? == 0 {
                return Ok(None);
            }
        }
    }
}

/// Starts the tasks of a connection, once.
type Start = Box<dyn FnOnce(StreamReader, mpsc::Receiver<Vec<u8>>) -> StreamTasks + Send>;

/// Opens the transport of one pair of streams.
struct StreamConnector {
    start: Mutex<Option<Start>>,
    max_waiting: usize,
    exit_grace: Duration,
}

impl StreamConnector {
    fn new(input: impl Input, writer: impl MessageWriter, limits: &ClientLimits) -> Self {
        let start: Start = Box::new(move |reader, queue| StreamTasks {
            reading: tokio::spawn(read(input, reader)),
            writing: tokio::spawn(write(writer, queue)),
        });
        Self {
            start: Mutex::new(Some(start)),
            max_waiting: limits.calls_in_flight.saturating_add(EXTRA_PERMITS),
            exit_grace: limits.exit_grace,
        }
    }
}

impl fmt::Debug for StreamConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamConnector").finish_non_exhaustive()
    }
}

impl Connect for StreamConnector {
    fn channel(&self) -> Channel {
        Channel::Stdio
    }

    fn name(&self) -> String {
        String::new()
    }

    fn open(
        &self,
        incoming: Arc<IncomingMessages>,
    ) -> BoxFuture<'_, Result<Arc<dyn ClientTransport>, Error>> {
        Box::pin(async move {
            let start = lock(&self.start).take().ok_or_else(|| {
                Error::invalid_request(
                    "the server ended the connection, and a pair of streams cannot be opened again",
                )
            })?;
            let (sender, queue) = mpsc::channel(QUEUE_LEN);
            let out = Arc::new(MessageQueue {
                sender: Mutex::new(Some(sender)),
                waiting: Arc::new(Semaphore::new(self.max_waiting)),
            });
            let tasks = Arc::new(Mutex::new(None));
            let shutdown = StreamsShutdown {
                out: Arc::clone(&out),
                tasks: Arc::clone(&tasks),
                grace: self.exit_grace,
            };
            let (transport, reader) = StreamTransport::new(out, incoming, Box::new(shutdown));
            *lock(&tasks) = Some(start(reader, queue));
            Ok(Arc::new(transport) as Arc<dyn ClientTransport>)
        })
    }
}

async fn read(mut input: impl Input, reader: StreamReader) {
    let reason = loop {
        match input.next().await {
            Ok(Some(IncomingMessage::Complete(message))) => reader.on_message(&message),
            Ok(Some(IncomingMessage::TooLong(head))) => reader.on_too_long(&head),
            Ok(None) => break "the server ended the connection".to_owned(),
            Err(error) => break format!("the connection cannot be read: {error}"),
        }
    };
    reader.close(Closure { reason, exit: None });
}

async fn write(mut writer: impl MessageWriter, mut queue: mpsc::Receiver<Vec<u8>>) {
    while let Some(message) = queue.recv().await {
        if let Err(error) = writer.send(message).await {
            tracing::debug!(%error, "the connection cannot be written");
            return;
        }
    }
    if let Err(error) = writer.close().await {
        tracing::debug!(%error, "the connection cannot be closed");
    }
}

/// The messages for the writer.
#[derive(Debug)]
struct MessageQueue {
    sender: Mutex<Option<mpsc::Sender<Vec<u8>>>>,
    /// Permits to wait for capacity. Without this limit, a server that sends many requests and does not read would
    /// accumulate their responses.
    waiting: Arc<Semaphore>,
}

impl MessageQueue {
    fn sender(&self) -> MutexGuard<'_, Option<mpsc::Sender<Vec<u8>>>> {
        lock(&self.sender)
    }
}

impl SendMessage for MessageQueue {
    fn send(&self, message: Vec<u8>) -> BoxFuture<'static, Result<(), Error>> {
        let sender = self.sender().clone();
        let permit = Arc::clone(&self.waiting).try_acquire_owned();
        Box::pin(async move {
            let _permit = permit.map_err(|_| {
                Error::limit("the server does not read, and too many messages wait for it")
            })?;
            let sender = sender.ok_or_else(Error::closed)?;
            sender.send(message).await.map_err(|_| Error::closed())
        })
    }
}

/// The tasks of one connection.
#[derive(Debug)]
struct StreamTasks {
    reading: JoinHandle<()>,
    writing: JoinHandle<()>,
}

#[derive(Debug)]
struct StreamsShutdown {
    out: Arc<MessageQueue>,
    tasks: Arc<Mutex<Option<StreamTasks>>>,
    /// How long queued messages may take to be written.
    grace: Duration,
}

impl StreamsShutdown {
    /// Closes the queue. The writer ends after the queued messages, the reader at once.
    fn close(&self) -> Option<JoinHandle<()>> {
        *self.out.sender() = None;
        let tasks = lock(&self.tasks).take()?;
        tasks.reading.abort();
        Some(tasks.writing)
    }
}

impl StreamShutdown for StreamsShutdown {
    fn end(&self) -> BoxFuture<'_, ()> {
        let writing = self.close();
        let grace = self.grace;
        Box::pin(async move {
            if let Some(mut writing) = writing
                && tokio::time::timeout(grace, &mut writing).await.is_err()
            {
                writing.abort();
            }
        })
    }

    fn abandon(&self) {
        drop(self.close());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn message_fails_if_too_many_wait_for_a_server_that_does_not_read() {
        let (sender, mut queue) = mpsc::channel(1);
        let out = MessageQueue {
            sender: Mutex::new(Some(sender)),
            waiting: Arc::new(Semaphore::new(2)),
        };
        out.send(b"queued".to_vec()).await.unwrap();
        let (first, second) = (out.send(b"first".to_vec()), out.send(b"second".to_vec()));
        let error = out.send(b"third".to_vec()).await.unwrap_err();
        assert!(error.is_limit(), "{error}");
        let reading = async {
            for expected in ["queued", "first", "second"] {
                assert_eq!(queue.recv().await.as_deref(), Some(expected.as_bytes()));
            }
        };
        let (first, second, ()) = tokio::join!(first, second, reading);
        first.and(second).unwrap();
        out.send(b"fourth".to_vec()).await.unwrap();
    }

    #[test]
    fn as_many_messages_may_wait_as_calls_run_and_1024_more() {
        let input = ByteStreamReader {
            reader: tokio::io::empty(),
            decoder: LineDecoder::new(100),
            chunk: Vec::new(),
            at: 0,
        };
        let limits = ClientLimits {
            calls_in_flight: 3,
            ..ClientLimits::default()
        };
        let connector = StreamConnector::new(input, LineWriter(tokio::io::sink()), &limits);
        assert_eq!(connector.max_waiting, 3 + 1024);
    }
}
