//! The delivery of messages to one receiver: which responses accept a message, when it is sent again, and when delivery
//! is suspended.
//!
//! Messages are sent one after the other. An attempt of a message follows when the previous one failed.

use std::time::Duration;

use toolwire_types::events::CallbackFailure;

/// The maximum size of the body of a delivery.
pub const MAX_BODY_BYTES: usize = 256 * 1024;

/// The delays before the second and each further attempt. The last attempt is 12 minutes after the first one.
const RETRY_DELAYS: [Duration; 4] = [
    Duration::from_secs(5),
    Duration::from_secs(25),
    Duration::from_secs(90),
    Duration::from_secs(600),
];

/// Delivery is suspended if this number of messages in a row was given up, over at least [`SUSPENSION_TIME`].
const SUSPENSION_MESSAGES: u32 = 3;
const SUSPENSION_TIME: Duration = Duration::from_secs(10 * 60);

/// The outcome of one attempt to deliver a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a message is accepted, rejected, or sent again"
)]
pub enum AttemptOutcome {
    /// The receiver accepted the message.
    Accepted,
    /// The receiver never accepts this message.
    Rejected(CallbackFailure),
    /// The attempt failed.
    Failed(CallbackFailure),
}

impl AttemptOutcome {
    /// Returns the outcome of a response (SEP-3415, "Webhook").
    ///
    /// 2xx accepts the message, 410 and 413 reject it for ever. A redirect is a failure. It has no word of its own and is
    /// reported as a 4xx, because the client configured the wrong URL.
    #[must_use]
    pub fn of_status(status: u16) -> Self {
        match status {
            200..=299 => Self::Accepted,
            410 | 413 => Self::Rejected(CallbackFailure::Http4xx),
            500.. => Self::Failed(CallbackFailure::Http5xx),
            _ => Self::Failed(CallbackFailure::Http4xx),
        }
    }
}

/// What follows an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a message is finished, sent again, or the last one for now"
)]
pub enum AfterAttempt {
    /// The message was accepted or given up. The next one follows.
    Continue,
    /// The message is sent again after this time.
    Retry(Duration),
    /// The message was given up, and delivery is suspended until the client repeats its subscription.
    Suspend,
}

/// The state of the delivery to one receiver. Times are durations since the Unix epoch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeliveryHealth {
    /// The failed attempts of the current message.
    attempts: usize,
    /// The messages in a row that were given up.
    given_up: u32,
    is_suspended: bool,
    last_delivery: Option<Duration>,
    last_failure: Option<CallbackFailure>,
    failed_since: Option<Duration>,
    retry_at: Option<Duration>,
}

impl DeliveryHealth {
    /// Records an attempt and returns what follows.
    pub fn record(&mut self, outcome: AttemptOutcome, now: Duration) -> AfterAttempt {
        self.retry_at = None;
        let (failure, delay) = match outcome {
            AttemptOutcome::Accepted => {
                *self = Self {
                    last_delivery: Some(now),
                    ..Self::default()
                };
                return AfterAttempt::Continue;
            }
            AttemptOutcome::Rejected(failure) => (failure, None),
            AttemptOutcome::Failed(failure) => (failure, RETRY_DELAYS.get(self.attempts)),
        };
        self.last_failure = Some(failure);
        let failed_since = *self.failed_since.get_or_insert(now);
        if let Some(delay) = delay {
            self.attempts += 1;
            self.retry_at = Some(now + *delay);
            return AfterAttempt::Retry(*delay);
        }
        self.attempts = 0;
        self.given_up += 1;
        let failing_for = now.saturating_sub(failed_since);
        if self.given_up >= SUSPENSION_MESSAGES && failing_for >= SUSPENSION_TIME {
            self.is_suspended = true;
            return AfterAttempt::Suspend;
        }
        AfterAttempt::Continue
    }

    /// Ends a suspension, after the client repeated its subscription.
    pub fn reactivate(&mut self) {
        if self.is_suspended {
            *self = Self {
                last_delivery: self.last_delivery,
                last_failure: self.last_failure,
                ..Self::default()
            };
        }
    }

