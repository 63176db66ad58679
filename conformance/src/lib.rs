//! The official conformance suite against toolwire, run from here and judged here.
//!
//! The suite's own verdict is too mild: it forgives warnings, and a scenario it skips looks like one that passed. So
//! [`Suite`] only runs it, and [`Verdict`] reads every check it has written. `cargo xtask conformance server` installs the
//! suite and runs it through [`check_server`]; so do the tests of this crate.

mod fixture;
mod judge;
mod suite;

use std::fmt;
use std::path::Path;

use toolwire::ProtocolVersion;

pub use fixture::Fixture;
pub use judge::{Check, Status, Verdict};
pub use suite::Suite;

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
