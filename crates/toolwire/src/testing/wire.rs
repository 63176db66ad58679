//! The way from a real client to a scripted server: queues of messages in memory.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use toolwire_proto::negotiate::Channel;

use crate::client::incoming::IncomingMessages;
use crate::client::send::SendMessage;
use crate::client::stream_transport::{StreamShutdown, StreamTransport};
use crate::client::transport::{ClientTransport, Connect};
use crate::engine::BoxFuture;
use crate::error::{Closure, Error};

/// How many messages wait in each direction; whoever is ahead of the other waits after that.
const UNREAD_MESSAGES: usize = 64;

/// The script's end of one connection.
#[derive(Debug)]
pub(super) struct Wire {
    pub(super) from_client: mpsc::Receiver<Vec<u8>>,
    /// `None` once the script has hung up.
    pub(super) to_client: Option<mpsc::Sender<Vec<u8>>>,
}

/// Opens connections to the script.
#[derive(Debug)]
pub(super) struct ScriptDial {
    arrivals: mpsc::UnboundedSender<Wire>,
}

impl ScriptDial {
    /// The dial, and where its connections arrive: one per client, and one more for each time it dials again.
    pub(super) fn new() -> (Self, mpsc::UnboundedReceiver<Wire>) {
        let (arrivals, arriving) = mpsc::unbounded_channel();
        (Self { arrivals }, arriving)
    }
}

impl Connect for ScriptDial {
    fn channel(&self) -> Channel {
        Channel::Stdio
    }

    fn name(&self) -> String {
        String::new()
    }

    fn open(
        &self,
        inbox: Arc<IncomingMessages>,
    ) -> BoxFuture<'_, Result<Arc<dyn ClientTransport>, Error>> {
        Box::pin(async move {
            let (to_server, from_client) = mpsc::channel(UNREAD_MESSAGES);
            let (to_client, mut from_server) = mpsc::channel::<Vec<u8>>(UNREAD_MESSAGES);
            let wire = Wire {
                from_client,
                to_client: Some(to_client),
            };
            self.arrivals.send(wire).map_err(|_| Error::closed())?;
            let outgoing = Arc::new(Outgoing(Mutex::new(Some(to_server))));
            let (hung_up, mut hangs_up) = mpsc::channel::<()>(1);
            let task = Arc::default();
            let ending = HangUp {
                outgoing: Arc::clone(&outgoing),
                hung_up: Mutex::new(Some(hung_up)),
                reading: Arc::clone(&task),
            };
            let (pipe, reader) = StreamTransport::new(outgoing, inbox, Box::new(ending));
            let reading = tokio::spawn(async move {
                loop {
                    tokio::select! {
                        biased;
                        // Yields when the sender is gone.
                        _ = hangs_up.recv() => break,
                        message = from_server.recv() => match message {
                            Some(message) => reader.message(&message),
                            None => break,
                        },
                    }
                }
                reader.ended(Closure {
                    reason: "the scripted server hung up".to_owned(),
                    exit: None,
                });
            });
            *task.lock().await = Some(reading);
            Ok(Arc::new(pipe) as Arc<dyn ClientTransport>)
        })
    }
}

/// The way to the script.
struct Outgoing(Mutex<Option<mpsc::Sender<Vec<u8>>>>);

impl SendMessage for Outgoing {
    fn send(&self, message: Vec<u8>) -> BoxFuture<'static, Result<(), Error>> {
        let sender = self.0.lock().unwrap_or_else(PoisonError::into_inner);
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

/// Ends the client's side of a connection.
#[derive(Debug)]
struct HangUp {
    outgoing: Arc<Outgoing>,
    hung_up: Mutex<Option<mpsc::Sender<()>>>,
    reading: Arc<tokio::sync::Mutex<Option<JoinHandle<()>>>>,
}

impl StreamShutdown for HangUp {
    fn end(&self) -> BoxFuture<'_, ()> {
        self.abandon();
        Box::pin(async {
            if let Some(reading) = self.reading.lock().await.take() {
                drop(reading.await);
            }
        })
    }

    fn abandon(&self) {
        forget(&self.outgoing.0);
        forget(&self.hung_up);
    }
}

fn forget<T>(slot: &Mutex<Option<T>>) {
    *slot.lock().unwrap_or_else(PoisonError::into_inner) = None;
}
