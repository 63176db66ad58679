//! The state of the last build and start, as the page shows it.
//!
//! A failure stays visible until a later build runs. The server of the last good build may end and start again in the
//! meantime, which does not change the state.

use serde::Serialize;
use serde_json::Value;

/// The last build and start.
#[derive(Debug, Serialize)]
struct BuildState<'a> {
    /// Counts builds from 1.
    number: u64,
    phase: BuildPhase,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<&'a str>,
    /// Why the last build or start failed, or why the server has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    /// The output of the failed build, as plain text.
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<&'a str>,
}

#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "lowercase")]
enum BuildPhase {
    Building,
    Starting,
    Running,
    /// The build or the start failed. The server of the last good build still runs, if there is one.
    Failed,
    /// The server has ended by itself, and is started again after a pause.
    Stopped,
}

/// A build or start that failed.
#[derive(Debug)]
pub(super) struct BuildFailure {
    pub(super) number: u64,
    /// The command of a failed build.
    pub(super) command: Option<String>,
    pub(super) error: String,
    /// The output of a failed build.
    pub(super) output: Option<String>,
}

/// Returns the state after each event.
#[derive(Debug, Default)]
pub(super) struct BuildStates {
    /// The last failure, until a later build runs.
    failure: Option<BuildFailure>,
}

impl BuildStates {
    pub(super) fn building(&self, number: u64, command: &str) -> Value {
        self.state(number, BuildPhase::Building, Some(command))
    }

    pub(super) fn starting(&self, number: u64) -> Value {
        self.state(number, BuildPhase::Starting, None)
    }

    pub(super) fn failed(&mut self, failure: BuildFailure) -> Value {
        let failure = self.failure.insert(failure);
        let number = failure.number;
        self.state(number, BuildPhase::Failed, None)
    }

    /// Returns the state after the server of a build has responded.
    pub(super) fn running(&mut self, number: u64) -> Value {
        if let Some(later) = self.later_failure(number) {
            return self.state(later.number, BuildPhase::Failed, None);
        }
        self.failure = None;
        self.state(number, BuildPhase::Running, None)
    }

    /// Returns the state after the server of a build has ended by itself.
    pub(super) fn stopped(&self, number: u64, error: &str) -> Value {
        match self.later_failure(number) {
            Some(later) => self.state(later.number, BuildPhase::Failed, None),
            None => to_value(&BuildState {
                number,
                phase: BuildPhase::Stopped,
                command: None,
                error: Some(error),
                output: None,
            }),
        }
    }

    /// Returns the last failure if its build is later than this one.
    pub(super) fn later_failure(&self, number: u64) -> Option<&BuildFailure> {
        let failure = self.failure.as_ref();
        failure.filter(|failure| failure.number > number)
    }

    /// Returns a state with the last failure.
    fn state(&self, number: u64, phase: BuildPhase, command: Option<&str>) -> Value {
        let failure = self.failure.as_ref();
        to_value(&BuildState {
            number,
            phase,
            command: command.or(failure.and_then(|failure| failure.command.as_deref())),
            error: failure.map(|failure| &*failure.error),
            output: failure.and_then(|failure| failure.output.as_deref()),
        })
    }
}

fn to_value(state: &BuildState<'_>) -> Value {
    serde_json::to_value(state).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn failure(number: u64) -> BuildFailure {
        BuildFailure {
            number,
            command: Some("make".to_owned()),
            error: "the build failed".to_owned(),
            output: Some("error: no".to_owned()),
        }
    }

    fn with_failure(number: u64, phase: &str) -> Value {
        json!({
            "number": number, "phase": phase, "command": "make", "error": "the build failed", "output": "error: no",
        })
    }

    #[test]
    fn failed_build_is_shown_until_a_later_one_runs() {
        let mut states = BuildStates::default();
        assert_eq!(states.running(1), json!({"number": 1, "phase": "running"}));
        assert_eq!(states.failed(failure(2)), with_failure(2, "failed"));
        // The server of the first build ends and starts again.
        assert_eq!(states.stopped(1, "gone"), with_failure(2, "failed"));
        assert_eq!(states.running(1), with_failure(2, "failed"));
        assert_eq!(states.building(3, "make"), with_failure(3, "building"));
        assert_eq!(states.starting(3), with_failure(3, "starting"));
        assert_eq!(states.running(3), json!({"number": 3, "phase": "running"}));
        assert_eq!(
            states.stopped(3, "gone"),
            json!({"number": 3, "phase": "stopped", "error": "gone"})
        );
    }

    #[test]
    fn server_that_starts_at_a_later_attempt_ends_the_failure_of_its_start() {
        let mut states = BuildStates::default();
        assert_eq!(states.failed(failure(1)), with_failure(1, "failed"));
        assert!(states.later_failure(1).is_none());
        assert_eq!(states.running(1), json!({"number": 1, "phase": "running"}));
    }
}
