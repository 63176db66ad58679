//! Pauses between attempts to reach an upstream server that fails.

use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

use crate::error::{Error, chain};
use crate::sync::lock;

/// The first and the longest pause.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The failures of the last attempts. Requests during a pause fail at once, so that a server that crashes at its start is
/// not started for each of them.
#[derive(Debug, Default)]
pub(super) struct UpstreamBackoff(Mutex<Option<Failure>>);

#[derive(Debug)]
struct Failure {
    reason: String,
    pause: Duration,
    until: Instant,
}

impl UpstreamBackoff {
    /// Checks that an attempt may be made now.
    ///
    /// # Errors
    /// Returns the reason of the last failure during the pause after it.
    pub(super) fn check(&self) -> Result<(), Error> {
        match &*lock(&self.0) {
            Some(failure) if Instant::now() < failure.until => {
                Err(Error::protocol(failure.reason.clone()))
            }
            _ => Ok(()),
        }
    }

    /// Records the outcome of an attempt.
    pub(super) fn record<T>(&self, outcome: &Result<T, Error>) {
        let mut failure = lock(&self.0);
        *failure = match outcome {
            Ok(_) => None,
            Err(error) => {
                let last = failure.as_ref().map(|failure| failure.pause);
                let pause = last.map_or(FIRST_PAUSE, |last| (last * 2).min(LONGEST_PAUSE));
                Some(Failure {
                    reason: chain(error),
                    pause,
                    until: Instant::now() + pause,
                })
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn pauses_double_up_to_a_minute_and_end_with_a_success() {
        let backoff = UpstreamBackoff::default();
        let failed = || Err::<(), _>(Error::protocol("refused"));
        for pause in [1, 2, 4, 8, 16, 32, 60, 60] {
            assert!(backoff.check().is_ok());
            backoff.record(&failed());
            let almost = Duration::from_secs(pause) - Duration::from_millis(1);
            tokio::time::advance(almost).await;
            let error = backoff.check().unwrap_err();
            assert!(error.to_string().contains("refused"), "{error}");
            tokio::time::advance(Duration::from_millis(1)).await;
        }
        backoff.record(&Ok(()));
        backoff.record(&failed());
        tokio::time::advance(FIRST_PAUSE).await;
        assert!(backoff.check().is_ok());
    }
}
