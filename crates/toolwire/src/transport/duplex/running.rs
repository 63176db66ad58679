//! A request whose handler works, from its start to its answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;
use toolwire_proto::outbox::OutgoingKind;
use toolwire_proto::requests::{self, ExchangeKey};
use toolwire_types::{ProtocolVersion, RequestId};

use crate::engine::exchange::encode_outcome;
use crate::engine::{BoxFuture, Cancellation, ConnectionState, MessageSize, Outcome};
use crate::transport::out_stream::OutgoingQueue;
use crate::transport::outlet::MessageSink as _;

/// The work of a handler.
pub(crate) type HandlerFuture = BoxFuture<'static, Outcome>;

/// A request before its first poll is over. The reader polls it, so no other message can name it meanwhile, and it is in
/// no ledger.
#[derive(Debug)]
pub(super) struct StartingRequest {
    pub(super) id: RequestId,
    pub(super) version: ProtocolVersion,
    pub(super) cancellable: requests::CancelPolicy,
    pub(super) cancellation: Cancellation,
    pub(super) size: MessageSize,
}

impl StartingRequest {
    /// Enters it into the ledger: from now on others may ask for it.
    pub(super) fn enter(self, state: &ConnectionState) -> LedgerEntry {
        let key = state.enter(&self.id, self.cancellable, &self.cancellation, self.size);
        LedgerEntry {
            id: self.id,
            key,
            cancellation: self.cancellation,
        }
    }
}

/// A request that others may ask for.
#[derive(Debug)]
pub(super) struct LedgerEntry {
    id: RequestId,
    key: ExchangeKey,
    cancellation: Cancellation,
}

/// A handler at work.
pub(crate) struct RunningRequest {
    request: LedgerEntry,
    work: HandlerFuture,
}

impl RunningRequest {
    pub(super) fn new(request: LedgerEntry, work: HandlerFuture) -> Self {
        Self { request, work }
    }

    /// Runs the handler. `None` when it was cancelled: then nothing is sent.
    pub(crate) async fn answer(mut self, delivery: Arc<ResponseSink>) -> Option<Vec<u8>> {
        let answer = self.run().await;
        let may_send = delivery.finish(self.request.key);
        answer.filter(|_| may_send)
    }

    /// Runs the handler and queues the response. The request counts as running until there is room for the response, so
    /// that a client that reads slowly is not served faster than it reads.
    pub(super) async fn answer_to(mut self, delivery: Arc<ResponseSink>) {
        let response = self.run().await;
        if response.is_some() {
            delivery.out.has_room().await;
        }
        let may_send = delivery.finish(self.request.key);
        if let Some(bytes) = response.filter(|_| may_send) {
            delivery.out.push(OutgoingKind::Response, bytes);
        }
    }

    async fn run(&mut self) -> Option<Vec<u8>> {
        let Self { request, work } = self;
        let outcome = request.cancellation.unless_cancelled(work).await;
        outcome.map(|outcome| encode_outcome(&request.id, outcome))
    }
}

/// Where the answers of a connection go, and what they leave behind.
pub(crate) struct ResponseSink {
    pub(super) out: Arc<OutgoingQueue>,
    pub(super) state: Arc<ConnectionState>,
    pub(super) finished: CompletionCounter,
}

impl ResponseSink {
    /// Gives up the place among those that run; says whether the answer may be sent.
    fn finish(&self, key: ExchangeKey) -> bool {
        let may_send = self.state.finish(key);
        self.finished.note();
        may_send
    }
}

/// How many requests of a connection have finished while it was read on, for whoever waits for a free place.
#[derive(Debug, Default)]
pub(super) struct CompletionCounter {
    count: AtomicU64,
    changed: Notify,
}

impl CompletionCounter {
    pub(super) fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    /// Waits until more than this many have finished. One waits at a time.
    pub(super) async fn wait_above(&self, count: u64) {
        while self.count() <= count {
            // A notice that comes before the wait is kept for it.
            self.changed.notified().await;
        }
    }

    fn note(&self) {
        self.count.fetch_add(1, Ordering::AcqRel);
        self.changed.notify_one();
    }
}
