//! A client that is not ours, against a server of ours.
//!
//! It is a script in `interop/peers` that spawns the server through its SDK, or connects to the one on HTTP that was
//! started for it, runs named checks and prints one line per check. Here the script is started and its lines are read; a
//! script that hangs is ended.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::installed::{node, peers_directory, python};
use crate::lines::{collect, lines_of};
use crate::listening::Listening;
use crate::problem::Problem;
use crate::subject::Subject;

/// Longer than all checks of a script together when each of them is healthy or one or two run into their timeout.
const SCRIPT_TIMEOUT: Duration = Duration::from_secs(180);

/// How long the error output may lag behind the end of the script.
const STDERR_GRACE: Duration = Duration::from_secs(5);

/// How a peer reaches the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wire {
    /// The peer starts the server and talks over its standard input and output.
    Stdio,
    /// The peer connects to a server that listens on HTTP.
    Http,
}

/// A client implementation that is not ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Peer {
    /// `@modelcontextprotocol/client` 2.x from npm.
    TypeScript2,
    /// `@modelcontextprotocol/sdk` 1.x from npm.
    TypeScript1,
    /// `mcp` from PyPI.
    Python,
}

impl Peer {
    /// Runs every check that the scripts have for this server.
    ///
    /// `mode` is a protocol revision, or `auto` where the SDK can find the revision by itself. Over HTTP the server is
    /// a process of its own for each run, and how it ends is a check, too.
    ///
    /// # Errors
    ///
    /// When the server or the peer is missing, or the script hangs or prints something else than checks.
    pub fn run(self, subject: &Subject, wire: Wire, mode: &str) -> Result<Vec<Check>, Problem> {
        let mut command = Command::new(self.interpreter()?);
        command
            .arg(peers_directory().join(self.script()))
            .args([subject.name(), mode]);
        // Nothing is left behind between the scripts.
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        match wire {
            Wire::Stdio => {
                let (program, arguments) = subject.command(wire)?;
                command.arg(program).args(arguments);
                run_script(command, SCRIPT_TIMEOUT)
            }
            Wire::Http => {
                let server = Listening::start(subject)?;
                command.arg(server.url());
                let mut checks = run_script(command, SCRIPT_TIMEOUT)?;
                checks.push(server.end());
                Ok(checks)
            }
        }
    }

    /// The command that logs in at the protected server at `url`, and calls two tools of which the second needs more.
    ///
    /// It writes a line `open <url>` whenever its user has to go there, and a line `said <text>` for each answer.
    ///
    /// # Errors
    ///
    /// When the peer is not installed.
    pub fn login(self, revision: &str, url: &str) -> Result<Command, Problem> {
        let mut command = Command::new(self.interpreter()?);
        let peers = peers_directory();
        match self {
            Self::TypeScript2 => command.arg(peers.join("login.mjs")).arg("ts2"),
            Self::TypeScript1 => command.arg(peers.join("login.mjs")).arg("ts1"),
            Self::Python => command.arg(peers.join("login.py")),
        };
        command.args([revision, url]);
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        Ok(command)
    }

    /// The command of a plain HTTP client, the one that the SDK is built on: it is rejected at `url` with 401, reads the
    /// metadata of the resource, and sends the request again with a token; as many times as `sequences` says.
    ///
    /// It writes a line `sequences <count>, connections <count>` when all of them have succeeded.
    ///
    /// # Errors
    ///
    /// Returns an error if the peer is not installed.
    pub fn rejected_requests(
        self,
        url: &str,
        token: &str,
        sequences: usize,
    ) -> Result<Command, Problem> {
        let mut command = Command::new(self.interpreter()?);
        let script = match self {
            Self::TypeScript2 | Self::TypeScript1 => "rejected_requests.mjs",
            Self::Python => "rejected_requests.py",
        };
        command.arg(peers_directory().join(script));
        command.args([url, token, &sequences.to_string()]);
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        Ok(command)
    }

