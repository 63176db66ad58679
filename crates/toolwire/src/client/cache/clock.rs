//! The time by which answers grow old.

use std::time::Duration;

use tokio::time::Instant;

use crate::engine::since_epoch;

/// Tells the time since 1970-01-01 UTC, and never runs backwards.
///
/// Answers may lie in a store that several machines share, so their end is a moment of the calendar. A calendar clock may
/// be set back, and a monotonic one stands still while the machine sleeps; whichever is ahead counts, because an answer
/// that is used too long does more harm than one that is fetched too early.
#[derive(Debug)]
pub(super) struct Clock {
    started: Instant,
    since_epoch: Duration,
}

impl Clock {
    pub(super) fn start() -> Self {
        Self {
            started: Instant::now(),
            since_epoch: since_epoch(),
        }
    }

    pub(super) fn now(&self) -> Duration {
        let passed = self.since_epoch.saturating_add(self.started.elapsed());
        passed.max(since_epoch())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn time_that_passes_is_seen_even_if_the_calendar_stands_still() {
        let clock = Clock::start();
        let before = clock.now();
        tokio::time::advance(Duration::from_secs(3600)).await;
        assert!(clock.now() >= clock.since_epoch + Duration::from_secs(3600));
        assert!(clock.now() > before);
    }

    #[test]
    fn a_calendar_that_was_set_forward_counts() {
        let clock = Clock {
            started: Instant::now(),
            since_epoch: Duration::ZERO,
        };
        assert!(clock.now() >= since_epoch() - Duration::from_secs(3600));
    }
}
