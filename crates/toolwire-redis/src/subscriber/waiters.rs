//! The readers of this node that wait for entries of streams.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;

use crate::sync::lock;

/// All waiting readers, by the stream that they wait for.
#[derive(Debug, Clone, Default)]
pub(super) struct Waiters {
    streams: Arc<Mutex<HashMap<String, WaitedStream>>>,
}

/// A stream that readers wait for.
#[derive(Debug, Default)]
struct WaitedStream {
    readers: usize,
    changed: Arc<Notify>,
}

/// A reader that waits. Notifications from its creation on count.
pub(crate) struct Waiter {
    waiters: Waiters,
    stream: String,
    notified: Option<OwnedNotified>,
}

impl Waiters {
    pub(super) fn add(&self, stream: &str) -> Waiter {
        let mut streams = self.lock();
        let waited = streams.entry(stream.to_owned()).or_default();
        waited.readers += 1;
        Waiter {
            waiters: self.clone(),
            stream: stream.to_owned(),
            notified: Some(Arc::clone(&waited.changed).notified_owned()),
        }
    }

    /// Wakes the readers of a stream.
    pub(super) fn wake(&self, stream: &str) {
        if let Some(waited) = self.lock().get(stream) {
            waited.changed.notify_waiters();
        }
    }

    pub(super) fn wake_all(&self) {
        for waited in self.lock().values() {
            waited.changed.notify_waiters();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, WaitedStream>> {
        lock(&self.streams)
    }
}

impl Waiter {
    /// Waits for a notification.
    pub(crate) async fn notified(mut self) {
        if let Some(notified) = self.notified.take() {
            notified.await;
        }
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let mut streams = self.waiters.lock();
        if let Some(waited) = streams.get_mut(&self.stream) {
            waited.readers -= 1;
            if waited.readers == 0 {
                streams.remove(&self.stream);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn notification_before_the_wait_counts() {
        let waiters = Waiters::default();
        let (one, other) = (waiters.add("a"), waiters.add("b"));
        waiters.wake("a");
        one.notified().await;
        let silent = timeout(Duration::from_secs(1), other.notified()).await;
        assert!(silent.is_err(), "another stream changed");
        assert!(waiters.lock().is_empty(), "no reader waits");
    }

    #[tokio::test(start_paused = true)]
    async fn all_readers_of_a_stream_are_woken() {
        let waiters = Waiters::default();
        let readers = [waiters.add("a"), waiters.add("a"), waiters.add("b")];
        waiters.wake_all();
        for reader in readers {
            reader.notified().await;
        }
        assert!(waiters.lock().is_empty());
    }
}
