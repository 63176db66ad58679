//! Evaluates the checks of a run.
//!
//! A scenario passes if at least one check about the subject succeeded, and none failed, warned or was skipped. The
//! checks that may be skipped are listed here with a reason.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Deserialize;

/// A check of the message schema, which also succeeds if no message was sent.
const SCHEMA_CHECK: &str = "wire-schema-valid";

/// Required checks, as scenario and check. The suite omits them, instead of failing, if a server lacks their feature.
const REQUIRED_CHECKS: [(&str, &str); 1] = [("server-sse-polling", "server-sse-disconnect-resume")];

/// Checks that cannot run: the scenario, the name of the check, and the reason.
const EXCUSED: [(&str, &str, &str); 2] = [
    (
        "http-standard-headers",
        "ClientMcpMethodHeader_initialize",
        "a revision with this header has no initialize",
    ),
    (
        "http-standard-headers",
        "ClientMcpMethodHeader_notifications_initialized",
        "a revision with this header has no notifications/initialized",
    ),
];

/// Scenarios without checks: their names, and what checks their subject instead. The suite reports them as skipped.
const EMPTY_SCENARIOS: [(&str, &str); 1] = [(
    "tasks-status-notifications",
    "the suite has no check yet; the tests of `toolwire-tests` check the notifications",
)];

/// One check from the results of the suite.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Check {
    /// The kind of the check.
    pub id: String,
    /// The name of the check within its kind.
    #[serde(default)]
    pub name: String,
    /// The status of the check.
    pub status: Status,
    /// The error message.
    #[serde(default)]
    pub error_message: Option<String>,
}

/// The status of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
#[non_exhaustive]
pub enum Status {
    /// A requirement is met.
    Success,
    /// A requirement is violated.
    Failure,
    /// A recommendation is not followed.
    Warning,
    /// The check did not run.
    Skipped,
    /// Information that is not about the subject.
    Info,
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Verdict {
    /// The protocol revision.
    pub spec_version: String,
    /// The number of scenarios that ran.
    pub scenarios: usize,
    /// The number of successful checks.
    pub passed: usize,
    /// The number of failed checks.
    pub failed: usize,
    /// The number of checks with a warning.
    pub warnings: usize,
    /// The checks that cannot run, with the reason.
    pub excused: Vec<String>,
    /// All problems, one per line.
    pub problems: Vec<String>,
}

impl Verdict {
    /// Evaluates the checks of each scenario that ran, and compares the scenarios with those that had to run.
    #[must_use]
    pub fn of(
        spec_version: &str,
        expected: &BTreeSet<String>,
        outcomes: &BTreeMap<String, Vec<Check>>,
    ) -> Self {
        let mut verdict = Self {
            spec_version: spec_version.to_owned(),
            scenarios: outcomes.len(),
            ..Self::default()
        };
        for scenario in expected {
            if !outcomes.contains_key(scenario) {
                verdict.problems.push(format!("{scenario}: did not run"));
            }
        }
        for (scenario, checks) in outcomes {
            verdict.count(scenario, checks);
            verdict.problems.extend(problems_of(scenario, checks));
        }
        verdict
    }

    /// Returns `true` if there are no problems.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.problems.is_empty()
    }

    /// Adds the numbers and texts of another run. Its problems get the name of its revision.
    pub(crate) fn add(&mut self, other: Self) {
        self.scenarios += other.scenarios;
        self.passed += other.passed;
        self.failed += other.failed;
        self.warnings += other.warnings;
        self.excused.extend(other.excused);
        let named = |problem| format!("{}: {problem}", other.spec_version);
        self.problems.extend(other.problems.into_iter().map(named));
    }

    fn count(&mut self, scenario: &str, checks: &[Check]) {
        for check in checks {
            if let Some(reason) = excuse(scenario, check) {
                let name = &check.name;
                self.excused.push(format!("{scenario}: {name}: {reason}"));
            }
            match check.status {
                Status::Success => self.passed += 1,
                Status::Failure => self.failed += 1,
                Status::Warning => self.warnings += 1,
                Status::Skipped | Status::Info => {}
            }
        }
    }
}

/// Writes the numbers in one line, then the problems.
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {} scenarios; checks: {} passed, {} failed, {} warnings, {} excused",
            self.spec_version,
            self.scenarios,
            self.passed,
            self.failed,
            self.warnings,
            self.excused.len()
        )?;
        for problem in &self.problems {
            write!(f, "\n  {problem}")?;
        }
        Ok(())
    }
}

/// Returns the reason why a check may be skipped.
fn excuse(scenario: &str, check: &Check) -> Option<&'static str> {
    if check.status == Status::Skipped && replacement(scenario).is_some() {
        return replacement(scenario);
    }
    let (.., reason) = EXCUSED.into_iter().find(|(owner, name, _)| {
        check.status == Status::Skipped && *owner == scenario && *name == check.name
    })?;
    Some(reason)
}

/// Returns what checks the subject of a scenario without checks.
fn replacement(scenario: &str) -> Option<&'static str> {
    let mut empty = EMPTY_SCENARIOS.into_iter();
    let (_, replacement) = empty.find(|(name, _)| *name == scenario)?;
    Some(replacement)
}

