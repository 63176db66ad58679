//! A transport over a bidirectional stream of messages: a child process, a server in the same process, HTTP+SSE.
//!
//! The owner of the stream reads it, passes every message to a [`StreamReader`], and reports the end of the stream. A
//! response is matched to its call by the id. Calls that are pending at the end of the stream fail with its reason.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use toolwire_proto::envelope::ResponseEnvelope;
use toolwire_proto::requests::spellings;
use toolwire_proto::strict_json::{self, id_in_head};
use toolwire_types::{ProtocolVersion, RawJson, RequestId, ResponseId};

use crate::client::incoming::IncomingMessages;
use crate::client::message_router::MessageRouter;
use crate::client::pending_sends::PendingSends;
use crate::client::send::{SendMessage, encode_notification};
use crate::client::transport::{ClientTransport, OutgoingRequest, ServerResponse};
use crate::engine::BoxFuture;
use crate::error::{Closure, Error};
use crate::sync::lock;

/// Shuts down the stream of a transport.
pub(crate) trait StreamShutdown: fmt::Debug + Send + Sync {
    /// Ends the stream and waits until its resources are released.
    fn end(&self) -> BoxFuture<'_, ()>;

    /// Ends the stream without waiting.
    fn abandon(&self);

    /// Ends the stream without waiting, and without a grace period for the peer.
    fn terminate(&self) {
        self.abandon();
    }

    /// Returns how long closing waits for the delivery of cancellations.
    fn grace(&self) -> Duration {
        Duration::from_secs(2)
    }

    /// Returns what the peer wrote instead of messages; see [`ClientTransport::output`].
    fn output(&self) -> Option<String> {
        None
    }
}

/// A [`ClientTransport`] over a stream of messages.
#[derive(Debug)]
pub(crate) struct StreamTransport {
    out: Arc<dyn SendMessage>,
    pending: Arc<PendingCalls>,
    /// The cancellations of dropped calls.
    cancellations: PendingSends,
    shutdown: Box<dyn StreamShutdown>,
}

/// Receives the messages of the server.
#[derive(Debug)]
pub(crate) struct StreamReader {
    pending: Arc<PendingCalls>,
    router: MessageRouter,
}

#[derive(Debug, Default)]
struct PendingCalls(Mutex<PendingTable>);

#[derive(Debug, Default)]
struct PendingTable {
    senders: HashMap<RequestId, oneshot::Sender<Result<ServerResponse, Error>>>,
    closed: Option<Closure>,
}

impl StreamTransport {
    /// Creates a transport that writes through `out`, and the reader of its messages.
    pub(crate) fn new(
        out: Arc<dyn SendMessage>,
        incoming: Arc<IncomingMessages>,
        shutdown: Box<dyn StreamShutdown>,
    ) -> (Self, StreamReader) {
        let pending = Arc::new(PendingCalls::default());
        let out = incoming.handlers.wire.around(out);
        let reader = StreamReader {
            pending: Arc::clone(&pending),
            router: MessageRouter {
                incoming,
                reply: Arc::clone(&out),
            },
        };
        let transport = Self {
            out,
            pending,
            cancellations: PendingSends::default(),
            shutdown,
        };
        (transport, reader)
    }
}

impl ClientTransport for StreamTransport {
    fn exchange<'a>(
        &'a self,
        request: &'a OutgoingRequest,
    ) -> BoxFuture<'a, Result<ServerResponse, Error>> {
        Box::pin(async move {
            let (sender, receiver) = oneshot::channel();
            // Registered before it is sent, so that a fast response finds its call.
            self.pending.begin(request.id.clone(), sender)?;
            let mut guard = CallGuard {
                transport: self,
                request,
                sent: false,
                send_task: None,
            };
            let sending = self.out.send(request.encode());
            let outcome = if self.out.ends_with_acknowledgement() {
                guard.send_concurrently(sending, receiver).await
            } else {
                guard.send_first(sending, receiver).await
            };
            // If the stream ended during sending, the reader has the more precise reason.
            match (outcome, self.pending.closure()) {
                (Err(_), Some(closure)) => Err(Error::closed_because(closure)),
                (outcome, _) => outcome,
            }
        })
    }

    fn notify(
        &self,
        method: Cow<'static, str>,
        params: Option<RawJson>,
    ) -> BoxFuture<'_, Result<(), Error>> {
        self.out.send(encode_notification(method, params))
    }

    fn set_version(&self, _version: ProtocolVersion) {}

    fn ready(&self) {}

    fn forget(&self, id: &RequestId) {
        drop(self.pending.take(id));
    }

    fn is_closed(&self) -> bool {
        self.pending.closure().is_some()
    }

    fn open_entries(&self) -> usize {
        self.pending.table().senders.len()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let was_open = !self.is_closed();
            self.pending.close(Closure::by_this_side());
            if was_open {
                self.cancellations.sent(self.shutdown.grace()).await;
            }
            self.shutdown.end().await;
        })
    }

    fn output(&self) -> Option<String> {
        self.shutdown.output()
    }

    fn terminate(&self) {
        self.pending.close(Closure::by_this_side());
        self.shutdown.terminate();
    }
}

impl Drop for StreamTransport {
    fn drop(&mut self) {
        self.pending.close(Closure::by_this_side());
        self.shutdown.abandon();
    }
}

impl StreamReader {
    /// Handles one message of the server. Invalid messages are skipped: a client never responds to an unreadable line.
    pub(crate) fn on_message(&self, bytes: &[u8]) {
        self.on_line(bytes);
    }

