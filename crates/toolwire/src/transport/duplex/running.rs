//! A request whose handler works, from its start to its answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use tokio::sync::Notify;
use toolwire_proto::outbox::OutgoingKind;
use toolwire_proto::requests::ExchangeKey;
use toolwire_types::RequestId;

use crate::engine::exchange::encode_outcome;
use crate::engine::{BoxFuture, Cancellation, ConnectionState, Outcome};
use crate::transport::out_stream::OutStream;
use crate::transport::outlet::Outlet as _;

/// A handler at work.
pub(crate) struct RunningRequest {
    pub(super) id: RequestId,
    pub(super) work: BoxFuture<'static, Outcome>,
    pub(super) key: ExchangeKey,
    pub(super) cancellation: Cancellation,
    pub(super) state: Arc<ConnectionState>,
    pub(super) finished: Arc<Finished>,
}

impl RunningRequest {
    /// Runs the handler. `None` when it was cancelled: then nothing is sent.
    pub(crate) async fn answer(mut self) -> Option<Vec<u8>> {
        let answer = self.run().await;
        let may_send = self.finish();
        answer.filter(|_| may_send)
    }

    /// Runs the handler and queues the answer.
    pub(super) async fn answer_to(mut self, out: Arc<OutStream>) {
        let answer = self.run().await;
        self.deliver(answer, &out).await;
    }

    /// Lets the handler work until it has to wait for something. Ready when it is done; `None` when it was cancelled.
    pub(super) fn poll_turn(&mut self, cx: &mut Context<'_>) -> Poll<Option<Vec<u8>>> {
        if self.cancellation.is_cancelled() {
            return Poll::Ready(None);
        }
        let outcome = self.work.as_mut().poll(cx);
        outcome.map(|outcome| Some(encode_outcome(&self.id, outcome)))
    }

    /// Queues the answer. The request keeps its place among those that run until there is room for it, so that a client
    /// that reads slowly is not served faster than it reads.
    pub(super) async fn deliver(self, answer: Option<Vec<u8>>, out: &OutStream) {
        if answer.is_some() {
            out.has_room().await;
        }
        let may_send = self.finish();
        if let Some(bytes) = answer.filter(|_| may_send) {
            out.push(OutgoingKind::Response, bytes);
        }
    }

    /// Queues the answer, for which there is room, without waking the writer.
    pub(super) fn deliver_unannounced(self, answer: Option<Vec<u8>>, out: &OutStream) {
        let may_send = self.finish();
        if let Some(bytes) = answer.filter(|_| may_send) {
            out.push_unannounced(OutgoingKind::Response, bytes);
        }
    }

    /// Gives up the place among those that run; says whether the answer may be sent.
    fn finish(&self) -> bool {
        let may_send = self.state.finish(self.key);
        self.finished.note();
        may_send
    }

    async fn run(&mut self) -> Option<Vec<u8>> {
        let outcome = tokio::select! {
            biased;
            () = self.cancellation.cancelled() => None,
            outcome = &mut self.work => Some(outcome),
        };
        outcome.map(|outcome| encode_outcome(&self.id, outcome))
    }
}

/// How many requests of a connection have finished, for whoever waits for a free place.
#[derive(Debug, Default)]
pub(super) struct Finished {
    count: AtomicU64,
    changed: Notify,
}

impl Finished {
    pub(super) fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    /// Waits until more than this many have finished. One waits at a time.
    pub(super) async fn more_than(&self, count: u64) {
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
