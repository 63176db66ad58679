//! The client transport to a server that runs as a child process, over its stdin and stdout.
//!
//! The child leads its own process group. Its stdin carries only messages, its stdout is read as untrusted lines, and
//! its stderr is always drained. Afterwards no process, zombie or descriptor is left.

mod command;
mod environment;
mod era_record;
mod output;
mod process;
mod report_filter;
mod running;
mod stderr;
mod stdin;
mod tracker;

use std::sync::Arc;

use toolwire_proto::negotiate::{Channel, DetectedEra};

use crate::client::config::ClientLimits;
use crate::client::incoming::IncomingMessages;
use crate::client::transport::{ClientTransport, Connect};
use crate::client::{Client, ClientBuilder};
use crate::engine::{BoxFuture, ConnectionInfo};
use crate::error::Error;
use crate::transport::child::process::Process;

pub use command::ServerCommand;
pub use tracker::ProcessTracker;

impl Client {
    /// Starts a server as a child process and connects to it over stdin and stdout.
    ///
    /// A program without arguments can be passed as text. [`ServerCommand`] accepts arguments, variables and options.
    ///
    /// [`close`](Self::close) ends the server. It closes the server's stdin. If the server has not exited after
    /// [`exit_grace`](ClientLimits::exit_grace), it sends SIGTERM, and after the same time SIGKILL, to the server and
    /// everything it started. Dropping the last handle does the same in the background. If the runtime shuts down
    /// first, the server is killed at once, so close a client before the end of `main`. A program that exits without
    /// waiting can use a [`ProcessTracker`] to kill the remaining processes.
    ///
    /// If this process itself is killed (SIGKILL), the server gets no signal. Its stdin ends, and most servers exit then. One
    /// that ignores the end of its stdin goes on.
    ///
    /// If the server exits, the connection is closed: calls fail with an error that [contains the exit
    /// status](Error::server_exit). Spawn it again with a clone of the command. Use
    /// [`with_detected_era`](ClientBuilder::with_detected_era) to skip the probe.
    ///
    /// Some legacy servers exit, or never respond again, when they receive the probe (`server/discover`). Such a server is
    /// started once more, with `initialize` as its first message. Others only ignore the probe. This process stores both
    /// for the command, so that later clients skip the probe; [`probe_failed`](Self::probe_failed) reports it. All of
    /// that happens within [`connect_timeout`](ClientLimits::connect_timeout). [`with_era`](ClientBuilder::with_era) with
    /// [`Era::Legacy`](crate::Era::Legacy) never sends the probe.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), toolwire::Error> {
    /// use toolwire::{Client, ServerCommand};
    ///
    /// let client = Client::spawn(ServerCommand::new("toolwire").args(["demo", "--stdio"])).await?;
    /// for tool in client.list_tools().await? {
    ///     println!("{}", tool.name);
    /// }
    /// client.close().await;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Returns an error if the program cannot be started, exits before it is connected, or supports no revision of this
    /// client.
    ///
    /// # Cancellation
    /// Dropping the future sends SIGTERM to the process and everything it started, before the drop returns. Processes
    /// that remain after [`exit_grace`](ClientLimits::exit_grace), or when the runtime shuts down, are killed. On
    /// Windows, which has no such signal, the process is killed at once.
    #[doc(alias = "TokioChildProcess", alias = "StdioClientTransport")]
    pub async fn spawn(command: impl Into<ServerCommand>) -> Result<Self, Error> {
        ClientBuilder::default().spawn(command).await
    }
}

impl ClientBuilder {
    /// Starts a server as a child process and connects to it; see [`Client::spawn`].
    ///
    /// # Errors
    /// Returns an error if the program cannot be started, exits before it is connected, or supports no revision of this
    /// client.
    ///
    /// # Cancellation
    /// Dropping the future ends the process like [`Client::spawn`].
    pub async fn spawn(self, command: impl Into<ServerCommand>) -> Result<Client, Error> {
        let connector = ChildConnector {
            command: command.into(),
            limits: self.config.limits.clone(),
        };
        Client::open(self.config, Box::new(connector)).await
    }
}

#[derive(Debug)]
struct ChildConnector {
    command: ServerCommand,
    limits: ClientLimits,
}

impl Connect for ChildConnector {
    fn channel(&self) -> Channel {
        Channel::Stdio
    }

    #[cfg(feature = "relay")]
    fn starts_process(&self) -> bool {
        true
    }

    fn name(&self) -> String {
        // The process belongs to this client alone, and so do its responses.
        String::new()
    }

    fn connection_info(&self) -> ConnectionInfo {
        ConnectionInfo::stdio().clone()
    }

    fn recorded_era(&self) -> Option<DetectedEra> {
        era_record::find(&self.command)
    }

    fn record_era(&self, era: DetectedEra) {
        era_record::store(&self.command, era);
    }

    fn open(
        &self,
        incoming: Arc<IncomingMessages>,
    ) -> BoxFuture<'_, Result<Arc<dyn ClientTransport>, Error>> {
        Box::pin(async move {
            let (process, pipes) = Process::start(&self.command)?;
            let transport = running::run(process, pipes, &self.command, &self.limits, incoming);
            Ok(Arc::new(transport) as Arc<dyn ClientTransport>)
        })
    }
}
