//! Wall-clock time for tokens, and deadlines that cannot overflow.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

#[cfg(any(feature = "client", feature = "proxy"))]
use tokio::time::Instant;

/// A duration longer than any process runs: 30 years.
#[cfg(any(feature = "client", feature = "proxy"))]
const FAR_FUTURE: Duration = Duration::from_secs(60 * 60 * 24 * 365 * 30);

/// Returns the time since 1970-01-01 UTC, or zero if the system clock is set before that.
pub(crate) fn since_epoch() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}

/// Returns the deadline `duration` after `moment`, at most 30 years later, so that no duration overflows.
#[cfg(any(feature = "client", feature = "proxy"))]
pub(crate) fn deadline_after(moment: Instant, duration: Duration) -> Instant {
    moment + duration.min(FAR_FUTURE)
}
