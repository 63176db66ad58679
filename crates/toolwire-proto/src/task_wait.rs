//! Waiting for a task: when to poll, which input requests are new, and when to give up.
//!
//! A client that waits for a task sends `tasks/get` until the status of the task is final. This module decides and does
//! not wait: the caller passes in random numbers, and adds the returned durations to its own clock.

use std::collections::HashSet;
use std::fmt;
use std::time::Duration;

use toolwire_types::tasks::TaskStatus;
use toolwire_types::tasks::extension::DetailedTask;
use toolwire_types::{ErrorObject, code};

use crate::requests::is_overloaded;

/// The time between two polls if the server does not state one.
pub const DEFAULT_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The shortest time between two polls. A server that asks for less is polled this often.
pub const MIN_POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The longest time between two polls. A server that asks for more is polled this often.
pub const MAX_POLL_INTERVAL: Duration = Duration::from_secs(60);

/// How long a client still waits after the retention of a task has ended.
pub const TTL_GRACE: Duration = Duration::from_secs(60);

/// How many polls in a row may return `input_required` without a new input request.
pub const MAX_POLLS_WITHOUT_INPUT: u32 = 60;

/// The maximum number of input requests of one task.
pub const MAX_INPUT_REQUESTS: usize = 1000;

/// While the server sends notifications about a task, polls are this many times less frequent.
const NOTIFIED_FACTOR: u32 = 10;

/// The state of a client that waits for one task.
///
/// ```
/// use std::time::Duration;
/// use toolwire_proto::task_wait::TaskWait;
/// use toolwire_types::tasks::extension::{DetailedTask, Task};
///
/// let task = Task::new("t", "2026-11-17T10:00:00Z").with_poll_interval_ms(2000);
/// let mut wait = TaskWait::new();
/// assert!(wait.record(&DetailedTask::working(task), false).unwrap().is_empty());
/// let pause = wait.pause(7, false);
/// assert!((Duration::from_millis(1800)..=Duration::from_millis(2200)).contains(&pause));
/// ```
#[derive(Debug, Clone, Default)]
pub struct TaskWait {
    /// The newest interval of the server, within the limits.
    interval: Option<Duration>,
    /// The newest retention of the task.
    ttl: Option<Duration>,
    /// The number of failed polls since the last successful one.
    failures: u32,
    /// How many of them were internal errors of the server.
    internal_errors: u32,
    /// The keys of all input requests that were returned to the caller.
    known: HashSet<String>,
    polls_without_input: u32,
}

impl TaskWait {
    /// Creates the state of a client that has not seen the task yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Records the task as the server returned it, and returns the keys of new input requests.
    ///
    /// Tasks extension, "Input requests": a key is unique for the life of a task, so each is returned once.
    /// `is_responding` states whether the client still works on a response.
    ///
    /// # Errors
    /// Returns an error if the client should give up.
    pub fn record<'a>(
        &mut self,
        task: &'a DetailedTask,
        is_responding: bool,
    ) -> Result<Vec<&'a str>, GiveUp> {
        self.failures = 0;
        self.internal_errors = 0;
        // Tasks extension, "Polling": the interval and the retention may change, and the newest values count.
        let milliseconds = task.task.poll_interval_ms.map(Duration::from_millis);
        self.interval =
            milliseconds.map(|interval| interval.clamp(MIN_POLL_INTERVAL, MAX_POLL_INTERVAL));
        self.ttl = task.task.ttl_ms.map(Duration::from_millis);
        if task.task.status != TaskStatus::InputRequired {
            self.polls_without_input = 0;
            return Ok(Vec::new());
        }
        let requests = task.input_requests.iter();
        let mut new = Vec::new();
        for (key, _) in requests.flat_map(|requests| requests.iter()) {
            if !self.known.contains(key) {
                new.push(key);
            }
        }
        if self.known.len() + new.len() > MAX_INPUT_REQUESTS {
            return Err(GiveUp::TooManyInputRequests);
        }
        self.known.extend(new.iter().map(|key| (*key).to_owned()));
        if !new.is_empty() || is_responding {
            self.polls_without_input = 0;
        } else {
            self.polls_without_input += 1;
        }
        if self.polls_without_input >= MAX_POLLS_WITHOUT_INPUT {
            return Err(GiveUp::NoNewInput);
        }
        Ok(new)
    }

    /// Records a failed poll. Returns `true` if the client should poll again.
    pub fn record_failure(&mut self, failure: PollFailure) -> bool {
        self.failures = self.failures.saturating_add(1);
        match failure {
            PollFailure::Temporary => true,
            PollFailure::InternalError => {
                self.internal_errors += 1;
                self.internal_errors <= 1
            }
            PollFailure::Gone | PollFailure::Final => false,
        }
    }

    /// Returns the time until the next poll: the interval, longer after failures, and different by up to 10 % so that
    /// many clients do not poll at once.
    ///
    /// `random` is any random number. `is_notified` states whether the server reports changes of the task.
    #[must_use]
    pub fn pause(&self, random: u64, is_notified: bool) -> Duration {
        let interval = self.interval.unwrap_or(DEFAULT_POLL_INTERVAL);
        let factor = match self.failures {
            0 if is_notified => NOTIFIED_FACTOR,
            failures => 1 << failures.min(10),
        };
        let pause = interval.saturating_mul(factor).min(MAX_POLL_INTERVAL);
        let permille = 900 + u32::try_from(random % 201).unwrap_or_default();
        pause * permille / 1000
    }

    /// Returns how long the client waits at most, counted from the first time it saw the task. `None` is unlimited.
    ///
    /// Tasks extension, "Retention": `ttlMs` counts from the creation, and clients may use it as a limit. A client sees
    /// a task after its creation, so this limit is never too early, and it needs no clock of the server.
    #[must_use]
    pub fn limit(&self) -> Option<Duration> {
        self.ttl.map(|ttl| ttl.saturating_add(TTL_GRACE))
    }
}