    /// Returns `true` if delivery is suspended.
    #[must_use]
    pub fn is_suspended(&self) -> bool {
        self.is_suspended
    }

    /// Returns when the last message was accepted.
    #[must_use]
    pub fn last_delivery(&self) -> Option<Duration> {
        self.last_delivery
    }

    /// Returns why the last attempt failed, or `None` after a success.
    #[must_use]
    pub fn last_failure(&self) -> Option<CallbackFailure> {
        self.last_failure
    }

    /// Returns since when attempts fail.
    #[must_use]
    pub fn failed_since(&self) -> Option<Duration> {
        self.failed_since
    }

    /// Returns when the current message is sent again.
    #[must_use]
    pub fn retry_at(&self) -> Option<Duration> {
        self.retry_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAILED: AttemptOutcome = AttemptOutcome::Failed(CallbackFailure::Http5xx);
    const REJECTED: AttemptOutcome = AttemptOutcome::Rejected(CallbackFailure::Http4xx);

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn status_decides_whether_a_message_is_sent_again() {
        use CallbackFailure::{Http4xx, Http5xx};
        let check = |status: u16, expected: AttemptOutcome| {
            assert_eq!(AttemptOutcome::of_status(status), expected, "{status}");
        };
        for status in [200, 202, 204, 299] {
            check(status, AttemptOutcome::Accepted);
        }
        for status in [410, 413] {
            check(status, AttemptOutcome::Rejected(Http4xx));
        }
        for status in [100, 301, 302, 307, 308, 400, 401, 404, 425, 429] {
            check(status, AttemptOutcome::Failed(Http4xx));
        }
        for status in [500, 502, 503, 599, 600] {
            check(status, AttemptOutcome::Failed(Http5xx));
        }
    }

    #[test]
    fn message_has_five_attempts_within_twelve_minutes() {
        let mut health = DeliveryHealth::default();
        let mut now = seconds(1000);
        let mut attempts = 1;
        while let AfterAttempt::Retry(delay) = health.record(FAILED, now) {
            assert_eq!(health.retry_at(), Some(now + delay));
            now += delay;
            attempts += 1;
        }
        assert_eq!((attempts, now), (5, seconds(1000 + 720)));
        assert_eq!(health.retry_at(), None);
        // The next message has five attempts again.
        assert_eq!(health.record(FAILED, now), AfterAttempt::Retry(seconds(5)));
    }

    #[test]
    fn success_clears_the_failures() {
        let mut health = DeliveryHealth::default();
        health.record(FAILED, seconds(1));
        health.record(FAILED, seconds(2));
        assert_eq!(health.failed_since(), Some(seconds(1)));
        assert_eq!(health.last_failure(), Some(CallbackFailure::Http5xx));
        let after = health.record(AttemptOutcome::Accepted, seconds(3));
        assert_eq!(after, AfterAttempt::Continue);
        assert_eq!(health.failed_since(), None);
        assert_eq!(health.last_failure(), None);
        assert_eq!(health.last_delivery(), Some(seconds(3)));
    }

    #[test]
    fn delivery_is_suspended_after_three_messages_and_ten_minutes() {
        let mut health = DeliveryHealth::default();
        assert_eq!(health.record(REJECTED, seconds(0)), AfterAttempt::Continue);
        assert_eq!(health.record(REJECTED, seconds(1)), AfterAttempt::Continue);
        // The third message is too early.
        assert_eq!(
            health.record(REJECTED, seconds(599)),
            AfterAttempt::Continue
        );
        assert_eq!(health.record(REJECTED, seconds(600)), AfterAttempt::Suspend);
        assert!(health.is_suspended());
        health.reactivate();
        assert!(!health.is_suspended());
        assert_eq!(health.last_failure(), Some(CallbackFailure::Http4xx));
        assert_eq!(
            health.record(REJECTED, seconds(601)),
            AfterAttempt::Continue
        );

        // Two messages are not sufficient, however long they fail.
        let mut health = DeliveryHealth::default();
        assert_eq!(health.record(REJECTED, seconds(0)), AfterAttempt::Continue);
        let after = health.record(REJECTED, seconds(9999));
        assert_eq!(after, AfterAttempt::Continue);
    }
}
