//! A server over HTTP, for one run of a peer.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use crate::client_peer::{Check, Wire};
use crate::lines::{collect, lines_of};
use crate::problem::Problem;
#[cfg(unix)]
use crate::signal::send_signal;
use crate::subject::Subject;

/// The longest time until the server prints its address.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// Shorter than the shutdown timeout of the server (10 s), because no client is connected any more.
const END_TIMEOUT: Duration = Duration::from_secs(9);

/// A proxy has two timeouts of 10 s: for its requests in flight, and for the processes of its server.
const PROXY_END_TIMEOUT: Duration = Duration::from_secs(25);

/// The running server. It is killed when this is dropped.
#[derive(Debug)]
pub struct ListeningServer {
    child: Child,
    stderr: Receiver<String>,
    url: String,
    end_timeout: Duration,
}

impl ListeningServer {
    /// Starts the server and waits until it prints its address.
    pub(crate) fn start(subject: &Subject) -> Result<Self, Problem> {
        let (program, arguments) = subject.command(Wire::Http)?;
        let mut server = Self::start_program(&program, arguments)?;
        if matches!(
            subject,
            Subject::ProxiedDemo(_) | Subject::DemoBehindGateway
        ) {
            server.end_timeout = PROXY_END_TIMEOUT;
        }
        Ok(server)
    }

    /// Starts a program that prints its address.
    ///
    /// # Errors
    /// Returns an error if it does not start or prints no address.
    pub fn start_program(program: &Path, arguments: Vec<OsString>) -> Result<Self, Problem> {
        Self::start_with_output(program, arguments, Stdio::null())
    }

    /// Starts a program that prints its address to its standard error. `output` is its standard output.
    pub(crate) fn start_with_output(
        program: &Path,
        arguments: Vec<OsString>,
        output: Stdio,
    ) -> Result<Self, Problem> {
        let mut child = Command::new(program)
            .args(arguments)
            .env("RUST_LOG", "toolwire=warn")
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| {
                Problem::new(format!("{} does not start: {error}", program.display()))
            })?;
        let stderr = lines_of(child.stderr.take().expect("stderr is piped"));
        let mut server = Self {
            child,
            stderr,
            url: String::new(),
            end_timeout: END_TIMEOUT,
        };
        // A server behind a proxy may write lines before.
        let mut other = Vec::new();
        while let Ok(line) = server.stderr.recv_timeout(START_TIMEOUT) {
            if let Some(url) = line.strip_prefix("listening on ") {
                server.url = url.to_owned();
                return Ok(server);
            }
            other.push(line);
        }
        let other = other.join("\n");
        Err(Problem::new(format!(
            "the server does not print its address: {other}"
        )))
    }

    /// Returns the URL of the server.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the id of the process.
    #[cfg(unix)]
    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    /// Asks the server to shut down. It must exit soon and successfully.
    pub(crate) fn end(self) -> Check {
        let timeout = self.end_timeout;
        Check::new("exit_on_signal", self.end_within(timeout).err())
    }

    /// Asks the server to shut down. It must exit successfully within this time. Returns what it has logged.
    pub(crate) fn end_within(mut self, timeout: Duration) -> Result<Vec<String>, String> {
        self.terminate(timeout)
    }

    #[cfg(unix)]
    fn terminate(&mut self, timeout: Duration) -> Result<Vec<String>, String> {
        if !send_signal(self.child.id(), "TERM") {
            return Err("the server has exited already".to_owned());
        }
        let start = Instant::now();
        // Its standard error closes when it exits.
        let output = collect(&self.stderr, timeout)
            .map_err(|output| format!("the server still runs after {timeout:?}: {output:?}"))?;
        let duration = start.elapsed();
        if duration > END_TIMEOUT {
            // The output of a successful test is not printed, so this is written past it.
            let _ = writeln!(
                std::io::stderr(),
                "the server exited after {duration:?}: {output:?}"
            );
        }
        let status = self.child.wait().map_err(|error| error.to_string())?;
        if status.success() {
            Ok(output)
        } else {
            Err(format!("the server exited with {status}: {output:?}"))
        }
    }

    /// There is no signal on this platform, so the server must only be running.
    #[cfg(not(unix))]
    fn terminate(&mut self, _: Duration) -> Result<Vec<String>, String> {
        match self.child.try_wait() {
            Ok(None) => Ok(Vec::new()),
            Ok(Some(status)) => Err(format!("the server exited with {status}")),
            Err(error) => Err(error.to_string()),
        }
    }
}

impl Drop for ListeningServer {
    fn drop(&mut self) {
        // An error means that the process has exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
