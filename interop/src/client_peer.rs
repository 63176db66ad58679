//! Runs an independent client against a toolwire server.
//!
//! The client is a script in `interop/peers`. It starts the server through its SDK, or connects to a server over HTTP,
//! runs named checks and prints one line per check. This module starts the script, reads its lines, and ends a script
//! that hangs.

use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::Receiver;
#[cfg(unix)]
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

#[cfg(unix)]
use crate::fleet::Fleet;
use crate::installed::{node, peers_directory, python};
use crate::lines::{collect, lines_of};
use crate::listening::ListeningServer;
use crate::problem::Problem;
use crate::subject::Subject;

/// Longer than all checks of a script take, even if one or two of them time out.
pub(crate) const SCRIPT_TIMEOUT: Duration = Duration::from_secs(180);

/// How long to wait for error output after the script has ended.
const STDERR_GRACE: Duration = Duration::from_secs(5);

/// The transport between a peer and the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wire {
    /// The peer starts the server and uses its standard input and output.
    Stdio,
    /// The peer connects to a server over HTTP.
    Http,
}

/// An independent client implementation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Peer {
    /// `@modelcontextprotocol/client` 2.x from npm.
    TypeScript2,
    /// `@modelcontextprotocol/ext-tasks` from npm, the tasks of `@modelcontextprotocol/client` 2.x.
    TypeScriptTasks,
    /// `@modelcontextprotocol/sdk` 1.x from npm.
    TypeScript1,
    /// `mcp` from PyPI.
    Python,
}

impl Peer {
    /// Runs every check of the script for this server.
    ///
    /// `mode` is a protocol revision, or `auto` if the SDK detects it. Over HTTP, each run has its own server process,
    /// and its exit is a check, too.
    ///
    /// # Errors
    ///
    /// Returns an error if the server or the peer is missing, or if the script hangs or prints anything but checks.
    pub fn run(self, subject: &Subject, wire: Wire, mode: &str) -> Result<Vec<Check>, Problem> {
        self.run_without(&[], subject, wire, mode)
    }

    /// Runs every check of the script but these, which do not apply to the server; see [`run`](Self::run).
    ///
    /// # Errors
    ///
    /// Returns an error if the server or the peer is missing, or if the script hangs or prints anything but checks.
    pub fn run_without(
        self,
        excluded: &[&str],
        subject: &Subject,
        wire: Wire,
        mode: &str,
    ) -> Result<Vec<Check>, Problem> {
        let mut command = Command::new(self.interpreter()?);
        command
            .arg(peers_directory().join(self.script()))
            .args([subject.name(), mode]);
        // Python must not write files between the scripts.
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        command.env("TOOLWIRE_EXCLUDED_CHECKS", excluded.join(","));
        match wire {
            Wire::Stdio => {
                let (program, arguments) = subject.command(wire)?;
                command.arg(program).args(arguments);
                Ok(run_script(command, SCRIPT_TIMEOUT)?.checks)
            }
            Wire::Http => {
                let server = ListeningServer::start(subject)?;
                command.arg(server.url());
                let mut checks = run_script(command, SCRIPT_TIMEOUT)?.checks;
                checks.push(server.end());
                Ok(checks)
            }
        }
    }

    /// Runs the checks of `toolwire demo` with several nodes behind a balancer.
    ///
    /// # Errors
    /// Returns an error if a program is missing or the script does not end.
    #[cfg(unix)]
    pub fn run_with_fleet(self, fleet: Fleet, mode: &str) -> Result<Vec<Check>, Problem> {
        let mut command = Command::new(self.interpreter()?);
        command
            .arg(peers_directory().join(self.script()))
            .args([Subject::Demo.name(), mode, &fleet.url()])
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("TOOLWIRE_NODES", fleet.nodes().to_string());
        let mut checks = run_script(command, SCRIPT_TIMEOUT)?.checks;
        checks.push(fleet.end());
        Ok(checks)
    }

    /// Starts calls to a fleet whose nodes are restarted in the meantime. They go on until
    /// [`RunningCalls::end`].
    ///
    /// # Errors
    /// Returns an error if the peer is missing.
    #[cfg(unix)]
    pub fn start_calls(
        self,
        fleet: &Fleet,
        mode: &str,
        permitted: PermittedFailures,
    ) -> Result<RunningCalls, Problem> {
        let checks = match permitted {
            PermittedFailures::None => "fleet",
            _ => "faulty-fleet",
        };
        let limit = match permitted {
            PermittedFailures::None | PermittedFailures::WithStore => "0".to_owned(),
            PermittedFailures::AtMost(limit) => limit.to_string(),
            PermittedFailures::Any | PermittedFailures::Session => "any".to_owned(),
        };
        let flag = |is_set: bool| if is_set { "1" } else { "0" };
        let mut command = Command::new(self.interpreter()?);
        command
            .arg(peers_directory().join(self.script()))
            .args([checks, mode, &fleet.url()])
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("TOOLWIRE_PERMITTED_FAILURES", limit)
            .env(
                "TOOLWIRE_STORE_FAILS",
                flag(permitted == PermittedFailures::WithStore),
            )
            .env(
                "TOOLWIRE_SESSION_MAY_BE_LOST",
                flag(permitted == PermittedFailures::Session),
            )
            .stdin(Stdio::piped());
        let script = Script::start(command)?;
        Ok(RunningCalls { script })
    }

