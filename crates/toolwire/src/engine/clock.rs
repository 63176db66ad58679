//! Wall-clock time, for data that outlives a process (states, tokens, cached responses), and deadlines that cannot
//! overflow.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

/// A duration longer than any process runs: 30 years.
const FAR_FUTURE: Duration = Duration::from_secs(60 * 60 * 24 * 365 * 30);

/// Returns the time since 1970-01-01 UTC, or zero if the system clock is set before that.
pub(crate) fn since_epoch() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}

/// Returns the deadline `duration` after `moment`. `Duration::MAX` means never: the sum is capped at a date in the far
/// future instead of a panic.
pub(crate) fn deadline_after(moment: Instant, duration: Duration) -> Instant {
    moment + duration.min(FAR_FUTURE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unlimited_duration_is_capped() {
        let now = Instant::now();
        let second = Duration::from_secs(1);
        assert_eq!(deadline_after(now, Duration::ZERO), now);
        assert_eq!(deadline_after(now, second), now + second);
        for never in [FAR_FUTURE, FAR_FUTURE + second, Duration::MAX] {
            assert_eq!(deadline_after(now, never), now + FAR_FUTURE);
        }
    }
}
