//! A link over a stream of messages in both directions: a child's pipes, a server in the same process, HTTP+SSE.
//!
//! The transport owns the reading: it feeds every message to a [`StreamReader`] and says when the stream has ended. The
//! answer finds the exchange by its id; everybody who still waits when the stream ends hears why.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use toolwire_proto::envelope::ResponseEnvelope;
use toolwire_proto::requests::spellings;
use toolwire_proto::strict_json::{self, id_in_head};
use toolwire_types::{ProtocolVersion, RawJson, RequestId, ResponseId};

use crate::client::incoming::IncomingMessages;
use crate::client::message_router::MessageRouter;
use crate::client::send::SendMessage;
use crate::client::transport::{ClientTransport, OutgoingRequest, ServerResponse};
use crate::engine::BoxFuture;
use crate::error::{Closure, Error};

/// How a pipe is taken down; the transport knows.
pub(crate) trait StreamShutdown: fmt::Debug + Send + Sync {
    /// Ends the stream and waits until everything that belongs to it is gone.
    fn end(&self) -> BoxFuture<'_, ()>;

    /// Ends the stream without waiting.
    fn abandon(&self);

    /// Ends the stream without waiting, and without a grace for the peer.
    fn terminate(&self) {
        self.abandon();
    }
}

/// The client's end of a stream of messages.
#[derive(Debug)]
pub(crate) struct StreamTransport {
    out: Arc<dyn SendMessage>,
    waiting: Arc<PendingCalls>,
    ending: Box<dyn StreamShutdown>,
}

/// The side that is fed with what the server sends.
#[derive(Debug)]
pub(crate) struct StreamReader {
    waiting: Arc<PendingCalls>,
    intake: MessageRouter,
}

#[derive(Debug, Default)]
struct PendingCalls(Mutex<PendingTable>);

#[derive(Debug, Default)]
struct PendingTable {
    slots: HashMap<RequestId, oneshot::Sender<Result<ServerResponse, Error>>>,
    closed: Option<Closure>,
}

impl StreamTransport {
    /// A pipe that writes through `out`, and the reader to feed.
    pub(crate) fn new(
        out: Arc<dyn SendMessage>,
        inbox: Arc<IncomingMessages>,
        ending: Box<dyn StreamShutdown>,
    ) -> (Self, StreamReader) {
        let waiting = Arc::new(PendingCalls::default());
        let reader = StreamReader {
            waiting: Arc::clone(&waiting),
            intake: MessageRouter {
                inbox,
                reply: Arc::clone(&out),
            },
        };
        let pipe = Self {
            out,
            waiting,
            ending,
        };
        (pipe, reader)
    }
}

impl ClientTransport for StreamTransport {
    fn exchange<'a>(
        &'a self,
        request: &'a OutgoingRequest,
    ) -> BoxFuture<'a, Result<ServerResponse, Error>> {
        Box::pin(async move {
            let (slot, answer) = oneshot::channel();
            // Registered before it is sent, so that no answer can come too early.
            self.waiting.begin(request.id.clone(), slot)?;
            let mut guard = CallGuard {
                pipe: self,
                request,
                sent: false,
                receipt: None,
            };
            let sending = self.out.send(request.encode());
            let outcome = match self.out.ends_with_receipt() {
                true => guard.send_aside(sending, answer).await,
                false => guard.send_first(sending, answer).await,
            };
            // When the stream ended while it was sent, the reader knows better why.
            match (outcome, self.waiting.closure()) {
                (Err(_), Some(closure)) => Err(Error::closed_because(closure)),
                (outcome, _) => outcome,
            }
        })
    }

    fn send(&self, message: Vec<u8>) -> BoxFuture<'_, Result<(), Error>> {
        self.out.send(message)
    }

    fn set_version(&self, _version: ProtocolVersion) {}

    fn ready(&self) {}

    fn forget(&self, id: &RequestId) {
        drop(self.waiting.take(id));
    }

    fn is_closed(&self) -> bool {
        self.waiting.closure().is_some()
    }

    fn open_entries(&self) -> usize {
        self.waiting.table().slots.len()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.waiting.close(Closure::by_this_side());
            self.ending.end().await;
        })
    }

    fn terminate(&self) {
        self.waiting.close(Closure::by_this_side());
        self.ending.terminate();
    }
}

impl Drop for StreamTransport {
    fn drop(&mut self) {
        self.waiting.close(Closure::by_this_side());
        self.ending.abandon();
    }
}

impl StreamReader {
    /// Takes one message of the server. What is no message is skipped: a client never answers an unreadable line.
    pub(crate) fn message(&self, bytes: &[u8]) {
        let taken = self
            .intake
            .message(bytes, &mut |response| self.response(response));
        let Err(unreadable) = taken else { return };
        // An answer that cannot be read still ends the call it belongs to.
        let slot = strict_json::salvage_id(bytes).and_then(|id| self.waiting.take(&id));
        match slot {
            Some(slot) => drop(slot.send(Err(Error::protocol(format!(
                "the server's answer is unreadable: {}",
                unreadable.error.message
            ))))),
            None => self.skipped("a line that is no message"),
        }
    }