    /// Returns the command that logs in at the protected server at `url` and calls two tools. The second one needs
    /// another scope.
    ///
    /// It writes a line `open <url>` when its user has to open a page, and a line `result <text>` for each result.
    ///
    /// # Errors
    ///
    /// Returns an error if the peer is not installed.
    pub fn login(self, revision: &str, url: &str) -> Result<Command, Problem> {
        let mut command = Command::new(self.interpreter()?);
        let peers = peers_directory();
        match self {
            Self::TypeScript2 | Self::TypeScriptTasks => {
                command.arg(peers.join("login.mjs")).arg("ts2")
            }
            Self::TypeScript1 => command.arg(peers.join("login.mjs")).arg("ts1"),
            Self::Python => command.arg(peers.join("login.py")),
        };
        command.args([revision, url]);
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        Ok(command)
    }

    /// Returns the command of a plain HTTP client, on which the SDK is built. It is rejected at `url` with 401, reads
    /// the resource metadata, and sends the request again with a token. It does so `sequences` times.
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
            Self::TypeScript2 | Self::TypeScriptTasks | Self::TypeScript1 => {
                "rejected_requests.mjs"
            }
            Self::Python => "rejected_requests.py",
        };
        command.arg(peers_directory().join(script));
        command.args([url, token, &sequences.to_string()]);
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        Ok(command)
    }

    /// Runs a program, which may use the SDK, and returns the lines that it prints.
    ///
    /// # Errors
    ///
    /// Returns an error if the peer is not installed, or if the program hangs or fails.
    pub fn run_program(self, text: &str) -> Result<Vec<String>, Problem> {
        let mut command = Command::new(self.interpreter()?);
        match self {
            Self::TypeScript2 | Self::TypeScriptTasks | Self::TypeScript1 => {
                command.args(["--input-type=module", "--eval"])
            }
            Self::Python => command.arg("-c"),
        };
        // Node.js looks for packages from this directory on.
        command.arg(text).current_dir(peers_directory());
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        // The locale of the machine may have another encoding.
        command.env("PYTHONUTF8", "1");
        command.stdin(Stdio::null());
        let ended = Script::start(command)?.wait(SCRIPT_TIMEOUT)?;
        if ended.status.success() {
            Ok(ended.lines)
        } else {
            let status = ended.status;
            Err(ended.problem(&format!("the program ended with {status}")))
        }
    }

    const fn script(self) -> &'static str {
        match self {
            Self::TypeScript2 => "ts2_client.mjs",
            Self::TypeScriptTasks => "task_client.mjs",
            Self::TypeScript1 => "ts1_client.mjs",
            Self::Python => "python_client.py",
        }
    }

    fn interpreter(self) -> Result<PathBuf, Problem> {
        match self {
            Self::TypeScript2 | Self::TypeScriptTasks | Self::TypeScript1 => node(),
            Self::Python => python(),
        }
    }
}

/// How many calls may fail while a script makes calls beside the test.
#[cfg(unix)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PermittedFailures {
    /// None, and calls with progress do not fail either.
    None,
    /// At most this many. Each must fail in time, and calls must succeed again after the fault.
    AtMost(usize),
    /// Those that need the store of the server. Each must fail in time, and all must succeed again after the fault.
    WithStore,
    /// Any number. Each must fail in time, and calls must succeed again after the fault.
    Any,
    /// Any number, and the server may lose the session of the client.
    Session,
}

/// A script that makes calls beside the test.
#[cfg(unix)]
#[derive(Debug)]
pub struct RunningCalls {
    script: Script,
}

#[cfg(unix)]
impl RunningCalls {
    /// Waits until the client has negotiated with the server. Its calls start then.
    ///
    /// # Errors
    /// Returns an error if that takes too long.
    pub fn wait_until_negotiated(&mut self) -> Result<(), Problem> {
        self.script.wait_for_line(SCRIPT_TIMEOUT)
    }

    /// Ends the calls, and returns the checks of the script.
    ///
    /// # Errors
    /// Returns an error if the script hangs or prints anything but checks.
    pub fn end(mut self) -> Result<Vec<Check>, Problem> {
        drop(self.script.child.stdin.take());
        Ok(self.script.finish(SCRIPT_TIMEOUT)?.checks)
    }
}

