//! Several nodes of `toolwire demo` that share a Redis or Valkey, behind a balancer.

use std::ffi::OsString;

use toolwire_tests::engine::{Engine, PERSISTENT};

use crate::balancer::Balancer;
use crate::client_peer::Check;
use crate::listening::ListeningServer;
use crate::problem::Problem;
use crate::subject;

/// The running nodes. They are killed when this is dropped.
#[derive(Debug)]
pub struct Fleet {
    balancer: Balancer,
    nodes: Vec<ListeningServer>,
    engine: Engine,
}

impl Fleet {
    /// Starts an engine, this many nodes, and a balancer in front of them.
    ///
    /// # Errors
    /// Returns an error if a program is missing or does not start.
    pub fn start(nodes: usize) -> Result<Self, Problem> {
        let engine = Engine::start(&PERSISTENT).map_err(engine_problem)?;
        let nodes: Vec<_> = (0..nodes)
            .map(|_| start_node(&engine))
            .collect::<Result<_, _>>()?;
        let addresses = nodes.iter().map(|node| address_of(node.url())).collect();
        let balancer = Balancer::start(addresses)?;
        Ok(Self {
            balancer,
            nodes,
            engine,
        })
    }

    /// Returns the URL for clients. Each request goes to the next node.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.balancer.address())
    }

    /// Returns the number of nodes.
    pub(crate) fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Kills a node without a warning.
    pub fn kill_node(&mut self, index: usize) {
        drop(self.nodes.remove(index));
    }

    /// Kills the engine and starts it again with the data that it has written.
    ///
    /// # Errors
    /// Returns an error if it does not start again.
    pub fn restart_engine(&mut self) -> Result<(), Problem> {
        self.engine.restart().map_err(engine_problem)
    }

    /// Adds a node.
    ///
    /// # Errors
    /// Returns an error if it does not start.
    pub fn add_node(&mut self) -> Result<(), Problem> {
        let node = start_node(&self.engine)?;
        self.balancer.add(address_of(node.url()));
        self.nodes.push(node);
        Ok(())
    }

    /// Asks all nodes to shut down. They must exit soon and successfully.
    pub(crate) fn end(self) -> Check {
        let checks: Vec<Check> = self.nodes.into_iter().map(ListeningServer::end).collect();
        let failed = checks.into_iter().find(|check| !check.ok);
        failed.unwrap_or_else(|| Check::new("exit_on_signal", None))
    }
}

fn engine_problem(error: std::io::Error) -> Problem {
    Problem::new(format!("no engine: {error}"))
}

fn start_node(engine: &Engine) -> Result<ListeningServer, Problem> {
    let arguments = ["demo", "--http", "127.0.0.1:0", "--sse", "--redis"];
    let mut arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
    arguments.push(engine.url().into());
    ListeningServer::start_program(&subject::demo()?, arguments)
}

/// Returns the host and port in the URL of a node.
fn address_of(url: &str) -> String {
    let rest = url.strip_prefix("http://").unwrap_or(url);
    rest.split('/').next().unwrap_or(rest).to_owned()
}
