//! How much an endpoint does at once, and the bound on it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

use crate::transport::http::byte_budget::ByteBudget;

/// Counts what runs and how large it is; neither passes its limit.
#[derive(Debug)]
pub(crate) struct Permits {
    used: AtomicUsize,
    limit: usize,
    bytes: Arc<ByteBudget>,
    emptied: Notify,
    /// How many wait for that, so that nobody is told in vain.
    waiting: AtomicUsize,
}

impl Permits {
    pub(crate) fn new(limit: usize, bytes: Arc<ByteBudget>) -> Arc<Self> {
        Arc::new(Self {
            used: AtomicUsize::new(0),
            limit,
            bytes,
            emptied: Notify::new(),
            waiting: AtomicUsize::new(0),
        })
    }

    /// Takes a slot for a holder of `bytes`, if one is free and the bytes fit.
    pub(crate) fn try_acquire(self: &Arc<Self>, bytes: usize) -> Option<Permit> {
        let mut slot = Permit {
            slots: Arc::clone(self),
            bytes: 0,
        };
        // Counted first, and given back by the drop of `slot` when that was one too many.
        let used = self.used.fetch_add(1, Ordering::SeqCst);
        if used < self.limit && self.bytes.try_add(0, bytes) {
            slot.bytes = bytes;
            return Some(slot);
        }
        None
    }

    /// The bytes that may be held.
    pub(crate) fn bytes(&self) -> &Arc<ByteBudget> {
        &self.bytes
    }

    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Acquire)
    }

    /// Waits until every slot is free.
    pub(crate) async fn wait_idle(&self) {
        let _waiting = IdleWaiter::among(&self.waiting);
        loop {
            let emptied = self.emptied.notified();
            tokio::pin!(emptied);
            // Registered before the count is read, so that the last one to leave is not missed.
            emptied.as_mut().enable();
            if self.used.load(Ordering::SeqCst) == 0 {
                return;
            }
            emptied.await;
        }
    }
}

/// A place among those who run; free again when it is dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    slots: Arc<Permits>,
    bytes: usize,
}

impl Drop for Permit {
    fn drop(&mut self) {
        let slots = &self.slots;
        slots.bytes.release(self.bytes);
        let was_last = slots.used.fetch_sub(1, Ordering::SeqCst) == 1;
        if was_last && slots.waiting.load(Ordering::SeqCst) > 0 {
            slots.emptied.notify_waiters();
        }
    }
}

/// One who waits, counted as long as it does.
struct IdleWaiter<'w>(&'w AtomicUsize);

impl<'w> IdleWaiter<'w> {
    fn among(waiting: &'w AtomicUsize) -> Self {
        waiting.fetch_add(1, Ordering::SeqCst);
        Self(waiting)
    }
}

impl Drop for IdleWaiter<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The place of a running request.
pub(crate) type RequestPermit = Permit;

/// The place of an open stream.
pub(crate) type StreamPermit = Permit;

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(limit: usize) -> Arc<Permits> {
        Permits::new(limit, ByteBudget::new(1000, 10))
    }

    #[test]
    fn a_slot_holds_its_bytes() {
        let slots = slots(10);
        let first = slots.try_acquire(100).unwrap();
        assert!(slots.try_acquire(200).is_none(), "more than its share");
        assert_eq!((slots.used(), slots.bytes().used()), (1, 100));
        drop(first);
        assert_eq!((slots.used(), slots.bytes().used()), (0, 0));
    }

    #[test]
    fn there_are_as_many_slots_as_the_limit_says() {
        let slots = slots(2);
        let first = slots.try_acquire(0).unwrap();
        let second = slots.try_acquire(0).unwrap();
        assert!(slots.try_acquire(0).is_none());
        assert!(slots.try_acquire(0).is_none());
        assert_eq!(slots.used(), 2);
        drop(first);
        let third = slots.try_acquire(0);
        assert!(third.is_some());
        drop((second, third));
        assert_eq!(slots.used(), 0);
    }

    #[tokio::test]
    async fn whoever_waits_is_woken_by_the_last_to_leave() {
        let slots = slots(2);
        slots.wait_idle().await;
        let (first, second) = (slots.try_acquire(0), slots.try_acquire(0));
        let waiting = tokio::spawn({
            let slots = Arc::clone(&slots);
            async move { slots.wait_idle().await }
        });
        tokio::task::yield_now().await;
        drop(first);
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(second);
        waiting.await.unwrap();
        assert_eq!(slots.waiting.load(Ordering::SeqCst), 0);
    }
}
