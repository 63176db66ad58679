//! The client's way to a server that runs as a child process and speaks over its pipes.
//!
//! The child leads a process group of its own. Its input gets messages and nothing else, its output is read line by line
//! without trust, its error output is always drained. Nothing is left behind: no process, no zombie, no descriptor.

mod command;
mod environment;
mod process;
mod running;
mod stderr;
mod stdin;
mod tracker;

use std::sync::Arc;

use toolwire_proto::negotiate::Channel;

use crate::client::config::ClientLimits;
use crate::client::incoming::IncomingMessages;
use crate::client::transport::{ClientTransport, Connect};
use crate::client::{Client, ClientBuilder};
use crate::engine::BoxFuture;
use crate::error::Error;
use crate::transport::child::process::Process;

pub use command::ServerCommand;
pub use tracker::ProcessTracker;

impl Client {
    /// Starts a server as a child process and connects to it over its pipes.
    ///
    /// A program without arguments can be named as text; [`ServerCommand`] takes arguments, variables and the rest.
    ///
    /// [`close`](Self::close) ends the server: its input is closed; when it has not ended by itself after
    /// [`exit_grace`](ClientLimits::exit_grace) it is asked to terminate, and after the same time killed, together with
    /// everything it started. The same happens in the background when the last handle is dropped. When the runtime
    /// shuts down first, the server is killed at once, so close a client before the end of `main`. A program that exits
    /// without waiting asks a [`ProcessTracker`] to kill what is left.
    ///
    /// When this process itself is killed (SIGKILL), the server is not signalled. Its input ends, and servers exit then.
    ///
    /// A server that dies takes the connection with it: calls fail with an error that [says how it
    /// ended](Error::server_exit). Spawn it again with a clone of the command, and with
    /// [`with_detected_era`](ClientBuilder::with_detected_era) to spare the question what it speaks.
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
    /// When the program cannot be started, ends before it is connected, or speaks no revision this client does.
    ///
    /// # Cancellation
    /// Dropping the future sends SIGTERM to the process and everything it started, before the drop returns. What is left
    /// after [`exit_grace`](ClientLimits::exit_grace), or when the runtime shuts down, is killed. On Windows, which has
    /// no such signal, the process is killed at once.
    pub async fn spawn(command: impl Into<ServerCommand>) -> Result<Self, Error> {
        ClientBuilder::default().spawn(command).await
    }
}

impl ClientBuilder {
    /// Starts a server as a child process and connects to it; see [`Client::spawn`].
    ///
    /// # Errors
    /// When the program cannot be started, ends before it is connected, or speaks no revision this client does.
    ///
    /// # Cancellation
    /// Dropping the future ends the process, as with [`Client::spawn`].
    pub async fn spawn(self, command: impl Into<ServerCommand>) -> Result<Client, Error> {
        let dial = ChildConnector {
            command: command.into(),
            limits: self.config.limits.clone(),
        };
        Client::open(self.config, Box::new(dial)).await
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

    fn name(&self) -> String {
        // The process belongs to this client alone, and so does what it answers.
        String::new()
    }

    fn open(
        &self,
        inbox: Arc<IncomingMessages>,
    ) -> BoxFuture<'_, Result<Arc<dyn ClientTransport>, Error>> {
        Box::pin(async move {
            let (process, pipes) = Process::start(&self.command)?;
            let pipe = running::run(process, pipes, &self.command, &self.limits, inbox);
            Ok(Arc::new(pipe) as Arc<dyn ClientTransport>)
        })
    }
}
