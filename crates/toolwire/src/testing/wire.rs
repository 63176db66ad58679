//! The transport between a real client and a scripted server: message queues in memory.

use std::fmt;
use std::sync::{Arc, Mutex};

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use toolwire_proto::negotiate::Channel;

use crate::client::incoming::IncomingMessages;
use crate::client::send::SendMessage;
use crate::client::stream_transport::{StreamShutdown, StreamTransport};
use crate::client::transport::{ClientTransport, Connect};
use crate::engine::BoxFuture;
use crate::error::{Closure, Error};
use crate::sync::lock;

/// The capacity of the queue in each direction. After that, the sender waits.
const QUEUE_LEN: usize = 64;

/// The server side of one connection.
#[derive(Debug)]
pub(super) struct Wire {
    pub(super) from_client: mpsc::Receiver<Vec<u8>>,
    /// `None` after the script has disconnected.
    pub(super) to_client: Option<mpsc::Sender<Vec<u8>>>,
}

/// The connector of a scripted server.
#[derive(Debug)]
pub(super) struct ScriptConnector {
    arrivals: mpsc::UnboundedSender<Wire>,
}

impl ScriptConnector {
    /// Returns the connector and the receiver of its connections. Each connection attempt of a client adds one.
    pub(super) fn new() -> (Self, mpsc::UnboundedReceiver<Wire>) {
        let (arrivals, arriving) = mpsc::unbounded_channel();
        (Self { arrivals }, arriving)
    }
}

impl Connect for ScriptConnector {
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
            let (to_server, from_client) = mpsc::channel(QUEUE_LEN);
            let (to_client, mut from_server) = mpsc::channel::<Vec<u8>>(QUEUE_LEN);
            let wire = Wire {
                from_client,
                to_client: Some(to_client),
            };
            self.arrivals.send(wire).map_err(|_| Error::closed())?;
            let outgoing = Arc::new(Outgoing(Mutex::new(Some(to_server))));
            let (open, mut closed) = mpsc::channel::<()>(1);
            let task = Arc::default();
            let shutdown = WireShutdown {
                outgoing: Arc::clone(&outgoing),
                open: Mutex::new(Some(open)),
                reading: Arc::clone(&task),
            };
            let (transport, reader) = StreamTransport::new(outgoing, incoming, Box::new(shutdown));
            let reading = tokio::spawn(async move {
                loop {
                    tokio::select! {
                        biased;
                        // Returns when the sender is dropped.
                        _ = closed.recv() => break,
                        message = from_server.recv() => match message {
                            Some(message) => reader.on_message(&message),
                            None => break,
                        },
                    }
                }
                reader.close(Closure {
                    reason: "the scripted server disconnected".to_owned(),
                    exit: None,
                });
            });
            *task.lock().await = Some(reading);
            Ok(Arc::new(transport) as Arc<dyn ClientTransport>)
        })
    }
}

/// Sends messages to the script.
struct Outgoing(Mutex<Option<mpsc::Sender<Vec<u8>>>>);

impl SendMessage for Outgoing {
    fn send(&self, message: Vec<u8>) -> BoxFuture<'static, Result<(), Error>> {
        let sender = lock(&self.0);
        let sender = sender.clone();
        Box::pin(async move {
            let sender = sender.ok_or_else(Error::closed)?;
            sender.send(message).await.map_err(|_| Error::closed())
        })
    }
}

impl fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Outgoing")
    }
}

/// Shuts down the client side of a connection.
#[derive(Debug)]
struct WireShutdown {
    outgoing: Arc<Outgoing>,
    open: Mutex<Option<mpsc::Sender<()>>>,
    reading: Arc<tokio::sync::Mutex<Option<JoinHandle<()>>>>,
}

impl StreamShutdown for WireShutdown {
    fn end(&self) -> BoxFuture<'_, ()> {
        self.abandon();
        Box::pin(async {
            if let Some(reading) = self.reading.lock().await.take() {
                drop(reading.await);
            }
        })
    }

    fn abandon(&self) {
        clear(&self.outgoing.0);
        clear(&self.open);
    }
}

fn clear<T>(value: &Mutex<Option<T>>) {
    *lock(value) = None;
}