/// One line of a script: a named check and its outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Check {
    /// The name, as listed in the tests.
    pub name: String,
    /// `true` if the check succeeded.
    pub ok: bool,
    /// The error message of the script, still JSON-escaped. It is empty if `ok` is set.
    pub detail: String,
}

impl Check {
    /// Returns a line for each check that failed.
    #[must_use]
    pub fn failures(checks: &[Self]) -> Vec<String> {
        let failed = checks.iter().filter(|check| !check.ok);
        failed
            .map(|check| format!("{}: {}", check.name, check.detail))
            .collect()
    }

    /// A check that succeeded if there is no problem.
    pub(crate) fn new(name: &str, problem: Option<String>) -> Self {
        Self {
            name: name.to_owned(),
            ok: problem.is_none(),
            detail: problem.unwrap_or_default(),
        }
    }

    /// Parses `{"check":"name","ok":true,"detail":"..."}`, exactly as the scripts write it.
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

/// The checks of a script that has ended.
pub(crate) struct ScriptOutput {
    pub(crate) checks: Vec<Check>,
    /// The problem, if the server that the script started still runs. It shares the standard error of the script.
    pub(crate) server_outlived: Option<String>,
}

/// Runs a script to its end and reads its checks.
pub(crate) fn run_script(mut command: Command, timeout: Duration) -> Result<ScriptOutput, Problem> {
    command.stdin(Stdio::null());
    Script::start(command)?.finish(timeout)
}

/// A script that was started.
#[derive(Debug)]
struct Script {
    child: Child,
    /// The lines that were read already.
    read: Vec<String>,
    lines: Receiver<String>,
    errors: Receiver<String>,
}

impl Script {
    fn start(mut command: Command) -> Result<Self, Problem> {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| Problem::new(format!("{command:?} does not start: {error}")))?;
        let lines = lines_of(child.stdout.take().expect("stdout is piped"));
        let errors = lines_of(child.stderr.take().expect("stderr is piped"));
        Ok(Self {
            child,
            read: Vec::new(),
            lines,
            errors,
        })
    }

    /// Waits for the next line. A script without a further line fails when it is finished.
    #[cfg(unix)]
    fn wait_for_line(&mut self, timeout: Duration) -> Result<(), Problem> {
        match self.lines.recv_timeout(timeout) {
            Ok(line) => self.read.push(line),
            Err(RecvTimeoutError::Disconnected) => {}
            Err(RecvTimeoutError::Timeout) => {
                end(&mut self.child)?;
                return Err(Problem::new("the script printed no check in time"));
            }
        }
        Ok(())
    }

    /// Waits for the end of the script, and reads its checks.
    fn finish(self, timeout: Duration) -> Result<ScriptOutput, Problem> {
        let ended = self.wait(timeout)?;
        let lines = ended.lines.iter();
        let checks: Option<Vec<Check>> = lines.map(|line| Check::parse(line)).collect();
        let checks =
            checks.ok_or_else(|| ended.problem("the script printed lines that are not checks"))?;
        if ended.status.success() != checks.iter().all(|check| check.ok) || checks.is_empty() {
            let status = ended.status;
            return Err(ended.problem(&format!(
                "the script ended with {status}, which does not match its checks"
            )));
        }
        let server_outlived = ended
            .server_outlived
            .then(|| format!("the server still runs {STDERR_GRACE:?} after its client has exited"));
        Ok(ScriptOutput {
            checks,
            server_outlived,
        })
    }

    /// Waits for the end of the script. A script that hangs is killed.
    fn wait(mut self, timeout: Duration) -> Result<EndedScript, Problem> {
        let output = collect(&self.lines, timeout);
        let hangs = output.is_err();
        if hangs {
            end(&mut self.child)?;
        }
        let status = self
            .child
            .wait()
            .map_err(|error| Problem::new(format!("cannot wait for the script: {error}")))?;
        // The server inherits this pipe. If it outlives its client, this must not wait for it.
        let errors = collect(&self.errors, STDERR_GRACE);
        let server_outlived = errors.is_err();
        let mut lines = self.read;
        lines.extend(output.unwrap_or_else(|so_far| so_far));
        let ended = EndedScript {
            status,
            lines,
            errors: errors.unwrap_or_else(|so_far| so_far),
            server_outlived,
        };
        if hangs {
            return Err(ended.problem("the script timed out"));
        }
        Ok(ended)
    }
}

/// A script that has ended, with everything that it printed.
struct EndedScript {
    status: ExitStatus,
    lines: Vec<String>,
    errors: Vec<String>,
    /// Whether the server that the script started still runs. It shares the standard error of the script.
    server_outlived: bool,
}

impl EndedScript {
    fn problem(&self, what: &str) -> Problem {
        Problem::new(format!(
            "{what}\nstdout:\n{}\nstderr:\n{}",
            self.lines.join("\n"),
            self.errors.join("\n")
        ))
    }
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
    fn check_lines_are_parsed_and_others_rejected() {
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
