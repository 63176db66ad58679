//! Runs the server under test as a process.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::Problem;

/// The longest start time. Usually the server is ready at once.
const START_TIMEOUT: Duration = Duration::from_secs(30);

const ADDRESS_PREFIX: &str = "listening on ";

/// A running server. Dropping it ends the process.
#[derive(Debug)]
pub struct Fixture {
    url: String,
    process: Child,
}

impl Fixture {
    /// Starts `binary` on a free port and waits until it listens.
    ///
    /// # Errors
    /// Returns an error if the process does not start or does not print its address.
    pub async fn start(binary: &Path) -> Result<Self, Problem> {
        Self::start_with(binary, &["--port", "0"]).await
    }

    /// Starts `binary` with these arguments and waits until it listens.
    ///
    /// # Errors
    /// Returns an error if the process does not start or does not print its address.
    pub async fn start_with(binary: &Path, arguments: &[&str]) -> Result<Self, Problem> {
        let mut process = Command::new(binary)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| Problem::new(format!("cannot start {}: {error}", binary.display())))?;
        let stdout = process.stdout.take().expect("stdout is piped");
        let url = address(stdout).await?;
        Ok(Self { url, process })
    }

    /// Starts `toolwire proxy` in front of the server with this URL, and waits until it listens.
    ///
    /// # Errors
    /// Returns an error if the process does not start or does not print its address.
    pub async fn start_proxy(command: &Path, url: &str) -> Result<Self, Problem> {
        let mut process = Command::new(command)
            .args(["proxy", "--listen", "127.0.0.1:0", url])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| {
                Problem::new(format!(
                    "cannot start {}: {error}; run `cargo build -p toolwire-cli` first",
                    command.display()
                ))
            })?;
        let stderr = process.stderr.take().expect("stderr is piped");
        let url = address(stderr).await?;
        Ok(Self { url, process })
    }

    /// Kills the process at once (SIGKILL on Unix) and waits until it has ended.
    ///
    /// # Errors
    /// Returns an error if the process cannot be killed.
    pub async fn kill(mut self) -> Result<(), Problem> {
        let killed = self.process.kill().await;
        killed.map_err(|error| Problem::new(format!("cannot kill the server: {error}")))
    }

    /// Returns the URL of the server.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }
}

/// Returns the address that the server prints first.
async fn address(output: impl AsyncRead + Unpin) -> Result<String, Problem> {
    let line = timeout(START_TIMEOUT, first_line(output))
        .await
        .map_err(|_| Problem::new("the server does not print its address"))?;
    let url = line.strip_prefix(ADDRESS_PREFIX).ok_or_else(|| {
        Problem::new(format!(
            "the server printed {line:?} instead of its address"
        ))
    })?;
    Ok(url.trim_end().to_owned())
}

/// Returns the first line, or an empty string if there is no line.
async fn first_line(output: impl AsyncRead + Unpin) -> String {
    let mut line = String::new();
    // A failed read leaves the line empty, which the caller reports.
    let _ = BufReader::new(output).read_line(&mut line).await;
    line
}