/// Why a poll failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the caller has to decide for each of them"
)]
pub enum PollFailure {
    /// The server does not know the task, or does not know it any more.
    Gone,
    /// There was no response, or the server could not process the poll. A later poll may succeed.
    Temporary,
    /// The server reported an internal error. One may be an accident, but not two in a row.
    InternalError,
    /// The server rejected the poll, and would reject it again.
    Final,
}

impl PollFailure {
    /// Classifies a failed poll by its HTTP status and its JSON-RPC error. Without both, there was no response.
    #[must_use]
    pub fn classify(http_status: Option<u16>, error: Option<&ErrorObject>) -> Self {
        match (http_status, error.map(|error| error.code)) {
            (Some(408 | 429 | 500..), _) | (None, None) => Self::Temporary,
            (_, Some(code::INTERNAL_ERROR)) if error.is_some_and(is_overloaded) => Self::Temporary,
            // Tasks extension, "Errors": an unknown or expired task is an invalid parameter.
            (_, Some(code::INVALID_PARAMS)) => Self::Gone,
            (_, Some(code::INTERNAL_ERROR)) => Self::InternalError,
            _ => Self::Final,
        }
    }
}

/// Why a client gives up waiting for a task that is not final.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum GiveUp {
    /// The task requires input, but the server repeats only input requests that have a response.
    NoNewInput,
    /// The task has more input requests than [`MAX_INPUT_REQUESTS`].
    TooManyInputRequests,
}

impl fmt::Display for GiveUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoNewInput => write!(
                f,
                "the task still requires input after {MAX_POLLS_WITHOUT_INPUT} polls, but has no new input request"
            ),
            Self::TooManyInputRequests => write!(
                f,
                "the task has more than {MAX_INPUT_REQUESTS} input requests"
            ),
        }
    }
}

impl std::error::Error for GiveUp {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use toolwire_types::tasks::extension::Task;
    use toolwire_types::{InputRequest, InputRequests};

    use super::*;
    use crate::requests::overloaded_error;

    fn task() -> Task {
        Task::new("t", "2026-11-17T10:00:00Z")
    }

    fn asking(keys: &[&str]) -> DetailedTask {
        let mut requests = InputRequests::default();
        for key in keys {
            requests.insert(*key, InputRequest::roots());
        }
        DetailedTask::input_required(task(), requests)
    }

    /// Returns the pause in milliseconds without the random part.
    fn pause(wait: &TaskWait) -> u128 {
        wait.pause(100, false).as_millis()
    }

    #[test]
    fn interval_is_the_newest_of_the_server_within_limits() {
        let mut wait = TaskWait::new();
        assert_eq!(pause(&wait), 1000);
        let mut check = |interval: Option<u64>, expected: u128| {
            let mut task = task();
            task.poll_interval_ms = interval;
            wait.record(&DetailedTask::working(task), false).unwrap();
            assert_eq!(pause(&wait), expected, "{interval:?}");
        };
        check(Some(2000), 2000);
        check(Some(500), 500);
        check(None, 1000);
        check(Some(0), 100);
        check(Some(99), 100);
        check(Some(100), 100);
        check(Some(60_000), 60_000);
        check(Some(60_001), 60_000);
        check(Some(u64::MAX), 60_000);
    }

    #[test]
    fn failed_polls_lengthen_the_pause_until_one_succeeds() {
        let mut wait = TaskWait::new();
        for expected in [2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000] {
            assert!(wait.record_failure(PollFailure::Temporary));
            assert_eq!(pause(&wait), expected);
        }
        wait.record(&DetailedTask::working(task()), false).unwrap();
        assert_eq!(pause(&wait), 1000);
    }

