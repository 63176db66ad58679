//! The queue of messages that a stream has not sent yet.
//!
//! Handlers push messages from any task, and the response polls the queue. Nothing is allocated before the first
//! message, because most requests send none.
//!
//! Each queue has its own limit, and all queues of an endpoint share a byte budget. While the budget is exhausted, log
//! messages and progress notifications are dropped.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use toolwire_proto::outbox::{Outbox, OutboxLimits, Outgoing, OutgoingKind};
use toolwire_proto::sse;

use crate::sync::lock;
use crate::transport::drop_reporter::DropReporter;
use crate::transport::http::byte_budget::ByteBudget;
use crate::transport::outgoing_queue::MessageSink;

/// The memory of a queued message without its bytes.
const MESSAGE_OVERHEAD: usize = 128;

/// A queue of messages for one stream.
#[derive(Debug)]
pub(crate) struct EventQueue {
    shared: Arc<SharedByQueues>,
    state: Mutex<EventQueueState>,
}

#[derive(Debug, Default)]
struct EventQueueState {
    outbox: Option<Box<Outbox>>,
    /// The bytes of the outbox that are counted in the budget.
    counted: usize,
    reader: Option<Waker>,
    /// Whether the reader is woken without a message.
    is_woken: bool,
}

/// What all queues of an endpoint share.
#[derive(Debug)]
pub(crate) struct SharedByQueues {
    limits: OutboxLimits,
    budget: Arc<ByteBudget>,
    drops: DropReporter,
}

impl SharedByQueues {
    /// Shares the limits of each queue, and the byte budget of all. Dropped notifications are reported to `drops`.
    pub(crate) fn new(
        limits: OutboxLimits,
        budget: Arc<ByteBudget>,
        drops: DropReporter,
    ) -> Arc<Self> {
        Arc::new(Self {
            limits,
            budget,
            drops,
        })
    }
}

impl EventQueue {
    pub(crate) fn new(shared: &Arc<SharedByQueues>) -> Self {
        Self {
            shared: Arc::clone(shared),
            state: Mutex::default(),
        }
    }

    /// Returns what reports dropped notifications.
    #[cfg(feature = "relay")]
    pub(crate) fn drops(&self) -> &DropReporter {
        &self.shared.drops
    }

    /// Wakes the reader without a message.
    pub(crate) fn wake(&self) {
        let mut state = self.lock();
        state.is_woken = true;
        let reader = state.reader.take();
        drop(state);
        wake(reader);
    }

    /// Returns `Ready` if a message is queued or [`wake`](Self::wake) was called.
    pub(crate) fn poll_ready(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        if state.has_message() || std::mem::take(&mut state.is_woken) {
            return Poll::Ready(());
        }
        match &mut state.reader {
            Some(reader) => reader.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        Poll::Pending
    }

    /// Returns `true` if a message is queued.
    pub(crate) fn has_message(&self) -> bool {
        self.lock().has_message()
    }

    /// Takes all messages and appends them as events without ids.
    pub(crate) fn take_events(&self, out: &mut Vec<u8>) {
        if let Some(mut outbox) = self.take_outbox() {
            outbox.pop_all_into(out, write_event);
        }
    }

    /// Takes all messages.
    pub(crate) fn take(&self) -> Vec<Outgoing> {
        match self.take_outbox() {
            Some(mut outbox) => std::iter::from_fn(|| outbox.pop()).collect(),
            None => Vec::new(),
        }
    }

    /// Takes the outbox with its messages. Most streams have no messages most of the time, and then need no outbox.
    fn take_outbox(&self) -> Option<Box<Outbox>> {
        let mut state = self.lock();
        self.shared
            .budget
            .release(std::mem::take(&mut state.counted));
        state.outbox.take()
    }

    fn lock(&self) -> MutexGuard<'_, EventQueueState> {
        lock(&self.state)
    }
}

impl EventQueueState {
    fn has_message(&self) -> bool {
        self.outbox
            .as_ref()
            .is_some_and(|outbox| !outbox.is_empty())
    }
}

impl Drop for EventQueue {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        self.shared.budget.release(state.counted);
    }
}

