//! The calendar, for what outlives a process: states, tokens, kept answers.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Time since 1970-01-01 UTC; none on a machine whose clock is set before that.
pub(crate) fn since_epoch() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}
