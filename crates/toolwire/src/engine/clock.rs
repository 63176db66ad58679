//! The calendar, for what outlives a process (states, tokens, kept answers), and how far the clock of timers goes.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

/// What no process lives to see.
const FAR_FUTURE: Duration = Duration::from_secs(60 * 60 * 24 * 365 * 30);

/// Time since 1970-01-01 UTC; none on a machine whose clock is set before that.
pub(crate) fn since_epoch() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}

/// The moment so long after another. Whoever says `Duration::MAX` means never, which no clock can show: this is a moment
/// that will not be seen either, and not a panic.
pub(crate) fn deadline_after(moment: Instant, duration: Duration) -> Instant {
    moment + duration.min(FAR_FUTURE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_is_a_moment_too() {
        let now = Instant::now();
        let second = Duration::from_secs(1);
        assert_eq!(deadline_after(now, Duration::ZERO), now);
        assert_eq!(deadline_after(now, second), now + second);
        for never in [FAR_FUTURE, FAR_FUTURE + second, Duration::MAX] {
            assert_eq!(deadline_after(now, never), now + FAR_FUTURE);
        }
    }
}