    const fn script(self) -> &'static str {
        match self {
            Self::TypeScript2 => "ts2_client.mjs",
            Self::TypeScript1 => "ts1_client.mjs",
            Self::Python => "python_client.py",
        }
    }

    fn interpreter(self) -> Result<PathBuf, Problem> {
        match self {
            Self::TypeScript2 | Self::TypeScript1 => node(),
            Self::Python => python(),
        }
    }
}

/// One line of a script: a named fact about the server that held or did not.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Check {
    /// The name, as listed in the tests.
    pub name: String,
    /// Whether the server behaved.
    pub ok: bool,
    /// What was wrong, as the script wrote it (still JSON-escaped); empty when `ok`.
    pub detail: String,
}

impl Check {
    /// Reads `{"check":"name","ok":true,"detail":"..."}`, written exactly so by the scripts.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let (name, rest) = line.strip_prefix(r#"{"check":""#)?.split_once('"')?;
        let rest = rest.strip_prefix(r#","ok":"#)?;
        let (ok, rest) = match rest.strip_prefix("true") {
            Some(rest) => (true, rest),
            None => (false, rest.strip_prefix("false")?),
        };
        let detail = rest.strip_prefix(r#","detail":""#)?.strip_suffix(r#""}"#)?;
        Some(Self {
            name: name.to_owned(),
            ok,
            detail: detail.to_owned(),
        })
    }
}

fn run_script(mut command: Command, timeout: Duration) -> Result<Vec<Check>, Problem> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| Problem::new(format!("{command:?} does not start: {error}")))?;
    let lines = lines_of(child.stdout.take().expect("stdout is piped"));
    let errors = lines_of(child.stderr.take().expect("stderr is piped"));

    let output = collect(&lines, timeout);
    if output.is_err() {
        end(&mut child)?;
    }
    let status = child
        .wait()
        .map_err(|error| Problem::new(format!("cannot wait for the script: {error}")))?;
    // The server inherits this pipe, so a server that outlives its client must not be waited for.
    let stderr = collect(&errors, STDERR_GRACE).unwrap_or_else(|so_far| so_far);
    let explain = |what: &str, stdout: &[String]| {
        Problem::new(format!(
            "{what}\nstdout:\n{}\nstderr:\n{}",
            stdout.join("\n"),
            stderr.join("\n")
        ))
    };

    let output = output.map_err(|so_far| explain("the script did not end in time", &so_far))?;
    let checks: Option<Vec<Check>> = output.iter().map(|line| Check::parse(line)).collect();
    let checks =
        checks.ok_or_else(|| explain("the script printed something else than checks", &output))?;
    if status.success() != checks.iter().all(|check| check.ok) || checks.is_empty() {
        return Err(explain(
            &format!("the script ended with {status}, which its checks do not explain"),
            &output,
        ));
    }
    Ok(checks)
}

fn end(child: &mut Child) -> Result<(), Problem> {
    child
        .kill()
        .map_err(|error| Problem::new(format!("the script hangs and cannot be killed: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_lines_are_read_and_others_refused() {
        fn check(line: &str, expected: Option<(&str, bool, &str)>) {
            let parsed = Check::parse(line);
            let parsed = parsed
                .as_ref()
                .map(|check| (check.name.as_str(), check.ok, check.detail.as_str()));
            assert_eq!(parsed, expected, "{line}");
        }
        check(
            r#"{"check":"call_echo","ok":true,"detail":""}"#,
            Some(("call_echo", true, "")),
        );
        check(
            r#"{"check":"cancel","ok":false,"detail":"\"1\" is not 0"}"#,
            Some(("cancel", false, r#"\"1\" is not 0"#)),
        );
        check(r#"{"check":"cancel","ok":1,"detail":""}"#, None);
        check(r#"{"check":"cancel","ok":true}"#, None);
        check("Traceback (most recent call last):", None);
        check("", None);
    }
}
