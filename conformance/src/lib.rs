//! The official conformance suite against toolwire, run from here and judged here.
//!
//! The suite's own verdict is too mild: it forgives warnings, and a scenario it skips looks like one that passed. So
//! [`Suite`] only runs it, and [`Verdict`] reads every check it has written. `cargo xtask conformance server` and `client`
//! install the suite and run it through [`check_server`] and [`check_client`]; so do the tests of this crate.

mod fixture;
mod judge;
mod results;
mod suite;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use toolwire::ProtocolVersion;

pub use fixture::Fixture;
pub use judge::{Check, Status, Verdict};
pub use suite::{ClientRun, Suite};
pub use table::Table;

/// Client scenarios that are not run: how their names begin, and why.
const LEFT_OUT: [(&str, &str); 1] = [("auth/", "the client does not authorize itself yet")];

/// The revisions the suite has scenarios for, oldest first: all but the first one, whose transport it does not speak.
pub fn spec_versions() -> impl Iterator<Item = &'static str> {
    let versions = ProtocolVersion::ALL.into_iter().skip(1);
    versions.map(ProtocolVersion::as_str)
}

/// Starts the server `binary` and runs all scenarios of a revision against it; `results` is emptied first.
///
/// # Errors
/// When the suite is not installed, or it or the server cannot be run. A server that misbehaves is no error but a
/// verdict with problems.
pub async fn check_server(
    suite: &Suite,
    binary: &Path,
    spec_version: &str,
    results: &Path,
) -> Result<Verdict, Problem> {
    let expected = suite.server_scenarios(spec_version).await?;
    let server = Fixture::start(binary).await?;
    let outcomes = suite
        .run_server(server.url(), spec_version, results)
        .await?;
    Ok(Verdict::of(spec_version, &expected, &outcomes))
}

/// Runs the client scenarios of a revision, each with its own process of `binary`; `results` holds a directory for each.
///
/// # Errors
/// When the suite is not installed or cannot be run. A client that misbehaves is no error but a verdict with problems.
pub async fn check_client(
    suite: &Suite,
    binary: &Path,
    spec_version: &str,
    results: &Path,
) -> Result<Verdict, Problem> {
    let all = suite.client_scenarios(spec_version).await?;
    let (expected, left_out): (BTreeSet<_>, BTreeSet<_>) = all
        .into_iter()
        .partition(|name| reason_to_leave_out(name).is_none());
    let mut outcomes = BTreeMap::new();
    let mut bad_ends = Vec::new();
    for scenario in &expected {
        let results = results.join(scenario);
        let run = suite
            .run_client(binary, scenario, spec_version, &results)
            .await?;
        bad_ends.extend(run.bad_end.map(|end| format!("{scenario}: {end}")));
        outcomes.insert(scenario.clone(), run.checks);
    }
    let mut verdict = Verdict::of(spec_version, &expected, &outcomes);
    verdict.problems.extend(bad_ends);
    verdict.left_out = describe(left_out);
    Ok(verdict)
}

fn reason_to_leave_out(scenario: &str) -> Option<&'static str> {
    let (_, reason) = LEFT_OUT
        .into_iter()
        .find(|(prefix, _)| scenario.starts_with(prefix))?;
    Some(reason)
}

fn describe(left_out: BTreeSet<String>) -> Vec<String> {
    let reasons = left_out.into_iter().filter_map(|name| {
        let reason = reason_to_leave_out(&name)?;
        Some(format!("{name}: {reason}"))
    });
    reasons.collect()
}

/// Why the suite could not be run, in one line that says what to do where something can be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem(String);

impl Problem {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Problem {}
