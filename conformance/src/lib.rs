//! Runs the official conformance suite with toolwire and evaluates its results.
//!
//! The suite's own verdict is too lenient: it accepts warnings, and a skipped scenario counts as passed. So [`Suite`]
//! only runs it, and [`Verdict`] reads every check. `cargo xtask conformance server`, `client` and `authorization`
//! install the suite and run it through [`check_server`], [`check_client`] and [`check_authorization`]. The tests of
//! this crate do the same.

mod authorization;
mod fixture;
mod plain_http;
mod results;
mod suite;
mod table;
mod user;
mod verdict;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use toolwire::ProtocolVersion;
use toolwire_proto::extensions::may_declare;

pub use authorization::check_authorization;
pub use fixture::Fixture;
pub use suite::{AuthorizationRun, ClientRun, ClientUnderTest, Suite};
pub use table::Table;
pub use verdict::{Check, Status, Verdict};

/// Client scenarios with an untrusted server or authorization server. The suite accepts a client that continues without
/// harm. Our client must return an error.
const MUST_FAIL: [&str; 10] = [
    "auth/iss-normalized",
    "auth/iss-supported-missing",
    "auth/iss-unexpected",
    "auth/iss-wrong-issuer",
    "auth/metadata-issuer-mismatch",
    "auth/resource-mismatch",
    "auth/scope-retry-limit",
    "sep-2640-client-verify-digest",
    "sep-2640-client-verify-frontmatter",
    "sep-2640-client-verify-size",
];

/// The name of the verdict about extensions.
const EXTENSIONS: &str = "extensions";

/// The extensions that the newest revision and older ones have: the start of the names of their scenarios, and their ids.
const OLDER_EXTENSIONS: [(&str, &str); 1] = [("sep-2640-", "io.modelcontextprotocol/skills")];

/// Returns the revisions that the suite has scenarios for, oldest first. The first revision is missing, because the
/// suite does not support its transport.
pub fn spec_versions() -> impl Iterator<Item = &'static str> {
    let versions = ProtocolVersion::ALL.into_iter().skip(1);
    versions.map(ProtocolVersion::as_str)
}

/// Starts the server `binary` and runs all scenarios of a revision with it. `results` is emptied first.
///
/// # Errors
/// Returns an error if the suite is not installed, or if the suite or the server cannot run. A server that fails checks
/// is not an error, but a verdict with problems.
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

/// Starts the server `binary` behind the proxy of `command`, and runs all scenarios of a revision with the proxy.
///
/// # Errors
/// Returns the same errors as [`check_server`].
pub async fn check_proxy(
    suite: &Suite,
    command: &Path,
    binary: &Path,
    spec_version: &str,
    results: &Path,
) -> Result<Verdict, Problem> {
    let expected = suite.server_scenarios(spec_version).await?;
    let server = Fixture::start(binary).await?;
    let proxy = Fixture::start_proxy(command, server.url()).await?;
    let outcomes = suite.run_server(proxy.url(), spec_version, results).await?;
    Ok(Verdict::of(spec_version, &expected, &outcomes))
}

/// Starts the server `binary` and runs the server scenarios of extensions, which have no revision.
///
/// # Errors
/// Returns the same errors as [`check_server`].
pub async fn check_server_extensions(
    suite: &Suite,
    binary: &Path,
    results: &Path,
) -> Result<Verdict, Problem> {
    let server = Fixture::start(binary).await?;
    run_extensions(suite, server.url(), results).await
}

/// Starts the server `binary` behind the proxy of `command`, and runs the server scenarios of extensions with the proxy.
///
/// # Errors
/// Returns the same errors as [`check_server`].
pub async fn check_proxy_extensions(
    suite: &Suite,
    command: &Path,
    binary: &Path,
    results: &Path,
) -> Result<Verdict, Problem> {
    let server = Fixture::start(binary).await?;
    let proxy = Fixture::start_proxy(command, server.url()).await?;
    run_extensions(suite, proxy.url(), results).await
}

async fn run_extensions(suite: &Suite, url: &str, results: &Path) -> Result<Verdict, Problem> {
    let expected = suite.server_extensions().await?;
    let mut outcomes = BTreeMap::new();
    for scenario in &expected {
        let results = results.join(scenario);
        let checks = suite.run_server_extension(url, scenario, &results).await?;
        outcomes.insert(scenario.clone(), checks);
    }
    Ok(Verdict::of(EXTENSIONS, &expected, &outcomes))
}

/// Runs the client scenarios of a revision, each with its own process of `binary`. `results` gets a directory for each.
///
/// # Errors
/// Returns an error if the suite is not installed or cannot run. A client that fails checks is not an error, but a
/// verdict with problems.
pub async fn check_client(
    suite: &Suite,
    binary: &Path,
    spec_version: &str,
    results: &Path,
) -> Result<Verdict, Problem> {
    let client = ClientUnderTest {
        binary,
        spec_version,
        is_extension: false,
    };
    let scenarios = suite.client_scenarios(spec_version).await?;
    run_scenarios(suite, client, scenarios, results).await
}

/// Runs the client scenarios of extensions, which have no revision, with each revision that has the extension.
///
/// # Errors
/// Returns the same errors as [`check_client`].
pub async fn check_client_extensions(
    suite: &Suite,
    binary: &Path,
    results: &Path,
) -> Result<Verdict, Problem> {
    let all = suite.client_extensions().await?;
    let [older @ .., latest] = ProtocolVersion::ALL;
    let older = older.map(|version| {
        let scenarios = all.iter().filter(|name| is_of_older(version, name));
        (version, scenarios.cloned().collect())
    });
    let mut verdict = Verdict::default();
    for (version, scenarios) in older.into_iter().chain([(latest, all.clone())]) {
        let client = ClientUnderTest {
            binary,
            spec_version: version.as_str(),
            is_extension: true,
        };
        let results = results.join(client.spec_version);
        verdict.add(run_scenarios(suite, client, scenarios, &results).await?);
    }
    EXTENSIONS.clone_into(&mut verdict.spec_version);
    Ok(verdict)
}

/// Returns `true` if an older revision has the extension that a scenario is about.
fn is_of_older(version: ProtocolVersion, scenario: &str) -> bool {
    let mut extensions = OLDER_EXTENSIONS.iter();
    extensions.any(|(prefix, id)| scenario.starts_with(prefix) && may_declare(version, id))
}

async fn run_scenarios(
    suite: &Suite,
    client: ClientUnderTest<'_>,
    scenarios: BTreeSet<String>,
    results: &Path,
) -> Result<Verdict, Problem> {
    let mut outcomes = BTreeMap::new();
    let mut exit_problems = Vec::new();
    for scenario in &scenarios {
        let results = results.join(scenario);
        let run = suite.run_client(client, scenario, &results).await?;
        exit_problems.extend(unexpected_exit(scenario, run.failure));
        outcomes.insert(scenario.clone(), run.checks);
    }
    let mut verdict = Verdict::of(client.spec_version, &scenarios, &outcomes);
    verdict.problems.extend(exit_problems);
    Ok(verdict)
}

fn unexpected_exit(scenario: &str, failure: Option<String>) -> Option<String> {
    match (MUST_FAIL.contains(&scenario), failure) {
        (true, None) => Some(format!("{scenario}: the client returns no error")),
        (false, Some(failure)) => Some(format!("{scenario}: {failure}")),
        (true, Some(_)) | (false, None) => None,
    }
}

/// The reason why the suite could not run, in one line, with the remedy if there is one.
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