    /// A line over the limit was skipped: the call it would have answered fails, when its beginning says which.
    pub(crate) fn too_long(&self, head: &[u8]) {
        match id_in_head(head).and_then(|id| self.waiting.take(&id)) {
            Some(slot) => drop(slot.send(Err(Error::limit(
                "the server's answer is over the limit of this client; raise ClientLimits::message_bytes",
            )))),
            None => self.skipped("a line over the limit"),
        }
    }

    /// Counts a line that was not even read, for example because the end of the stream cut it off.
    pub(crate) fn skipped(&self, what: &'static str) {
        self.intake.inbox.skipped(what);
    }

    /// The stream has ended: everybody who waits, and everybody who comes later, hears why.
    pub(crate) fn ended(&self, closure: Closure) {
        self.waiting.close(closure);
        self.intake.inbox.closed();
    }

    fn response(&self, response: ResponseEnvelope<'_>) {
        let slot = match &response.id {
            ResponseId::Id(id) => self.waiting.take(id),
            ResponseId::Null | ResponseId::Absent => None,
        };
        let Some(slot) = slot else {
            self.skipped("an answer that nobody waits for");
            return;
        };
        let answer = response.outcome.map(RawJson::from);
        // A caller that stopped waiting in this moment is no error.
        drop(slot.send(Ok(answer)));
    }
}

impl Drop for StreamReader {
    /// Whatever ended the reading, nobody waits for answers that nobody reads.
    fn drop(&mut self) {
        self.ended(Closure {
            reason: "the connection is not read any more".to_owned(),
            exit: None,
        });
    }
}

impl PendingCalls {
    fn begin(
        &self,
        id: RequestId,
        slot: oneshot::Sender<Result<ServerResponse, Error>>,
    ) -> Result<(), Error> {
        let mut table = self.table();
        match &table.closed {
            Some(closure) => Err(Error::closed_because(closure.clone())),
            None => {
                table.slots.insert(id, slot);
                Ok(())
            }
        }
    }

    /// The slot an answer belongs to.
    fn take(&self, id: &RequestId) -> Option<oneshot::Sender<Result<ServerResponse, Error>>> {
        let mut table = self.table();
        spellings(id).find_map(|id| table.slots.remove(&id))
    }

    /// Why the stream is closed, when it is.
    fn closure(&self) -> Option<Closure> {
        self.table().closed.clone()
    }

    fn close(&self, closure: Closure) {
        let mut table = self.table();
        let closure = table.closed.get_or_insert(closure).clone();
        for (_, slot) in table.slots.drain() {
            drop(slot.send(Err(Error::closed_because(closure.clone()))));
        }
    }

    fn table(&self) -> MutexGuard<'_, PendingTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Forgets a request when nobody waits for its answer any more, and tells the server if it has it.
struct CallGuard<'a> {
    pipe: &'a StreamTransport,
    request: &'a OutgoingRequest,
    sent: bool,
    /// The sending that is under way in a task of its own.
    receipt: Option<JoinHandle<Result<(), Error>>>,
}

type ResponseSender = oneshot::Receiver<Result<ServerResponse, Error>>;

impl CallGuard<'_> {
    /// Sends, then waits for the answer. A request that was taken back before it was sent was never there.
    async fn send_first(
        &mut self,
        sending: BoxFuture<'static, Result<(), Error>>,
        answer: ResponseSender,
    ) -> Result<ServerResponse, Error> {
        sending.await?;
        self.sent = true;
        received(answer.await)
    }

    /// Sends from a task of its own: the answer may be there before the receipt, and a request that the server may be
    /// acting on is not cut off half way.
    async fn send_aside(
        &mut self,
        sending: BoxFuture<'static, Result<(), Error>>,
        mut answer: ResponseSender,
    ) -> Result<ServerResponse, Error> {
        self.sent = true;
        let receipt = self.receipt.insert(tokio::spawn(sending));
        let sent = tokio::select! {
            biased;
            answer = &mut answer => return received(answer),
            sent = receipt => sent.unwrap_or_else(|_| Err(Error::closed())),
        };
        self.receipt = None;
        // What was refused is not there to be taken back.
        self.sent = sent.is_ok();
        sent?;
        received(answer.await)
    }
}

fn received(
    answer: Result<Result<ServerResponse, Error>, oneshot::error::RecvError>,
) -> Result<ServerResponse, Error> {
    answer.unwrap_or_else(|_| Err(Error::closed()))
}

impl Drop for CallGuard<'_> {
    fn drop(&mut self) {
        // Whoever was answered is not in the table any more.
        let unanswered = self.pipe.waiting.take(&self.request.id).is_some();
        if unanswered
            && self.sent
            && self.request.is_cancellable()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            // Dropping cannot wait; the stream takes the message when it has room, and after the request itself.
            let cancelling = self.pipe.out.send(self.request.cancelled());
            let receipt = self.receipt.take();
            runtime.spawn(async move {
                if let Some(receipt) = receipt {
                    drop(receipt.await);
                }
                cancelling.await
            });
        }
    }
}