    #[test]
    fn two_internal_errors_in_a_row_end_the_wait() {
        let mut wait = TaskWait::new();
        assert!(wait.record_failure(PollFailure::InternalError));
        wait.record(&DetailedTask::working(task()), false).unwrap();
        assert!(wait.record_failure(PollFailure::InternalError));
        assert!(wait.record_failure(PollFailure::Temporary));
        assert!(!wait.record_failure(PollFailure::InternalError));
        assert!(!TaskWait::new().record_failure(PollFailure::Gone));
        assert!(!TaskWait::new().record_failure(PollFailure::Final));
    }

    #[test]
    fn failures_are_classified_by_status_and_code() {
        let check = |status: Option<u16>, code: Option<i64>, expected: PollFailure| {
            let error = code.map(|code| ErrorObject::new(code, "no"));
            let failure = PollFailure::classify(status, error.as_ref());
            assert_eq!(failure, expected, "{status:?} {code:?}");
        };
        check(None, None, PollFailure::Temporary);
        for status in [408, 429, 500, 502, 503, 504, 599] {
            check(Some(status), None, PollFailure::Temporary);
            check(Some(status), Some(-32603), PollFailure::Temporary);
        }
        // On stdio there is no status.
        let failure = PollFailure::classify(None, Some(&overloaded_error("later")));
        assert_eq!(failure, PollFailure::Temporary);
        check(None, Some(-32602), PollFailure::Gone);
        check(Some(400), Some(-32602), PollFailure::Gone);
        check(None, Some(-32603), PollFailure::InternalError);
        check(None, Some(-32601), PollFailure::Final);
        check(None, Some(-32021), PollFailure::Final);
        check(Some(401), None, PollFailure::Final);
        check(Some(404), None, PollFailure::Final);
    }

    #[test]
    fn each_key_is_returned_once() {
        let mut wait = TaskWait::new();
        assert_eq!(wait.record(&asking(&["a"]), false).unwrap(), ["a"]);
        assert_eq!(wait.record(&asking(&["a", "b"]), true).unwrap(), ["b"]);
        let working = DetailedTask::working(task());
        assert!(wait.record(&working, false).unwrap().is_empty());
        assert!(wait.record(&asking(&["b", "a"]), false).unwrap().is_empty());
        assert_eq!(wait.record(&asking(&["a~2"]), false).unwrap(), ["a~2"]);
    }

    #[test]
    fn repeated_input_requests_end_the_wait_unless_a_response_is_pending() {
        let mut wait = TaskWait::new();
        wait.record(&asking(&["a"]), false).unwrap();
        for _ in 0..1000 {
            wait.record(&asking(&["a"]), true).unwrap();
        }
        for _ in 1..MAX_POLLS_WITHOUT_INPUT {
            wait.record(&asking(&["a"]), false).unwrap();
        }
        let task = asking(&["a"]);
        assert_eq!(wait.record(&task, false), Err(GiveUp::NoNewInput));

        let mut wait = TaskWait::new();
        for number in 0..MAX_INPUT_REQUESTS {
            wait.record(&asking(&[&number.to_string()]), false).unwrap();
        }
        let task = asking(&["more"]);
        let given_up = wait.record(&task, false);
        assert_eq!(given_up, Err(GiveUp::TooManyInputRequests));
    }

    #[test]
    fn limit_is_the_newest_retention_and_a_grace() {
        let mut wait = TaskWait::new();
        assert_eq!(wait.limit(), None);
        let mut check = |ttl: Option<u64>, expected: Option<Duration>| {
            let mut task = task();
            task.ttl_ms = ttl;
            wait.record(&DetailedTask::working(task), false).unwrap();
            assert_eq!(wait.limit(), expected);
        };
        check(Some(1000), Some(Duration::from_secs(61)));
        check(Some(60_000), Some(Duration::from_secs(120)));
        check(None, None);
    }

    #[test]
    fn polls_are_less_frequent_while_the_server_reports_changes() {
        let mut wait = TaskWait::new();
        assert_eq!(wait.pause(100, true), Duration::from_secs(10));
        wait.record_failure(PollFailure::Temporary);
        assert_eq!(wait.pause(100, true), Duration::from_secs(2));
    }

    proptest! {
        #[test]
        fn pause_differs_by_at_most_a_tenth(random: u64, interval: u64, failures in 0_u32..2000) {
            let mut wait = TaskWait::new();
            let working = DetailedTask::working(task().with_poll_interval_ms(interval));
            wait.record(&working, false).unwrap();
            for _ in 0..failures {
                wait.record_failure(PollFailure::Temporary);
            }
            let (pause, middle) = (wait.pause(random, false), wait.pause(100, false));
            prop_assert!(pause >= middle * 9 / 10 && pause <= middle * 11 / 10);
            prop_assert!(middle >= MIN_POLL_INTERVAL && middle <= MAX_POLL_INTERVAL);
        }
    }
}
