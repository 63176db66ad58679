//! Attempts that are made again while the task store is unavailable.

use std::time::Duration;

use tokio::time::Instant;
use toolwire_proto::requests::is_overloaded;
use toolwire_types::ErrorObject;

use crate::engine::deadline_after;

/// The pause before the second attempt. It doubles up to the second value.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LAST_PAUSE: Duration = Duration::from_secs(10);

/// How long attempts are repeated.
const RETRY_TIME: Duration = Duration::from_secs(10 * 60);

/// The attempts of one operation.
///
/// An operation of a task is repeated if its failure would end the task or lose its outcome, although the store comes
/// back. Every repeated operation must be one that may be done twice, because the response to the first may be lost.
#[derive(Debug)]
pub(crate) struct StoreRetries {
    pause: Duration,
    deadline: Instant,
}

impl StoreRetries {
    pub(crate) fn new() -> Self {
        Self {
            pause: FIRST_PAUSE,
            deadline: deadline_after(Instant::now(), RETRY_TIME),
        }
    }

    /// Waits until the next attempt. Returns `false` at once after an error of another kind, and after ten minutes.
    pub(crate) async fn wait_after(&mut self, error: Option<&ErrorObject>) -> bool {
        if !error.is_some_and(is_overloaded) || Instant::now() >= self.deadline {
            return false;
        }
        tokio::time::sleep(self.pause).await;
        self.pause = (self.pause * 2).min(LAST_PAUSE);
        true
    }
}
