//! The times of polls, streams and leases.

use std::time::Duration;

/// The longest time between two messages of a stream that the extension permits.
pub const MAX_HEARTBEAT_INTERVAL: Duration = Duration::from_secs(30);

/// The time after which our servers send a heartbeat if nothing else was sent. It leaves room for slow networks.
pub const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(15);

/// The time without a message after which a client opens a stream again: twice the longest interval.
pub const SILENCE_LIMIT: Duration = Duration::from_secs(60);

/// The shortest time that a client waits between two polls, unless more events are ready.
const MIN_POLL_WAIT: Duration = Duration::from_secs(1);

/// The longest time that a client waits between two polls, whatever the server says.
const MAX_POLL_WAIT: Duration = Duration::from_secs(15 * 60);

/// How long a poll counts as a subscription.
pub const LEASE: Duration = Duration::from_secs(5 * 60);

/// Returns how long a client waits before its next poll.
#[must_use]
pub fn poll_wait(has_more: bool, next_poll_ms: u64) -> Duration {
    if has_more {
        return Duration::ZERO;
    }
    Duration::from_millis(next_poll_ms).clamp(MIN_POLL_WAIT, MAX_POLL_WAIT)
}

/// Returns the time before which events are not replayed, in milliseconds since 1970-01-01. `maxAgeMs` is ignored
/// without a cursor.
#[must_use]
pub fn not_before(cursor: Option<&str>, max_age_ms: Option<u64>, now_ms: u64) -> Option<u64> {
    cursor?;
    max_age_ms.map(|age| now_ms.saturating_sub(age))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn poll_wait_is_between_one_second_and_15_minutes() {
        assert_eq!(poll_wait(true, 5000), Duration::ZERO);
        assert_eq!(poll_wait(false, 0), Duration::from_secs(1));
        assert_eq!(poll_wait(false, 999), Duration::from_secs(1));
        assert_eq!(poll_wait(false, 5000), Duration::from_secs(5));
        assert_eq!(poll_wait(false, u64::MAX), Duration::from_secs(900));
    }

    #[test]
    fn age_counts_only_with_a_cursor() {
        assert_eq!(not_before(None, Some(10), 100), None);
        assert_eq!(not_before(Some("c"), None, 100), None);
        assert_eq!(not_before(Some("c"), Some(10), 100), Some(90));
        assert_eq!(not_before(Some("c"), Some(1000), 100), Some(0));
    }

    #[test]
    fn heartbeat_is_within_the_limit() {
        assert!(HEARTBEAT_INTERVAL < MAX_HEARTBEAT_INTERVAL);
        assert_eq!(SILENCE_LIMIT, 2 * MAX_HEARTBEAT_INTERVAL);
    }
}
