//! The pauses between attempts to reopen a lost stream, and their limit.

use std::fmt;
use std::time::Duration;

/// The minimum pause. A server cannot make a client reconnect without a pause.
const SHORTEST: Duration = Duration::from_millis(100);
/// The maximum pause. A server cannot make a client wait forever.
const LONGEST: Duration = Duration::from_secs(30);
/// The pause before the first attempt if the server sent no `retry`. It doubles with each further attempt.
const FIRST: Duration = Duration::from_millis(500);

/// A counter of attempts to reopen a lost stream. Only a new event counts as success: a stream that opens and ends at
/// once is the same as one that does not open.
///
/// ```
/// use std::time::Duration;
/// use toolwire_proto::sse::Reconnects;
///
/// let mut reconnects = Reconnects::new(2);
/// assert_eq!(reconnects.next(Some(Duration::ZERO)), Ok(Duration::from_millis(100)));
/// assert_eq!(reconnects.next(None), Ok(Duration::from_millis(1000)));
/// assert!(reconnects.next(None).is_err());
/// reconnects.record_event();
/// assert_eq!(reconnects.next(None), Ok(Duration::from_millis(500)));
/// ```
#[derive(Debug, Clone)]
pub struct Reconnects {
    limit: u32,
    attempts: u32,
}

/// A stream that was reopened too often without a new event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReconnectLimitError;

impl fmt::Display for ReconnectLimitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the stream was reopened too often without a new event")
    }
}

impl std::error::Error for ReconnectLimitError {}

impl Reconnects {
    /// Creates a counter for `limit` consecutive attempts without a new event.
    #[must_use]
    pub fn new(limit: u32) -> Self {
        Self { limit, attempts: 0 }
    }

    /// Records a new event and resets the counter.
    pub fn record_event(&mut self) {
        self.attempts = 0;
    }

    /// Returns how long to wait before the next attempt. `retry` is the server's reconnection time, which is clamped.
    ///
    /// # Errors
    /// Returns an error if there were too many attempts without a new event.
    pub fn next(&mut self, retry: Option<Duration>) -> Result<Duration, ReconnectLimitError> {
        if self.attempts >= self.limit {
            return Err(ReconnectLimitError);
        }
        let doubled = FIRST.saturating_mul(1 << self.attempts.min(10));
        self.attempts += 1;
        Ok(retry.unwrap_or(doubled).clamp(SHORTEST, LONGEST))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_of_the_server_is_clamped() {
        let check = |retry: u64, expected: u64| {
            let pause = Reconnects::new(1).next(Some(Duration::from_millis(retry)));
            assert_eq!(pause, Ok(Duration::from_millis(expected)));
        };
        check(0, 100);
        check(99, 100);
        check(500, 500);
        check(30_000, 30_000);
        check(999_999_999, 30_000);
    }

    #[test]
    fn attempts_without_events_slow_down_and_end() {
        let mut reconnects = Reconnects::new(8);
        let pauses: Vec<_> = std::iter::from_fn(|| reconnects.next(None).ok())
            .map(|pause| pause.as_millis())
            .collect();
        assert_eq!(pauses, [500, 1000, 2000, 4000, 8000, 16000, 30000, 30000]);
        assert_eq!(reconnects.next(None), Err(ReconnectLimitError));
        reconnects.record_event();
        assert!(reconnects.next(None).is_ok());
    }
}
