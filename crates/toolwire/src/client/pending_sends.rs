//! Messages that are sent from their own tasks, because the code that causes them cannot wait: the cancellations of
//! dropped calls. Closing a connection waits for them.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::watch;

/// The messages of one connection that are being sent. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct PendingSends(Arc<watch::Sender<usize>>);

impl PendingSends {
    /// Sends from its own task. Does nothing outside of a runtime.
    pub(crate) fn spawn(&self, sending: impl Future<Output = ()> + Send + 'static) {
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        self.0.send_modify(|count| *count += 1);
        let guard = SendGuard(self.clone());
        runtime.spawn(async move {
            sending.await;
            drop(guard);
        });
    }

    /// Waits until all messages are sent, for at most this time.
    pub(crate) async fn sent(&self, grace: Duration) {
        if *self.0.borrow() == 0 {
            return;
        }
        let mut count = self.0.subscribe();
        let sent = count.wait_for(|count| *count == 0);
        if tokio::time::timeout(grace, sent).await.is_err() {
            tracing::debug!(
                "the server did not accept a cancellation before the connection closed"
            );
        }
    }
}

/// Counts a message as sent when its task ends, also if the runtime drops it.
struct SendGuard(PendingSends);

impl Drop for SendGuard {
    fn drop(&mut self) {
        self.0.0.send_modify(|count| *count -= 1);
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;
    use tokio::time::Instant;

    use super::*;

    const GRACE: Duration = Duration::from_secs(2);

    #[tokio::test(start_paused = true)]
    async fn waits_for_messages_that_are_being_sent() {
        let sends = PendingSends::default();
        let start = Instant::now();
        sends.sent(GRACE).await;
        let (accept, accepted) = oneshot::channel::<()>();
        sends.spawn(async { drop(accepted.await) });
        let waiting = sends.clone();
        let waiting = tokio::spawn(async move { waiting.sent(GRACE).await });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        accept.send(()).unwrap();
        waiting.await.unwrap();
        assert_eq!(start.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn waits_no_longer_than_the_grace_period() {
        let sends = PendingSends::default();
        sends.spawn(std::future::pending());
        let start = Instant::now();
        sends.sent(GRACE).await;
        assert_eq!(start.elapsed(), GRACE);
    }
}
