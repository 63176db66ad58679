//! When to open a lost stream again, and when to give up.

use std::fmt;
use std::time::Duration;

/// What a server's `retry` is raised to: no server gets a client to knock without a pause.
const SHORTEST: Duration = Duration::from_millis(100);
/// What a server's `retry` is lowered to: no server puts a client to sleep for good.
const LONGEST: Duration = Duration::from_secs(30);
/// The pause before the first attempt when the server asked for none; it doubles with each further one.
const FIRST: Duration = Duration::from_millis(500);

/// Counts the attempts to open a lost stream again. Only news count as success: a stream that opens and ends at once
/// is as bad as one that does not open.
///
/// ```
/// use std::time::Duration;
/// use toolwire_proto::sse::Reconnects;
///
/// let mut reconnects = Reconnects::new(2);
/// assert_eq!(reconnects.next(Some(Duration::ZERO)), Ok(Duration::from_millis(100)));
/// assert_eq!(reconnects.next(None), Ok(Duration::from_millis(1000)));
/// assert!(reconnects.next(None).is_err());
/// reconnects.heard();
/// assert_eq!(reconnects.next(None), Ok(Duration::from_millis(500)));
/// ```
#[derive(Debug, Clone)]
pub struct Reconnects {
    limit: u32,
    made: u32,
}

/// The stream was opened too often without any news.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReconnectLimitError;

impl fmt::Display for ReconnectLimitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the stream was opened again too often without any news")
    }
}

impl std::error::Error for ReconnectLimitError {}

impl Reconnects {
    /// Allows this many attempts in a row without news.
    #[must_use]
    pub fn new(limit: u32) -> Self {
        Self { limit, made: 0 }
    }

    /// Something new arrived.
    pub fn heard(&mut self) {
        self.made = 0;
    }

    /// How long to wait before the next attempt; `wish` is what the server's `retry` asked for, within reason.
    ///
    /// # Errors
    /// When there were too many attempts without news.
    pub fn next(&mut self, wish: Option<Duration>) -> Result<Duration, ReconnectLimitError> {
        if self.made >= self.limit {
            return Err(ReconnectLimitError);
        }
        let doubled = FIRST.saturating_mul(1 << self.made.min(10));
        self.made += 1;
        Ok(wish.unwrap_or(doubled).clamp(SHORTEST, LONGEST))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes_of_the_server_are_kept_within_reason() {
        let check = |wish: u64, expected: u64| {
            let pause = Reconnects::new(1).next(Some(Duration::from_millis(wish)));
            assert_eq!(pause, Ok(Duration::from_millis(expected)));
        };
        check(0, 100);
        check(99, 100);
        check(500, 500);
        check(30_000, 30_000);
        check(999_999_999, 30_000);
    }

    #[test]
    fn attempts_without_news_slow_down_and_end() {
        let mut reconnects = Reconnects::new(8);
        let pauses: Vec<_> = std::iter::from_fn(|| reconnects.next(None).ok())
            .map(|pause| pause.as_millis())
            .collect();
        assert_eq!(pauses, [500, 1000, 2000, 4000, 8000, 16000, 30000, 30000]);
        assert_eq!(reconnects.next(None), Err(ReconnectLimitError));
        reconnects.heard();
        assert!(reconnects.next(None).is_ok());
    }
}