    /// Handles one line like [`on_message`](Self::on_message). Returns `false` if it is not a message.
    pub(crate) fn on_line(&self, bytes: &[u8]) -> bool {
        let routed = self
            .router
            .route(bytes, None, &mut |response| self.on_response(response));
        let Err(unreadable) = routed else { return true };
        // An unreadable response still ends its call.
        let sender = strict_json::salvage_id(bytes).and_then(|id| self.pending.take(&id));
        match sender {
            Some(sender) => {
                drop(sender.send(Err(Error::protocol(format!(
                    "the response of the server is unreadable: {}",
                    unreadable.error.message
                )))));
                true
            }
            None => {
                self.count_skipped("a line that is not a message");
                false
            }
        }
    }

    /// Handles a line over the limit. If its start contains the id of a pending call, that call fails.
    pub(crate) fn on_too_long(&self, head: &[u8]) {
        match id_in_head(head).and_then(|id| self.pending.take(&id)) {
            Some(sender) => drop(sender.send(Err(Error::limit(
                "the response of the server is over the limit; raise ClientLimits::message_bytes",
            )))),
            None => self.count_skipped("a line over the limit"),
        }
    }

    /// Counts a line that was not parsed, for example because the end of the stream truncated it.
    pub(crate) fn count_skipped(&self, what: &'static str) {
        self.router.incoming.count_skipped(what);
    }

    /// Ends the stream: pending and later calls fail with this reason.
    pub(crate) fn close(&self, closure: Closure) {
        self.pending.close(closure);
        self.router.incoming.close();
    }

    fn on_response(&self, response: ResponseEnvelope<'_>) {
        let sender = match &response.id {
            ResponseId::Id(id) => self.pending.take(id),
            ResponseId::Null | ResponseId::Absent => None,
        };
        let Some(sender) = sender else {
            self.count_skipped("a response without a pending call");
            return;
        };
        let outcome = response.outcome.map(RawJson::from);
        // A caller that was dropped at this moment is not an error.
        drop(sender.send(Ok(outcome)));
    }
}

impl Drop for StreamReader {
    /// Fails the pending calls, because no task reads their responses any more.
    fn drop(&mut self) {
        self.close(Closure {
            reason: "the connection is not read any more".to_owned(),
            exit: None,
        });
    }
}

impl PendingCalls {
    fn begin(
        &self,
        id: RequestId,
        sender: oneshot::Sender<Result<ServerResponse, Error>>,
    ) -> Result<(), Error> {
        let mut table = self.table();
        match &table.closed {
            Some(closure) => Err(Error::closed_because(closure.clone())),
            None => {
                table.senders.insert(id, sender);
                Ok(())
            }
        }
    }

    /// Removes and returns the sender for the response with this id.
    fn take(&self, id: &RequestId) -> Option<oneshot::Sender<Result<ServerResponse, Error>>> {
        let mut table = self.table();
        spellings(id).find_map(|id| table.senders.remove(&id))
    }

    /// Returns the reason of the closure if the stream is closed.
    fn closure(&self) -> Option<Closure> {
        self.table().closed.clone()
    }

    fn close(&self, closure: Closure) {
        let mut table = self.table();
        let closure = table.closed.get_or_insert(closure).clone();
        for (_, sender) in table.senders.drain() {
            drop(sender.send(Err(Error::closed_because(closure.clone()))));
        }
    }

    fn table(&self) -> MutexGuard<'_, PendingTable> {
        lock(&self.0)
    }
}

/// Removes a request when its caller is dropped, and sends a cancellation if the request was sent.
struct CallGuard<'a> {
    transport: &'a StreamTransport,
    request: &'a OutgoingRequest,
    sent: bool,
    /// The task that sends the request, while it runs.
    send_task: Option<JoinHandle<Result<(), Error>>>,
}

type ResponseReceiver = oneshot::Receiver<Result<ServerResponse, Error>>;

impl CallGuard<'_> {
    /// Sends the request, then waits for the response. A request that is dropped before it was sent needs no
    /// cancellation.
    async fn send_first(
        &mut self,
        sending: BoxFuture<'static, Result<(), Error>>,
        receiver: ResponseReceiver,
    ) -> Result<ServerResponse, Error> {
        sending.await?;
        self.sent = true;
        response_or_closed(receiver.await)
    }

    /// Sends from its own task. The response may arrive before sending ends, and dropping the call does not interrupt a
    /// request that the server may be processing.
    async fn send_concurrently(
        &mut self,
        sending: BoxFuture<'static, Result<(), Error>>,
        mut receiver: ResponseReceiver,
    ) -> Result<ServerResponse, Error> {
        self.sent = true;
        let send_task = self.send_task.insert(tokio::spawn(sending));
        let sent = tokio::select! {
            biased;
            response = &mut receiver => return response_or_closed(response),
            sent = send_task => sent.unwrap_or_else(|_| Err(Error::closed())),
        };
        self.send_task = None;
        // A rejected request cannot be cancelled.
        self.sent = sent.is_ok();
        sent?;
        response_or_closed(receiver.await)
    }
}

fn response_or_closed(
    response: Result<Result<ServerResponse, Error>, oneshot::error::RecvError>,
) -> Result<ServerResponse, Error> {
    response.unwrap_or_else(|_| Err(Error::closed()))
}

impl Drop for CallGuard<'_> {
    fn drop(&mut self) {
        // A call that got its response is not in the table any more.
        let is_pending = self.transport.pending.take(&self.request.id).is_some();
        if is_pending && self.sent && self.request.is_cancellable() {
            // `drop` cannot wait. The task sends the cancellation after the request, when the stream has capacity.
            let cancelling = self.transport.out.send(self.request.encode_cancellation());
            let send_task = self.send_task.take();
            self.transport.cancellations.spawn(async move {
                if let Some(send_task) = send_task {
                    drop(send_task.await);
                }
                // A failure means that the connection is closed.
                drop(cancelling.await);
            });
        }
    }
}
