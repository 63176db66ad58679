//! Records the outcome of every operation of a workload, and judges them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};

/// The longest time until all operations succeed: longer than the lease of a lost node, and than any fault.
const LONGEST_WAIT: Duration = Duration::from_secs(90);

/// The deadline of an operation whose requests nodes respond to at once, or reject after the timeout of a store call. It
/// includes repetitions and the longest fault, and is shorter than the leases and the timeouts that it must not wait for.
const QUICK: Duration = Duration::from_secs(25);

/// The deadline of an operation with a stream or a task, which waits for the lease of a lost node.
const LEASED: Duration = Duration::from_secs(90);

/// The operations with the shorter deadline.
const QUICK_OPERATIONS: [&str; 2] = ["modern call", "legacy call"];

/// The time in which operations succeed after the end of a fault on an idle machine.
const RECOVERY: Duration = Duration::from_secs(5);

/// The multiple of [`RECOVERY`] that an operation may take on a machine that runs other programs beside the test. The
/// result is shorter than the leases and timeouts of nodes and clients, so it shows that none of them was waited for.
const BUSY_FACTOR: u32 = 4;

/// How much longer than before the fault an operation may take, in addition. A machine that was slow before the fault is
/// also slow after it.
const SLOWER: u32 = 10;

/// Why an operation has no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failure {
    /// An error response, or a broken connection. A fault permits it.
    Unavailable(String),
    /// The server says that a session, a stream or a task does not exist. A loss of data permits it.
    Lost(String),
    /// A wrong result, or none in time. Nothing permits it.
    Wrong(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable(reason) => write!(f, "unavailable: {reason}"),
            Self::Lost(reason) => write!(f, "lost: {reason}"),
            Self::Wrong(reason) => write!(f, "wrong: {reason}"),
        }
    }
}

/// The part of a trial in which an operation ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// Before the fault. All operations must succeed.
    Before,
    /// During the fault, or soon after it.
    Fault,
    /// After the fault. All operations must succeed again.
    After,
}

/// What a fault permits.
#[derive(Debug, Default)]
pub(super) struct Permitted {
    /// The maximum number of failures of an operation. Other operations may fail any number of times.
    pub(super) failures: &'static [(&'static str, usize)],
    /// Whether data may be lost.
    pub(super) loss: bool,
}

/// The outcomes of all operations.
#[derive(Debug)]
pub(super) struct Ledger {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    outcomes: Vec<Outcome>,
    /// When the fault was over.
    recovering_since: Option<Instant>,
}

#[derive(Debug)]
struct Outcome {
    operation: &'static str,
    phase: Phase,
    /// The part in which the operation began.
    started_in: Phase,
    failure: Option<Failure>,
    started: Instant,
    took: Duration,
}

