//! How long a message takes from this node to this node.

use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use tokio::time::Instant;

use crate::sync::lock;

/// How long the heartbeats of this node take until it hears them. Both times are those of one clock, and the other nodes have
/// the same way through the engine.
#[derive(Debug, Default)]
pub(super) struct HeartbeatDelay(Mutex<Heartbeats>);

#[derive(Debug, Default)]
struct Heartbeats {
    /// When the oldest heartbeat was published that was not heard yet.
    pending: Option<Instant>,
    last: Duration,
}

impl HeartbeatDelay {
    /// Notes that a heartbeat is published.
    pub(super) fn begin(&self) {
        self.lock().pending.get_or_insert_with(Instant::now);
    }

    /// Notes that a heartbeat was heard.
    pub(super) fn end(&self) {
        let mut heartbeats = self.lock();
        if let Some(published) = heartbeats.pending.take() {
            heartbeats.last = published.elapsed();
        }
    }

    /// Notes that heartbeats were lost, which says nothing about their delay.
    pub(super) fn lose(&self) {
        self.lock().pending = None;
    }

    /// Returns the delay of the last heartbeat, or of the next one if that is already longer.
    pub(super) fn delay(&self) -> Duration {
        let heartbeats = self.lock();
        let pending = heartbeats.pending.map(|published| published.elapsed());
        pending.unwrap_or_default().max(heartbeats.last)
    }

    fn lock(&self) -> MutexGuard<'_, Heartbeats> {
        lock(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn delay_is_that_of_the_last_heartbeat_and_grows_while_one_is_missing() {
        let second = Duration::from_secs(1);
        let delay = HeartbeatDelay::default();
        assert_eq!(delay.delay(), Duration::ZERO);
        delay.begin();
        advance(second).await;
        assert_eq!(delay.delay(), second);
        // The second one is published before the first is heard.
        delay.begin();
        advance(second).await;
        delay.end();
        delay.end();
        advance(second).await;
        assert_eq!(delay.delay(), 2 * second);
        delay.begin();
        advance(3 * second).await;
        assert_eq!(delay.delay(), 3 * second);
        delay.lose();
        delay.end();
        assert_eq!(delay.delay(), 2 * second);
    }
}
