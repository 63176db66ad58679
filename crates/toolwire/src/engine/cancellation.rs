//! The cancellation flag of a request.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::Poll;

use tokio::sync::Notify;

/// The cancellation flag of one request. Clones share the flag.
///
/// Asynchronous handlers rarely need it, because their future is dropped when the request is cancelled. Handlers on the
/// blocking pool poll [`is_cancelled`](Self::is_cancelled).
#[derive(Debug, Clone, Default)]
pub struct Cancellation {
    shared: Arc<FlagState>,
}

#[derive(Debug, Default)]
struct FlagState {
    flag: AtomicBool,
    cancelled: Notify,
    /// The reason that the client gave.
    reason: OnceLock<Box<str>>,
}

impl Cancellation {
    /// Creates a flag that is not set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the flag and wakes all waiting tasks. Further calls have no effect.
    pub fn cancel(&self) {
        self.shared.flag.store(true, Ordering::Release);
        self.shared.cancelled.notify_waiters();
    }

    /// Sets the flag, with the reason that the client gave. Only the first reason is stored.
    pub(crate) fn cancel_because(&self, reason: &str) {
        self.shared.reason.get_or_init(|| reason.into());
        self.cancel();
    }

    /// Returns the reason that the client gave.
    #[cfg_attr(
        not(feature = "client"),
        expect(dead_code, reason = "only a relay forwards the reason")
    )]
    pub(crate) fn reason(&self) -> Option<&str> {
        self.shared.reason.get().map(|reason| &**reason)
    }

    /// Returns `true` if the flag is set. Costs one atomic load.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.shared.flag.load(Ordering::Acquire)
    }

    /// Returns `true` if the flag can serve another request: it has no other clone and was never set.
    pub(crate) fn is_reusable(&self) -> bool {
        Arc::strong_count(&self.shared) == 1 && !self.is_cancelled()
    }

    /// Waits until the flag is set.
    ///
    /// # Cancellation
    /// Dropping the future is harmless.
    pub async fn cancelled(&self) {
        loop {
            let notified = self.shared.cancelled.notified();
            tokio::pin!(notified);
            // The task registers before it reads the flag, so that a cancellation in between is not missed.
            notified.as_mut().enable();
            if self.is_cancelled() {
                return;
            }
            notified.await;
        }
    }

    /// Returns the output of `future`, or `None` if the flag is set first.
    ///
    /// A future that is ready at its first poll never registers for the flag. The flag is only read.
    pub(crate) async fn unless_cancelled<F: Future>(&self, future: F) -> Option<F::Output> {
        let mut future = pin!(future);
        let mut cancelled = pin!(self.cancelled());
        poll_fn(|cx| {
            if self.is_cancelled() {
                return Poll::Ready(None);
            }
            if let Poll::Ready(outcome) = future.as_mut().poll(cx) {
                return Poll::Ready(Some(outcome));
            }
            cancelled.as_mut().poll(cx).map(|()| None)
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn waiting_ends_if_cancelled_before_or_after() {
        let flag = Cancellation::new();
        let waiter = tokio::spawn({
            let flag = flag.clone();
            async move { flag.cancelled().await }
        });
        flag.cancel();
        waiter.await.unwrap();
        flag.cancelled().await;
        assert!(flag.is_cancelled());
    }
}