impl Ledger {
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::new(State {
                phase: Phase::Before,
                outcomes: Vec::new(),
                recovering_since: None,
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the next part. Operations that are running belong to the fault.
    pub(super) fn start_phase(&self, phase: Phase) {
        self.lock().phase = phase;
    }

    /// Notes that the fault is over: operations that begin from now on should succeed soon.
    pub(super) fn note_recovery(&self) {
        self.lock().recovering_since.get_or_insert(Instant::now());
    }

    /// Runs an operation to its outcome.
    pub(super) async fn record(
        &self,
        operation: &'static str,
        run: impl Future<Output = Result<(), Failure>>,
    ) {
        let (started_in, start) = (self.lock().phase, Instant::now());
        let deadline = deadline_of(operation);
        let result = timeout(deadline, run).await;
        let late = Err(Failure::Wrong(format!("no outcome within {deadline:?}")));
        let failure = result.unwrap_or(late).err();
        let mut state = self.lock();
        // An operation that began before the fault and ended after it was affected by it.
        let phase = if started_in == state.phase {
            started_in
        } else {
            Phase::Fault
        };
        state.outcomes.push(Outcome {
            operation,
            phase,
            started_in,
            failure,
            started: start,
            took: start.elapsed(),
        });
    }

    /// Waits until every operation has succeeded this often in the current part.
    pub(super) async fn wait_for_successes(&self, operations: &[&'static str], count: usize) {
        let phase = self.lock().phase;
        let skipped = self.lock().outcomes.len();
        let is_reached = || {
            let state = self.lock();
            let succeeded = |operation: &str| {
                let outcomes = state.outcomes.iter().skip(skipped);
                let successes = outcomes.filter(|outcome| {
                    outcome.operation == operation
                        && outcome.phase == phase
                        && outcome.failure.is_none()
                });
                successes.count()
            };
            operations
                .iter()
                .all(|operation| succeeded(operation) >= count)
        };
        let start = Instant::now();
        while !is_reached() {
            assert!(
                start.elapsed() < LONGEST_WAIT,
                "not all operations succeed in {phase:?}:\n{self}"
            );
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Returns the number of successes of an operation that began and ended during the fault.
    pub(super) fn successes_during_fault(&self, operation: &str) -> usize {
        let state = self.lock();
        let outcomes = state.outcomes.iter();
        let successes = outcomes.filter(|outcome| {
            outcome.operation == operation
                && outcome.phase == Phase::Fault
                && outcome.started_in == Phase::Fault
                && outcome.failure.is_none()
        });
        successes.count()
    }

    /// Panics if the outcomes are not those that the fault permits.
    pub(super) fn judge(&self, permitted: &Permitted) {
        let mut problems = Vec::new();
        let mut failures: BTreeMap<&str, usize> = BTreeMap::new();
        for outcome in &self.lock().outcomes {
            let Some(failure) = &outcome.failure else {
                continue;
            };
            *failures.entry(outcome.operation).or_default() += 1;
            let is_permitted = outcome.phase == Phase::Fault
                && match failure {
                    Failure::Unavailable(_) => true,
                    Failure::Lost(_) => permitted.loss,
                    Failure::Wrong(_) => false,
                };
            if !is_permitted {
                let Outcome {
                    operation, phase, ..
                } = outcome;
                problems.push(format!("{operation} in {phase:?}: {failure}"));
            }
        }
        problems.extend(self.lock().late_recoveries());
        for (operation, limit) in permitted.failures {
            let count = failures.get(operation).copied().unwrap_or(0);
            if count > *limit {
                problems.push(format!("{operation} failed {count} times, not {limit}"));
            }
        }
        assert!(problems.is_empty(), "{}\n{self}", problems.join("\n"));
    }
}

impl State {
    /// Returns how long each operation needed until it succeeded after the end of the fault, from the start of its first
    /// attempt on. An operation that began before the end does not count: it has its deadline.
    fn recoveries(&self) -> BTreeMap<&'static str, Duration> {
        let Some(since) = self.recovering_since else {
            return BTreeMap::new();
        };
        let mut first_starts: BTreeMap<&str, Instant> = BTreeMap::new();
        let mut recoveries = BTreeMap::new();
        for outcome in self.outcomes.iter().filter(|other| other.started >= since) {
            let first = first_starts.entry(outcome.operation);
            let first = *first.or_insert(outcome.started);
            if outcome.failure.is_none() {
                let ended = outcome.started + outcome.took;
                let recovery = recoveries.entry(outcome.operation);
                recovery.or_insert(ended.duration_since(first));
            }
        }
        recoveries
    }

    /// Returns the longest time of an operation before the fault.
    fn longest_before(&self, operation: &str) -> Duration {
        let before = self
            .outcomes
            .iter()
            .filter(|outcome| outcome.operation == operation && outcome.phase == Phase::Before);
        before.map(|outcome| outcome.took).max().unwrap_or_default()
    }

    /// Returns the operations that needed too long.
    fn late_recoveries(&self) -> Vec<String> {
        let recoveries = self.recoveries().into_iter();
        let late = recoveries.filter_map(|(operation, took)| {
            let limit = RECOVERY * BUSY_FACTOR + self.longest_before(operation) * SLOWER;
            (took > limit).then(|| {
                format!("{operation} succeeded {took:?} after the fault, not within {limit:?}")
            })
        });
        late.collect()
    }
}

/// Returns the longest time of an operation.
fn deadline_of(operation: &str) -> Duration {
    if QUICK_OPERATIONS.contains(&operation) {
        QUICK
    } else {
        LEASED
    }
}

impl fmt::Display for Ledger {
    /// Writes a line for each operation and part, and the failures.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.lock();
        let mut rows: BTreeMap<_, (usize, Duration, Vec<String>)> = BTreeMap::new();
        for outcome in &state.outcomes {
            let row = rows.entry((outcome.phase, outcome.operation)).or_default();
            row.1 = row.1.max(outcome.took);
            match &outcome.failure {
                None => row.0 += 1,
                Some(failure) => row.2.push(failure.to_string()),
            }
        }
        for ((phase, operation), (successes, longest, failures)) in rows {
            writeln!(
                f,
                "{phase:?} {operation}: {successes} succeeded, at most {longest:?}, {} failed",
                failures.len()
            )?;
            for failure in failures.iter().take(5) {
                writeln!(f, "    {failure}")?;
            }
        }
        let recoveries = state.recoveries();
        if !recoveries.is_empty() {
            writeln!(f, "Until the first success after the fault: {recoveries:?}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    /// Records one failure, and returns whether the fault permits it.
    async fn is_permitted(phase: Phase, failure: Failure, permitted: &Permitted) -> bool {
        let ledger = Ledger::new();
        ledger.start_phase(phase);
        ledger.record("call", async { Ok(()) }).await;
        ledger.record("call", async { Err(failure) }).await;
        catch_unwind(AssertUnwindSafe(|| ledger.judge(permitted))).is_ok()
    }

    #[tokio::test]
    async fn operation_that_began_before_the_fault_is_no_success_during_it() {
        let ledger = Ledger::new();
        let spanning = ledger.record("call", async {
            ledger.start_phase(Phase::Fault);
            Ok(())
        });
        spanning.await;
        assert_eq!(ledger.successes_during_fault("call"), 0);
        ledger.record("call", async { Ok(()) }).await;
        assert_eq!(ledger.successes_during_fault("call"), 1);
    }

    #[test]
    fn time_of_the_first_success_after_a_fault_is_limited() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let outcome = |started, ended, succeeds: bool| Outcome {
            operation: "call",
            phase: Phase::Fault,
            started_in: Phase::Fault,
            failure: (!succeeds).then(|| Failure::Unavailable("503".to_owned())),
            started: at(started),
            took: at(ended) - at(started),
        };
        for (outcomes, expected) in [
            // An attempt during the fault does not count.
            (vec![outcome(0, 60, false), outcome(60, 61, true)], 0),
            (vec![outcome(10, 15, false), outcome(15, 29, true)], 0),
            (vec![outcome(10, 20, false), outcome(20, 31, true)], 1),
            // Only the first success counts.
            (vec![outcome(10, 11, true), outcome(11, 90, false)], 0),
        ] {
            let state = State {
                phase: Phase::After,
                outcomes,
                recovering_since: Some(at(5)),
            };
            assert_eq!(state.late_recoveries().len(), expected, "{state:?}");
        }
    }

    #[tokio::test]
    async fn only_a_fault_permits_failures_and_nothing_permits_wrong_results() {
        let unavailable = || Failure::Unavailable("503".to_owned());
        let lost = || Failure::Lost("404".to_owned());
        let wrong = || Failure::Wrong("event 1 was sent twice".to_owned());
        let any = Permitted::default();
        let loss = Permitted {
            loss: true,
            ..Permitted::default()
        };
        let none = Permitted {
            failures: &[("call", 0)],
            ..Permitted::default()
        };
        for (phase, failure, permitted, expected) in [
            (Phase::Before, unavailable(), &any, false),
            (Phase::Fault, unavailable(), &any, true),
            (Phase::Fault, unavailable(), &none, false),
            (Phase::After, unavailable(), &any, false),
            (Phase::Fault, lost(), &any, false),
            (Phase::Fault, lost(), &loss, true),
            (Phase::Fault, wrong(), &loss, false),
        ] {
            let case = format!("{phase:?}: {failure}");
            let outcome = is_permitted(phase, failure, permitted).await;
            assert_eq!(outcome, expected, "{case}");
        }
    }
}
