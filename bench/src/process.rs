//! The server under test: a separate process that prints its address.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::cores::Cores;
use crate::cost::{Memory, ProcessCost};

/// How long a program may take until it accepts connections.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

/// The time between two attempts to connect.
const CONNECT_INTERVAL: Duration = Duration::from_millis(10);

/// A running server, killed when this is dropped.
#[derive(Debug)]
pub struct ServerProcess {
    url: String,
    cost: ProcessCost,
    child: Child,
}

impl ServerProcess {
    /// Starts the program and waits until it has printed its URL.
    ///
    /// # Errors
    /// Returns an error if the program does not start, or exits before it has printed its URL.
    pub async fn start(program: &Path) -> io::Result<Self> {
        Self::start_command(std::process::Command::new(program)).await
    }

    /// Starts the command and waits until it has printed its URL.
    ///
    /// # Errors
    /// Returns the same errors as [`Self::start`].
    pub async fn start_command(command: std::process::Command) -> io::Result<Self> {
        let program = command.get_program().to_owned();
        let mut child = Command::from(command)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| {
                io::Error::new(
                    error.kind(),
                    format!("cannot start {}: {error}", program.display()),
                )
            })?;
        let stdout = child.stdout.take().expect("stdout is piped");
        let url = BufReader::new(stdout).lines().next_line().await?;
        let (Some(url), Some(process_id)) = (url, child.id()) else {
            return Err(io::Error::other(
                "the server ended before it printed its URL",
            ));
        };
        Ok(Self {
            url,
            cost: ProcessCost::of(process_id),
            child,
        })
    }

    /// Starts the command on the server core. Afterwards this thread is on the load core.
    pub(crate) async fn start_on(
        command: std::process::Command,
        cores: Option<Cores>,
    ) -> io::Result<Self> {
        if let Some(cores) = cores {
            cores.pin_to_server_core();
        }
        let started = Self::start_command(command).await;
        if let Some(cores) = cores {
            cores.pin_to_load_core();
        }
        started
    }

    /// Starts a command that serves at this URL, and waits until it accepts connections.
    ///
    /// # Errors
    /// Returns an error if the program does not start, or does not accept connections in time.
    pub(crate) async fn start_listening(
        command: std::process::Command,
        url: String,
    ) -> io::Result<Self> {
        let program = command.get_program().to_owned();
        let failed = |problem: &str| {
            let message = format!("{} {problem} at {url}", program.display());
            io::Error::other(message)
        };
        let mut child = Command::from(command)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| failed(&format!("cannot start: {error};")))?;
        let address = url.split('/').nth(2).unwrap_or_default().to_owned();
        let connecting = async {
            while TcpStream::connect(&address).await.is_err() {
                tokio::time::sleep(CONNECT_INTERVAL).await;
            }
        };
        tokio::select! {
            connected = timeout(CONNECT_TIMEOUT, connecting) => {
                connected.map_err(|_| failed("does not listen"))?;
            }
            status = child.wait() => return Err(failed(&format!("ended ({})", status?))),
        }
        let process_id = child.id().ok_or_else(|| failed("ended"))?;
        Ok(Self {
            url,
            cost: ProcessCost::of(process_id),
            child,
        })
    }

    /// Asks the process to exit, and waits until it has.
    #[cfg(unix)]
    pub(crate) async fn terminate(mut self) -> io::Result<()> {
        let id = self.child.id().and_then(|id| i32::try_from(id).ok());
        if let Some(id) = id.and_then(rustix::process::Pid::from_raw) {
            rustix::process::kill_process(id, rustix::process::Signal::TERM)?;
        }
        self.child.wait().await.map(drop)
    }

    /// Kills the process, because there is no other request that every program supports.
    #[cfg(not(unix))]
    pub(crate) async fn terminate(mut self) -> io::Result<()> {
        self.child.kill().await
    }

    /// Returns the URL that the process printed.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the cost of the process.
    pub(crate) fn cost(&self) -> ProcessCost {
        self.cost
    }

    /// Returns the current memory, or `None` if the system does not report it.
    pub(crate) fn memory(&self) -> Option<Memory> {
        self.cost.memory()
    }

    /// Returns the number of page faults so far, or `None` if the system does not report it.
    #[must_use]
    pub fn page_faults(&self) -> Option<u64> {
        self.cost.page_faults()
    }

    /// Returns the CPU time so far, or `None` if the system does not report it.
    pub(crate) fn processor_time(&self) -> Option<Duration> {
        self.cost.processor_time()
    }
}
