//! Pauses between attempts to reach an upstream server that fails.

use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

use crate::error::{Error, chain};
use crate::sync::lock;

/// The first and the longest pause. A pause is up to a quarter shorter, at random, so that several relays do not try at
/// the same time.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// From this number of failures in a row on, only one attempt is made at a time.
const BREAKER_FAILURES: u32 = 5;

/// How long a connection has to be open so that its loss is not a failure, and earlier failures no longer count.
const STABLE_TIME: Duration = Duration::from_secs(10);

/// The failures of the last attempts. Requests during a pause fail at once, so that a server that crashes at its start is
/// not started for each of them.
#[derive(Debug, Default)]
pub(super) struct UpstreamBackoff(Mutex<Failures>);

#[derive(Debug, Default)]
struct Failures {
    /// The number of failures in a row.
    count: u32,
    reason: String,
    /// The end of the pause.
    until: Option<Instant>,
    /// The last success after these failures.
    success: Option<Instant>,
    /// Whether an attempt runs that decides about all others.
    is_probing: bool,
}

impl UpstreamBackoff {
    /// Starts an attempt.
    ///
    /// # Errors
    /// Returns the reason of the last failure during the pause after it.
    pub(super) fn start(&self) -> Result<Attempt<'_>, Error> {
        let mut failures = lock(&self.0);
        let now = Instant::now();
        if let Some(left) = failures
            .until
            .and_then(|until| until.checked_duration_since(now))
            && !left.is_zero()
        {
            let (reason, seconds) = (&failures.reason, left.as_secs_f64().ceil());
            return Err(Error::protocol(format!(
                "{reason}; the next attempt is possible in {seconds} s"
            )));
        }
        let is_probe = failures.count >= BREAKER_FAILURES && failures.success.is_none();
        if is_probe {
            if failures.is_probing {
                let reason = &failures.reason;
                return Err(Error::protocol(format!("{reason}; an attempt is running")));
            }
            failures.is_probing = true;
        }
        Ok(Attempt {
            backoff: self,
            is_probe,
        })
    }

    /// Returns whether the last attempt reached the server, or `None` before the end of the first one.
    pub(super) fn is_reached(&self) -> Option<bool> {
        let failures = lock(&self.0);
        let has_result = failures.success.is_some() || failures.count > 0;
        has_result.then_some(failures.success.is_some())
    }

    /// Records that a connection was lost that was opened at `opened`. The first loss causes no pause.
    pub(super) fn record_loss(&self, opened: Instant) {
        if opened.elapsed() < STABLE_TIME {
            let reason = "the connection was lost soon after it was opened".to_owned();
            lock(&self.0).add(reason, 1);
        }
    }
}

impl Failures {
    /// Adds a failure. The first `tolerated` failures in a row cause no pause.
    fn add(&mut self, reason: String, tolerated: u32) {
        let now = Instant::now();
        if self.success.is_some_and(|at| now - at >= STABLE_TIME) {
            self.count = 0;
        }
        self.count = self.count.saturating_add(1);
        self.reason = reason;
        self.success = None;
        let mut random = [0];
        // Without random bytes, the pause is the longest one.
        let _ = getrandom::fill(&mut random);
        let pauses = self.count.saturating_sub(tolerated);
        self.until = (pauses > 0).then(|| now + pause(pauses, random[0]));
    }
}

/// Returns the pause after a number of failures in a row.
fn pause(failures: u32, random: u8) -> Duration {
    let doubled = 1 << failures.saturating_sub(1).min(16);
    let longest = (FIRST_PAUSE * doubled).min(LONGEST_PAUSE);
    longest - longest / 4 * u32::from(random) / 255
}

/// An attempt to reach the server.
#[derive(Debug)]
pub(super) struct Attempt<'a> {
    backoff: &'a UpstreamBackoff,
    is_probe: bool,
}

impl Attempt<'_> {
    /// Records that the server was reached.
    pub(super) fn succeed(self) {
        let mut failures = lock(&self.backoff.0);
        failures.until = None;
        failures.success = Some(Instant::now());
    }

    /// Records that the server was not reached.
    pub(super) fn fail(self, error: &Error) {
        lock(&self.backoff.0).add(chain(error), 0);
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        if self.is_probe {
            lock(&self.backoff.0).is_probing = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fail(backoff: &UpstreamBackoff) {
        let attempt = backoff.start().expect("the pause is over");
        attempt.fail(&Error::protocol("no such file"));
    }

    #[test]
    fn pauses_double_up_to_a_minute_and_are_up_to_a_quarter_shorter() {
        for (failures, seconds) in [1, 2, 4, 8, 16, 32, 60, 60].into_iter().enumerate() {
            let failures = u32::try_from(failures).unwrap() + 1;
            let longest = Duration::from_secs(seconds);
            assert_eq!(pause(failures, 0), longest);
            assert_eq!(pause(failures, 255), longest * 3 / 4);
        }
        assert_eq!(pause(u32::MAX, 0), LONGEST_PAUSE);
    }

    #[tokio::test(start_paused = true)]
    async fn attempts_during_a_pause_fail_with_the_reason() {
        let backoff = UpstreamBackoff::default();
        assert_eq!(backoff.is_reached(), None);
        fail(&backoff);
        assert_eq!(backoff.is_reached(), Some(false));
        tokio::time::advance(FIRST_PAUSE * 3 / 4 - Duration::from_millis(1)).await;
        let error = backoff.start().unwrap_err();
        assert!(error.to_string().contains("in 1 s"), "{error}");
        tokio::time::advance(FIRST_PAUSE / 4 + Duration::from_millis(1)).await;
        backoff.start().unwrap().succeed();
        assert_eq!(backoff.is_reached(), Some(true));
        assert!(backoff.start().is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn fifth_failure_permits_one_attempt_at_a_time() {
        let backoff = UpstreamBackoff::default();
        for _ in 1..BREAKER_FAILURES {
            fail(&backoff);
            tokio::time::advance(LONGEST_PAUSE).await;
        }
        let attempts = [backoff.start(), backoff.start()];
        assert!(attempts.iter().all(Result::is_ok));
        drop(attempts);
        fail(&backoff);
        tokio::time::advance(LONGEST_PAUSE).await;
        let probe = backoff.start().unwrap();
        assert!(backoff.start().is_err());
        probe.succeed();
        let attempts = [backoff.start(), backoff.start()];
        assert!(attempts.iter().all(Result::is_ok));
    }

    #[tokio::test(start_paused = true)]
    async fn second_early_loss_causes_a_pause() {
        let backoff = UpstreamBackoff::default();
        for is_second in [false, true] {
            backoff.start().unwrap().succeed();
            backoff.record_loss(Instant::now());
            assert_eq!(backoff.start().is_err(), is_second);
        }
        tokio::time::advance(FIRST_PAUSE).await;
        backoff.start().unwrap().succeed();
        let opened = Instant::now();
        tokio::time::advance(STABLE_TIME).await;
        backoff.record_loss(opened);
        assert!(backoff.start().is_ok(), "the connection was stable");
        backoff.record_loss(Instant::now());
        assert!(backoff.start().is_ok(), "the failures start again");
    }
}
