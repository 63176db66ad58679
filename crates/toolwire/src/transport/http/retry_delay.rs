//! The delays between attempts to use a store that fails.

use std::time::Duration;

/// The delay after the first failure. It doubles with each further one.
const FIRST: Duration = Duration::from_millis(50);

/// The longest delay.
const LONGEST: Duration = Duration::from_secs(1);

/// Growing delays between attempts. Each is random in its upper half, so that the attempts of all streams and nodes do
/// not come at once.
#[derive(Debug)]
pub(crate) struct RetryDelay {
    longest: Duration,
}

impl RetryDelay {
    pub(crate) fn new() -> Self {
        Self { longest: FIRST }
    }

    /// Returns the delay before the next attempt.
    pub(crate) fn next(&mut self) -> Duration {
        let longest = self.longest;
        self.longest = (longest * 2).min(LONGEST);
        let mut random = [0];
        // Without random bytes, the delay is the shortest one.
        let _ = getrandom::fill(&mut random);
        longest / 2 + longest / 2 * u32::from(random[0]) / 255
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_to_the_longest() {
        let mut retry = RetryDelay::new();
        for limit in [50, 100, 200, 400, 800, 1000, 1000] {
            let limit = Duration::from_millis(limit);
            let delay = retry.next();
            assert!(
                (limit / 2..=limit).contains(&delay),
                "{delay:?} of {limit:?}"
            );
        }
    }
}
