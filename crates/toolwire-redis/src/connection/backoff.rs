//! The pauses between attempts to connect.

use std::time::Duration;

/// The first pause. It doubles with each attempt.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Returns longer and longer pauses.
#[derive(Debug)]
pub(crate) struct Backoff {
    longest: Duration,
}

impl Backoff {
    pub(crate) fn new() -> Self {
        Self {
            longest: FIRST_PAUSE,
        }
    }

    /// Returns the next pause. It is partly random, so that the nodes of a service do not connect at the same moment.
    pub(crate) fn next_pause(&mut self) -> Duration {
        let longest = self.longest;
        self.longest = (longest * 2).min(LONGEST_PAUSE);
        let mut bytes = [0; 4];
        match getrandom::fill(&mut bytes) {
            Ok(()) => longest.mul_f64(f64::from(u32::from_le_bytes(bytes)) / f64::from(u32::MAX)),
            Err(_) => longest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_the_longest() {
        let mut backoff = Backoff::new();
        let mut longest = FIRST_PAUSE;
        for _ in 0..10 {
            assert!(backoff.next_pause() <= longest);
            longest = (longest * 2).min(LONGEST_PAUSE);
        }
        assert_eq!(longest, LONGEST_PAUSE);
    }
}