fn problems_of(scenario: &str, checks: &[Check]) -> Vec<String> {
    let mut problems = Vec::new();
    for check in checks {
        let outcome = match check.status {
            Status::Failure => "failed",
            Status::Warning => "warned",
            Status::Skipped if excuse(scenario, check).is_some() => continue,
            Status::Skipped => "skipped",
            Status::Success | Status::Info => continue,
        };
        let message = check.error_message.as_deref().unwrap_or("no reason given");
        problems.push(format!("{scenario}: {} {outcome}: {message}", check.id));
    }
    let succeeded = |wanted: &dyn Fn(&str) -> bool| {
        let mut successes = checks
            .iter()
            .filter(|check| check.status == Status::Success);
        successes.any(|check| wanted(&check.id))
    };
    // The suite reports a scenario without checks as one skipped check.
    let is_excused = replacement(scenario).is_some()
        && checks.iter().any(|check| check.status == Status::Skipped);
    if problems.is_empty() && !is_excused && !succeeded(&|id| id != SCHEMA_CHECK) {
        problems.push(format!("{scenario}: no check succeeded"));
    }
    for (owner, needed) in REQUIRED_CHECKS {
        if owner == scenario && !succeeded(&|id| id == needed) {
            problems.push(format!("{scenario}: {needed} was left out"));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(scenario: &str, checks: &str) -> Vec<String> {
        let checks: Vec<Check> = serde_json::from_str(checks).unwrap();
        let expected = BTreeSet::from([scenario.to_owned()]);
        let outcomes = BTreeMap::from([(scenario.to_owned(), checks)]);
        Verdict::of("2025-11-25", &expected, &outcomes).problems
    }

    fn check(checks: &str, expected: &[&str]) {
        assert_eq!(problems("ping", checks), expected, "{checks}");
    }

    #[test]
    fn scenario_passes_if_only_successes_are_reported() {
        check(
            r#"[{"id":"ping","status":"SUCCESS"},{"id":"note","status":"INFO"}]"#,
            &[],
        );
    }

    #[test]
    fn failures_warnings_and_skips_are_problems() {
        check(
            r#"[{"id":"a","status":"SUCCESS"},{"id":"b","status":"FAILURE","errorMessage":"no"}]"#,
            &["ping: b failed: no"],
        );
        check(
            r#"[{"id":"a","status":"SUCCESS"},{"id":"b","status":"WARNING","errorMessage":"hm"}]"#,
            &["ping: b warned: hm"],
        );
        check(
            r#"[{"id":"a","status":"SKIPPED"}]"#,
            &["ping: a skipped: no reason given"],
        );
    }

    #[test]
    fn only_listed_checks_are_excused() {
        let checks = |name: &str, status: &str| {
            format!(
                r#"[{{"id":"a","status":"SUCCESS"}},{{"id":"b","name":"{name}","status":"{status}"}}]"#
            )
        };
        let excused = "ClientMcpMethodHeader_initialize";
        let skipped = checks(excused, "SKIPPED");
        assert!(problems("http-standard-headers", &skipped).is_empty());
        assert_eq!(problems("ping", &skipped).len(), 1);
        let failed = checks(excused, "FAILURE");
        assert_eq!(problems("http-standard-headers", &failed).len(), 1);
        let another = checks("ClientMcpMethodHeader_tools_list", "SKIPPED");
        assert_eq!(problems("http-standard-headers", &another).len(), 1);
    }

    #[test]
    fn empty_scenario_may_only_be_skipped() {
        let scenario = "tasks-status-notifications";
        let check = |status: &str| format!(r#"[{{"id":"a","status":"{status}"}}]"#);
        assert!(problems(scenario, &check("SKIPPED")).is_empty());
        assert!(problems(scenario, &check("SUCCESS")).is_empty());
        assert_eq!(problems(scenario, "[]").len(), 1);
        assert_eq!(problems(scenario, &check("INFO")).len(), 1);
        assert_eq!(problems(scenario, &check("FAILURE")).len(), 1);
        assert_eq!(problems(scenario, &check("WARNING")).len(), 1);
    }

    #[test]
    fn scenario_without_a_success_does_not_pass() {
        check("[]", &["ping: no check succeeded"]);
        check(
            r#"[{"id":"wire-schema-valid","status":"SUCCESS"},{"id":"a","status":"INFO"}]"#,
            &["ping: no check succeeded"],
        );
    }

    #[test]
    fn omitted_check_is_a_problem() {
        let problems = problems(
            "server-sse-polling",
            r#"[{"id":"server-sse-priming-event","status":"SUCCESS"}]"#,
        );
        assert_eq!(
            problems,
            ["server-sse-polling: server-sse-disconnect-resume was left out"]
        );
    }

    #[test]
    fn runs_are_added() {
        let run = |version: &str, status: &str| {
            let checks = format!(r#"[{{"id":"a","status":"{status}","errorMessage":"no"}}]"#);
            let checks: Vec<Check> = serde_json::from_str(&checks).unwrap();
            let outcomes = BTreeMap::from([("ping".to_owned(), checks)]);
            Verdict::of(version, &BTreeSet::new(), &outcomes)
        };
        let mut both = run("2026-07-28", "SUCCESS");
        both.add(run("2025-11-25", "FAILURE"));
        assert_eq!((both.scenarios, both.passed, both.failed), (2, 1, 1));
        assert_eq!(both.problems, ["2025-11-25: ping: a failed: no"]);
    }

    #[test]
    fn scenario_that_did_not_run_is_a_problem() {
        let expected = BTreeSet::from(["ping".to_owned()]);
        let verdict = Verdict::of("2025-11-25", &expected, &BTreeMap::new());
        assert_eq!(verdict.problems, ["ping: did not run"]);
        assert!(!verdict.is_clean());
    }
}
