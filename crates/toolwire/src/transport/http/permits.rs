//! Permits that bound the number and the size of running requests and open streams.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

use crate::transport::http::byte_budget::ByteBudget;

/// The permits of an endpoint for its requests or its streams. Bounds their number and their bytes.
#[derive(Debug)]
pub(crate) struct Permits {
    used: AtomicUsize,
    limit: usize,
    bytes: Arc<ByteBudget>,
    idle: Notify,
    /// The number of tasks that wait for `idle`. The last permit notifies only if there are any.
    waiting: AtomicUsize,
}

impl Permits {
    pub(crate) fn new(limit: usize, bytes: Arc<ByteBudget>) -> Arc<Self> {
        Arc::new(Self {
            used: AtomicUsize::new(0),
            limit,
            bytes,
            idle: Notify::new(),
            waiting: AtomicUsize::new(0),
        })
    }

    /// Acquires a permit for `bytes` bytes. Returns `None` if no permit is free or the bytes do not fit.
    pub(crate) fn try_acquire(self: &Arc<Self>, bytes: usize) -> Option<Permit> {
        let mut permit = Permit {
            permits: Arc::clone(self),
            bytes: 0,
        };
        // Counted first. If the limit is exceeded, dropping `permit` subtracts it again.
        let used = self.used.fetch_add(1, Ordering::SeqCst);
        if used < self.limit && self.bytes.try_add(0, bytes) {
            permit.bytes = bytes;
            return Some(permit);
        }
        None
    }

    /// Returns the byte budget of all permits.
    pub(crate) fn bytes(&self) -> &Arc<ByteBudget> {
        &self.bytes
    }

    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Acquire)
    }

    /// Waits until no permit is in use.
    pub(crate) async fn wait_idle(&self) {
        let _waiting = IdleWaiter::register(&self.waiting);
        loop {
            let idle = self.idle.notified();
            tokio::pin!(idle);
            // Registered before the count is read, so that the release of the last permit is not missed.
            idle.as_mut().enable();
            if self.used.load(Ordering::SeqCst) == 0 {
                return;
            }
            idle.await;
        }
    }
}

/// The right of one request to run or of one stream to be open. It is released on drop.
#[derive(Debug)]
pub(crate) struct Permit {
    permits: Arc<Permits>,
    bytes: usize,
}

impl Drop for Permit {
    fn drop(&mut self) {
        let permits = &self.permits;
        permits.bytes.release(self.bytes);
        let was_last = permits.used.fetch_sub(1, Ordering::SeqCst) == 1;
        if was_last && permits.waiting.load(Ordering::SeqCst) > 0 {
            permits.idle.notify_waiters();
        }
    }
}

/// A task that waits for `Permits::wait_idle`. It is counted until it is dropped.
struct IdleWaiter<'w>(&'w AtomicUsize);

impl<'w> IdleWaiter<'w> {
    fn register(waiting: &'w AtomicUsize) -> Self {
        waiting.fetch_add(1, Ordering::SeqCst);
        Self(waiting)
    }
}

impl Drop for IdleWaiter<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The permit of a running request.
pub(crate) type RequestPermit = Permit;

/// The permit of an open stream.
pub(crate) type StreamPermit = Permit;

#[cfg(test)]
mod tests {
    use super::*;

    fn permits(limit: usize) -> Arc<Permits> {
        Permits::new(limit, ByteBudget::new(1000, 10))
    }

    #[test]
    fn permit_counts_its_bytes_until_it_is_dropped() {
        let permits = permits(10);
        let first = permits.try_acquire(100).unwrap();
        assert!(permits.try_acquire(200).is_none(), "more than its share");
        assert_eq!((permits.used(), permits.bytes().used()), (1, 100));
        drop(first);
        assert_eq!((permits.used(), permits.bytes().used()), (0, 0));
    }

    #[test]
    fn number_of_permits_equals_the_limit() {
        let permits = permits(2);
        let first = permits.try_acquire(0).unwrap();
        let second = permits.try_acquire(0).unwrap();
        assert!(permits.try_acquire(0).is_none());
        assert!(permits.try_acquire(0).is_none());
        assert_eq!(permits.used(), 2);
        drop(first);
        let third = permits.try_acquire(0);
        assert!(third.is_some());
        drop((second, third));
        assert_eq!(permits.used(), 0);
    }

    #[tokio::test]
    async fn release_of_the_last_permit_wakes_idle_waiters() {
        let permits = permits(2);
        permits.wait_idle().await;
        let (first, second) = (permits.try_acquire(0), permits.try_acquire(0));
        let waiting = tokio::spawn({
            let permits = Arc::clone(&permits);
            async move { permits.wait_idle().await }
        });
        tokio::task::yield_now().await;
        drop(first);
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(second);
        waiting.await.unwrap();
        assert_eq!(permits.waiting.load(Ordering::SeqCst), 0);
    }
}
