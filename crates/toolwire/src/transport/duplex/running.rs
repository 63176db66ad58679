//! A running request, from its start to its response.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;
use toolwire_proto::outbox::OutgoingKind;
use toolwire_proto::requests::{self, ExchangeKey};
use toolwire_types::{ProtocolVersion, RequestId};

use crate::engine::encoding::encode_outcome;
use crate::engine::{BoxFuture, Cancellation, ConnectionState, MessageSize, Outcome};
use crate::transport::outgoing_queue::{MessageSink as _, OutgoingQueue};

/// The future of a handler.
pub(crate) type HandlerFuture = BoxFuture<'static, Outcome>;

/// A request before the end of its first poll. The reader polls it, so no other message can refer to it meanwhile, and
/// it is not in the ledger.
#[derive(Debug)]
pub(super) struct StartingRequest {
    pub(super) id: RequestId,
    pub(super) version: ProtocolVersion,
    pub(super) cancellable: requests::CancelPolicy,
    pub(super) cancellation: Cancellation,
    pub(super) size: MessageSize,
}

impl StartingRequest {
    /// Enters the request into the ledger, so that it can be cancelled.
    pub(super) fn enter(self, state: &ConnectionState) -> LedgerEntry {
        let key = state.enter(&self.id, self.cancellable, &self.cancellation, self.size);
        LedgerEntry {
            id: self.id,
            key,
            cancellation: self.cancellation,
        }
    }
}

/// A request in the ledger.
#[derive(Debug)]
pub(super) struct LedgerEntry {
    id: RequestId,
    key: ExchangeKey,
    cancellation: Cancellation,
}

/// A running handler with its ledger entry.
pub(crate) struct RunningRequest {
    request: LedgerEntry,
    work: HandlerFuture,
}

impl RunningRequest {
    pub(super) fn new(request: LedgerEntry, work: HandlerFuture) -> Self {
        Self { request, work }
    }

    /// Runs the handler and returns the response. Returns `None` if the request was cancelled.
    pub(crate) async fn respond(mut self, response_sink: Arc<ResponseSink>) -> Option<Vec<u8>> {
        let response = self.run().await;
        let may_send = response_sink.finish(self.request.key);
        response.filter(|_| may_send)
    }

    /// Runs the handler and queues the response.
    ///
    /// The request counts as running until the queue has capacity for the response. A client that reads slowly is
    /// therefore not served faster than it reads.
    pub(super) async fn respond_to(mut self, response_sink: Arc<ResponseSink>) {
        let response = self.run().await;
        if response.is_some() {
            response_sink.out.wait_for_capacity().await;
        }
        let may_send = response_sink.finish(self.request.key);
        if let Some(bytes) = response.filter(|_| may_send) {
            response_sink.out.push(OutgoingKind::Response, bytes);
        }
    }

    async fn run(&mut self) -> Option<Vec<u8>> {
        let Self { request, work } = self;
        let outcome = request.cancellation.unless_cancelled(work).await;
        outcome.map(|outcome| encode_outcome(&request.id, outcome))
    }
}

/// Receives the responses of a connection and records their completion.
pub(crate) struct ResponseSink {
    pub(super) out: Arc<OutgoingQueue>,
    pub(super) state: Arc<ConnectionState>,
    pub(super) finished: CompletionCounter,
}

impl ResponseSink {
    /// Removes the request from the running requests. Returns `true` if the response may be sent.
    fn finish(&self, key: ExchangeKey) -> bool {
        let may_send = self.state.finish(key);
        self.finished.note();
        may_send
    }
}

/// Counts the completed requests of a connection. A request that waits for a permit observes the count.
#[derive(Debug, Default)]
pub(super) struct CompletionCounter {
    count: AtomicU64,
    changed: Notify,
}

impl CompletionCounter {
    pub(super) fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    /// Waits until the count is above this value. Only one task may wait at a time.
    pub(super) async fn wait_above(&self, count: u64) {
        while self.count() <= count {
            // `Notify` stores a notification that arrives before the wait.
            self.changed.notified().await;
        }
    }

    fn note(&self) {
        self.count.fetch_add(1, Ordering::AcqRel);
        self.changed.notify_one();
    }
}
