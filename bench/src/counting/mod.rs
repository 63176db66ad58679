//! Counts the cost of a call: instructions in user space and allocations.
//!
//! The program runs twice under valgrind, with few calls and with many. The difference is the cost of the additional
//! calls. It does not depend on the clock or on other load on the machine.

mod callgrind;

use std::io::{self, Write as _};
use std::process::{Command, Stdio};

pub use self::callgrind::is_available;
use self::callgrind::{Callgrind, Total};
use crate::cores::Cores;
use crate::load::stdio::StdioServer;
use crate::load::{self, Plan, Workload};
use crate::process::ServerProcess;

/// The cost of one call.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Count {
    /// Instructions in user space.
    pub instructions: f64,
    /// Allocations and reallocations.
    pub allocations: f64,
}

/// The parameters of the count.
#[derive(Debug, Clone, Copy)]
pub struct Counting {
    few: usize,
    many: usize,
    cores: Option<Cores>,
}

impl Counting {
    /// The number of calls in the shorter and in the longer run.
    #[must_use]
    pub const fn new(few: usize, many: usize) -> Self {
        Self {
            few,
            many,
            cores: None,
        }
    }

    /// Runs the program on the server core.
    pub(crate) fn on(mut self, cores: Option<Cores>) -> Self {
        self.cores = cores;
        self
    }

    /// Counts calls over HTTP on one connection. The server prints its URL as its first line.
    ///
    /// # Errors
    /// Returns an error if the server does not start or responds incorrectly.
    pub async fn over_http(&self, server: &Command, workload: Workload) -> io::Result<Count> {
        self.over_http_as(server, &Plan::new(workload, 1)).await
    }

    /// Counts calls over HTTP as the plan makes them, except for their number.
    ///
    /// # Errors
    /// Returns the same errors as [`Self::over_http`].
    pub async fn over_http_as(&self, server: &Command, plan: &Plan) -> io::Result<Count> {
        let few = self.http_run(server, plan, self.few).await?;
        let many = self.http_run(server, plan, self.many).await?;
        Ok(self.difference(few, many))
    }

    async fn http_run(&self, server: &Command, plan: &Plan, calls: usize) -> io::Result<Total> {
        let callgrind = Callgrind::new();
        let command = callgrind.command(server);
        let server = ServerProcess::start_on(command, self.cores).await?;
        let mut plan = plan.clone();
        plan.requests = calls;
        let outcome = load::warm_up(server.url(), &plan).await?.measure().await;
        if let Some(error) = outcome.first_error {
            return Err(io::Error::other(error));
        }
        server.terminate().await?;
        callgrind.total()
    }

    /// Counts calls over stdio, all at once.
    ///
    /// # Errors
    /// Returns an error if the server does not start or responds incorrectly.
    pub fn over_stdio(&self, server: &Command) -> io::Result<Count> {
        let run = |calls| {
            let callgrind = Callgrind::new();
            let mut server = StdioServer::start(callgrind.command(server), self.cores)?;
            server.call_all_at_once(calls)?;
            server.end()?;
            callgrind.total()
        };
        Ok(self.difference(run(self.few)?, run(self.many)?))
    }

    /// Counts a program that processes the message of its standard input repeatedly.
    ///
    /// # Errors
    /// Returns an error if the program does not start or fails.
    pub fn repeated(&self, program: impl Fn(usize) -> Command, message: &str) -> io::Result<Count> {
        let run = |times| {
            let callgrind = Callgrind::new();
            let mut command = callgrind.command(&program(times));
            if let Some(cores) = self.cores {
                cores.pin_to_server_core();
            }
            let child = command.stdin(Stdio::piped()).spawn();
            if let Some(cores) = self.cores {
                cores.pin_to_load_core();
            }
            let mut child = child?;
            let stdin = child.stdin.take().expect("stdin is piped");
            // Dropped at the end of the statement, so that the program reads the end of input.
            { stdin }.write_all(message.as_bytes())?;
            let status = child.wait()?;
            if !status.success() {
                return Err(io::Error::other(format!("the program failed: {status}")));
            }
            callgrind.total()
        };
        Ok(self.difference(run(self.few)?, run(self.many)?))
    }

    fn difference(&self, few: Total, many: Total) -> Count {
        let calls = self.many.saturating_sub(self.few).max(1) as f64;
        let each = |few: u64, many: u64| many.saturating_sub(few) as f64 / calls;
        Count {
            instructions: each(few.instructions, many.instructions),
            allocations: each(few.allocations, many.allocations),
        }
    }
}
