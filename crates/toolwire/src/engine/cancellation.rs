//! The flag that says a request was cancelled, and the wait for it.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use tokio::sync::Notify;

/// Shared by everything that works on one request. Cloning shares the flag.
///
/// Asynchronous handlers rarely need it: their future is dropped when the request is cancelled. Handlers that run on the
/// blocking pool poll [`is_cancelled`](Self::is_cancelled).
#[derive(Debug, Clone, Default)]
pub struct Cancellation {
    shared: Arc<FlagState>,
}

#[derive(Debug, Default)]
struct FlagState {
    flag: AtomicBool,
    raised: Notify,
}

impl Cancellation {
    /// A flag that is not raised.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Raises the flag and wakes everybody who waits for it. Raising twice is harmless.
    pub fn cancel(&self) {
        self.shared.flag.store(true, Ordering::Release);
        self.shared.raised.notify_waiters();
    }

    /// Whether the flag is raised; one atomic load.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.shared.flag.load(Ordering::Acquire)
    }

    /// Whether it can serve another request: nobody else has it, and it was never raised.
    pub(crate) fn is_reusable(&self) -> bool {
        Arc::strong_count(&self.shared) == 1 && !self.is_cancelled()
    }

    /// Waits until the flag is raised.
    ///
    /// # Cancellation
    /// Dropping the future is harmless.
    pub async fn cancelled(&self) {
        loop {
            let raised = self.shared.raised.notified();
            tokio::pin!(raised);
            // Registered before the flag is read, so that a cancel in between is not missed.
            raised.as_mut().enable();
            if self.is_cancelled() {
                return;
            }
            raised.await;
        }
    }

    /// The outcome of a future, or `None` when the flag is raised before.
    ///
    /// A future that is done at its first turn never waits for the flag, which only has to be read then.
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
    async fn waiting_ends_when_cancelled_before_or_after() {
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
