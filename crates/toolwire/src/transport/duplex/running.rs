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
}

/// What became of a turn: the encoded answer, or nothing when the request was cancelled.
pub(super) type Turn = Poll<Option<Vec<u8>>>;

impl RunningRequest {
    /// Runs the handler. `None` when it was cancelled: then nothing is sent.
    pub(crate) async fn answer(mut self, delivery: Arc<Delivery>) -> Option<Vec<u8>> {
        let answer = self.run().await;
        let may_send = delivery.finish(self.key);
        answer.filter(|_| may_send)
    }

    /// Runs the handler and queues the answer.
    pub(super) async fn answer_to(self, delivery: Arc<Delivery>) {
        self.go_on(Poll::Pending, &delivery).await;
    }

    /// Goes on after a turn, until the answer is queued. The request keeps its place among those that run until there is
    /// room for the answer, so that a client that reads slowly is not served faster than it reads.
    pub(super) async fn go_on(mut self, turn: Turn, delivery: &Delivery) {
        let answer = match turn {
            Poll::Ready(answer) => answer,
            Poll::Pending => self.run().await,
        };
        if answer.is_some() {
            delivery.out.has_room().await;
        }
        let may_send = delivery.finish(self.key);
        if let Some(bytes) = answer.filter(|_| may_send) {
            delivery.out.push(OutgoingKind::Response, bytes);
        }
    }

    /// Lets the handler work until it has to wait for something.
    pub(super) fn poll_turn(&mut self, cx: &mut Context<'_>) -> Turn {
        let outcome = self.work.as_mut().poll(cx);
        outcome.map(|outcome| Some(encode_outcome(&self.id, outcome)))
    }

    async fn run(&mut self) -> Option<Vec<u8>> {
        let outcome = self.cancellation.unless_cancelled(&mut self.work).await;
        outcome.map(|outcome| encode_outcome(&self.id, outcome))
    }
}

/// Where the answers of a connection go, and what they leave behind.
pub(crate) struct Delivery {
    pub(super) out: Arc<OutStream>,
    pub(super) state: Arc<ConnectionState>,
    pub(super) finished: Finished,
}

impl Delivery {
    /// Gives up the place among those that run; says whether the answer may be sent.
    fn finish(&self, key: ExchangeKey) -> bool {
        let may_send = self.state.finish(key);
        self.finished.note();
        may_send
    }
}

/// How many requests of a connection have finished while it was read on, for whoever waits for a free place.
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