impl MessageSink for EventQueue {
    fn push(&self, kind: OutgoingKind, bytes: Vec<u8>) {
        let mut state = self.lock();
        let is_optional = matches!(kind, OutgoingKind::Log | OutgoingKind::Progress(_));
        let added = bytes.len() + MESSAGE_OVERHEAD;
        if !self.shared.budget.try_add(state.counted, added) {
            if is_optional {
                drop(state);
                return self.shared.drops.report(1);
            }
            self.shared.budget.add(added);
        }
        let outbox = state
            .outbox
            .get_or_insert_with(|| Box::new(Outbox::new(self.shared.limits)));
        let lost = outbox.push(Outgoing::new(kind, bytes));
        // The outbox may have merged the message or dropped others.
        let queued = outbox.bytes() + outbox.len() * MESSAGE_OVERHEAD;
        let counted = state.counted + added;
        self.shared.budget.release(counted.saturating_sub(queued));
        state.counted = counted.min(queued);
        let reader = state.reader.take();
        drop(state);
        wake(reader);
        self.shared.drops.report(lost);
    }

    #[cfg(any(
        feature = "tasks",
        all(feature = "http-server", any(feature = "events", feature = "relay"))
    ))]
    fn is_full(&self) -> bool {
        let state = self.lock();
        state.outbox.as_ref().is_some_and(|outbox| outbox.is_full())
    }
}

fn wake(reader: Option<Waker>) {
    if let Some(reader) = reader {
        reader.wake();
    }
}

/// Appends a message as an event without an id.
pub(crate) fn write_event(out: &mut Vec<u8>, message: &[u8]) {
    sse::encode_message(out, None, message).expect("an event without an id is always valid");
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::engine::BoxFuture;
    use crate::server::Server;
    use crate::server::middleware::{Middleware, Next, NotificationDrop, Outcome, Request};

    const LIMITS: OutboxLimits = OutboxLimits {
        messages: 256,
        bytes: 1000,
    };

    fn queue_of(budget: &Arc<ByteBudget>, drops: DropReporter) -> EventQueue {
        EventQueue::new(&SharedByQueues::new(LIMITS, Arc::clone(budget), drops))
    }

    fn message(bytes: usize) -> Vec<u8> {
        vec![b'x'; bytes]
    }

    #[test]
    fn queued_bytes_are_counted_until_they_are_taken() {
        let budget = ByteBudget::new(100_000, 1000);
        let queue = queue_of(&budget, DropReporter::default());
        queue.push(OutgoingKind::Other, message(100));
        queue.push(OutgoingKind::Log, message(200));
        assert_eq!(budget.used(), 300 + 2 * MESSAGE_OVERHEAD);
        assert_eq!(queue.take().len(), 2);
        assert_eq!(budget.used(), 0);
        queue.push(OutgoingKind::Other, message(100));
        drop(queue);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn merged_messages_are_counted_once() {
        let budget = ByteBudget::new(100_000, 1000);
        let queue = queue_of(&budget, DropReporter::default());
        let change = OutgoingKind::ResourceUpdated {
            uri: "a:b".to_owned(),
            subscription: None,
        };
        for _ in 0..10 {
            queue.push(change.clone(), message(50));
        }
        assert_eq!(budget.used(), 50 + MESSAGE_OVERHEAD);
    }

    /// Counts dropped notifications.
    struct CountDrops(Arc<AtomicUsize>);

    impl Middleware for CountDrops {
        fn handle<'a>(
            &'a self,
            request: &'a mut Request,
            next: Next<'a>,
        ) -> BoxFuture<'a, Outcome> {
            Box::pin(next.run(request))
        }

        fn notification_dropped(&self, dropped: NotificationDrop) {
            assert_eq!(dropped, NotificationDrop::ForClient);
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn notifications_dropped_by_the_queue_and_by_the_budget_are_reported() {
        let drops = Arc::new(AtomicUsize::new(0));
        let server = Server::new("test", "1").with_middleware(CountDrops(Arc::clone(&drops)));
        let queue = |budget| queue_of(&budget, DropReporter::new(&server));
        let limited = queue(ByteBudget::new(100_000, 1000));
        limited.push(OutgoingKind::Log, message(600));
        assert_eq!(drops.load(Ordering::Relaxed), 0);
        limited.push(OutgoingKind::Log, message(600));
        assert_eq!(drops.load(Ordering::Relaxed), 1);
        let without_budget = queue(ByteBudget::new(0, 0));
        without_budget.push(OutgoingKind::Log, message(10));
        assert_eq!(drops.load(Ordering::Relaxed), 2);
        without_budget.push(OutgoingKind::Other, message(10));
        assert_eq!(drops.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn full_budget_drops_log_messages_and_nothing_else() {
        let budget = ByteBudget::new(0, 0);
        let queue = queue_of(&budget, DropReporter::default());
        queue.push(OutgoingKind::Log, message(10));
        assert!(!queue.has_message());
        queue.push(OutgoingKind::Other, message(10));
        assert_eq!(budget.used(), 10 + MESSAGE_OVERHEAD);
        assert_eq!(queue.take().len(), 1);
        assert_eq!(budget.used(), 0);
    }
}
