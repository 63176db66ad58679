//! The client transport to a server in the same process.

use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use toolwire_proto::framing::encode_line;
use toolwire_proto::negotiate::Channel;

use crate::client::incoming::IncomingMessages;
use crate::client::send::SendMessage;
use crate::client::stream_transport::{StreamShutdown, StreamTransport};
use crate::client::transport::{ClientTransport, Connect};
use crate::client::{Client, ClientBuilder};
use crate::engine::BoxFuture;
use crate::error::{Closure, Error};
use crate::server::Server;
use crate::sync::lock;
use crate::transport::chunk::Chunk;
use crate::transport::duplex::MessageLoop;
use crate::transport::limits::Limits;
use crate::transport::outgoing_queue::OutgoingQueue;

impl Client {
    /// Connects to a server in the same process: without a port or a child process, with the same messages and rules.
    /// Requires a tokio runtime.
    ///
    /// # Errors
    /// Returns an error if client and server have no protocol revision in common, or if an extension needs something
    /// that the server does not offer.
    #[doc(alias = "InMemoryTransport")]
    pub async fn in_process(server: &Server) -> Result<Self, Error> {
        ClientBuilder::default().in_process(server).await
    }
}

impl ClientBuilder {
    /// Connects to a server in the same process; see [`Client::in_process`].
    ///
    /// # Errors
    /// Returns an error if client and server have no protocol revision in common, or if an extension needs something
    /// that the server does not offer.
    pub async fn in_process(self, server: &Server) -> Result<Client, Error> {
        server.check_start()?;
        let connector = InProcessConnector {
            server: server.clone(),
        };
        Client::open(self.config, Box::new(connector)).await
    }
}

#[derive(Debug)]
struct InProcessConnector {
    server: Server,
}

impl Connect for InProcessConnector {
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
            let limits = Limits::default();
            let from_server = OutgoingQueue::new(limits.outbox()).reporting_to(&self.server);
            let from_server = Arc::new(from_server);
            // A client that sends faster than the server reads waits after this many messages.
            let (to_server, chunks) = mpsc::channel(64);
            let connection =
                MessageLoop::new(self.server.clone(), Arc::clone(&from_server), limits);
            let serving = tokio::spawn(connection.run(chunks));
            let lines = Arc::new(MessageLines {
                to_server: Mutex::new(Some(to_server)),
            });
            let tasks = Arc::default();
            let shutdown = InProcessShutdown {
                lines: Arc::clone(&lines),
                from_server: Arc::clone(&from_server),
                tasks: Arc::clone(&tasks),
            };
            let (transport, reader) = StreamTransport::new(lines, incoming, Box::new(shutdown));
            let reading = tokio::spawn(async move {
                while let Some(message) = from_server.next().await {
                    reader.on_message(&message);
                }
                reader.close(Closure {
                    reason: "the server ended the connection".to_owned(),
                    exit: None,
                });
            });
            tasks.lock().await.extend([serving, reading]);
            Ok(Arc::new(transport) as Arc<dyn ClientTransport>)
        })
    }
}

/// Sends messages to the server as lines, like a byte stream.
#[derive(Debug)]
struct MessageLines {
    to_server: Mutex<Option<mpsc::Sender<Chunk>>>,
}

impl MessageLines {
    fn sender(&self) -> MutexGuard<'_, Option<mpsc::Sender<Chunk>>> {
        lock(&self.to_server)
    }
}

impl SendMessage for MessageLines {
    fn send(&self, message: Vec<u8>) -> BoxFuture<'static, Result<(), Error>> {
        let sender = self.sender().clone();
        Box::pin(async move {
            let mut line = Vec::with_capacity(message.len() + 1);
            encode_line(&mut line, &message);
            let sender = sender.ok_or_else(Error::closed)?;
            sender.send(line.into()).await.map_err(|_| Error::closed())
        })
    }
}

#[derive(Debug)]
struct InProcessShutdown {
    lines: Arc<MessageLines>,
    from_server: Arc<OutgoingQueue>,
    /// The message loop of the server, and the reader.
    tasks: Arc<tokio::sync::Mutex<Vec<JoinHandle<()>>>>,
}

impl StreamShutdown for InProcessShutdown {
    fn end(&self) -> BoxFuture<'_, ()> {
        self.abandon();
        Box::pin(async {
            for task in self.tasks.lock().await.drain(..) {
                drop(task.await);
            }
        })
    }

    fn abandon(&self) {
        *self.lines.sender() = None;
        self.from_server.fail();
    }
}
