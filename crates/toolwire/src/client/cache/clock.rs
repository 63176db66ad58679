//! The clock that decides whether cached results are fresh.

use std::time::Duration;

use tokio::time::Instant;

use crate::engine::since_epoch;

/// A clock that returns the time since 1970-01-01 UTC and never runs backwards.
///
/// Several machines may share a store, so expiry times are calendar times. A calendar clock can be set back, and a
/// monotonic clock stops while the machine sleeps. The later of the two counts, because using an expired result does
/// more harm than fetching a result early.
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
    async fn elapsed_time_counts_if_the_calendar_clock_stands_still() {
        let clock = Clock::start();
        let before = clock.now();
        tokio::time::advance(Duration::from_secs(3600)).await;
        assert!(clock.now() >= clock.since_epoch + Duration::from_secs(3600));
        assert!(clock.now() > before);
    }

    #[test]
    fn calendar_clock_set_forward_counts() {
        let clock = Clock {
            started: Instant::now(),
            since_epoch: Duration::ZERO,
        };
        assert!(clock.now() >= since_epoch() - Duration::from_secs(3600));
    }
}
