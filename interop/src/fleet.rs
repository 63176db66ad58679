//! Several nodes of `toolwire demo` that share a Redis or Valkey, behind a balancer.
//!
//! Each node reaches the engine through a relay of its own, so that its network can fail.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use toolwire_tests::engine::{Engine, PERSISTENT};
use toolwire_tests::relay::{Link, Relay};

use crate::balancer::{Balancer, Nodes};
use crate::client_peer::Check;
use crate::fleet_permit::FleetPermit;
use crate::listening::ListeningServer;
use crate::problem::Problem;
use crate::signal::send_signal;
use crate::subject;

/// Longer than the drain timeout of a node.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(30);

/// The longest time until a replica has all data.
const SYNC_TIMEOUT: Duration = Duration::from_secs(60);

/// The address of a node that selects a free port.
const FREE_PORT: &str = "127.0.0.1:0";

/// The running nodes. They are killed when this is dropped.
#[derive(Debug)]
pub struct Fleet {
    balancer: Balancer,
    nodes: Vec<Node>,
    engine: Engine,
    replica: Option<Replica>,
    output: Output,
    /// Further arguments of nodes that start from now on.
    arguments: Vec<OsString>,
    /// Dropped last, when all processes have ended.
    _permit: FleetPermit,
}

/// The standard output of all nodes: one file, to which each line is appended at once. It is removed when this is dropped.
#[derive(Debug)]
struct Output {
    path: PathBuf,
}

#[derive(Debug)]
struct Node {
    server: ListeningServer,
    /// Between the node and the engine.
    relay: Relay,
}

/// An engine with a copy of the data.
#[derive(Debug)]
struct Replica {
    engine: Engine,
    /// Between the replica and its primary.
    relay: Relay,
}

impl Fleet {
    /// Starts an engine that loses nothing when it is killed, this many nodes, and a balancer in front of them.
    ///
    /// # Errors
    /// Returns an error if a program is missing or does not start.
    pub fn start(nodes: usize) -> Result<Self, Problem> {
        Self::start_with_engine(nodes, &PERSISTENT)
    }

    /// Starts an engine with these arguments, this many nodes, and a balancer in front of them.
    ///
    /// # Errors
    /// Returns an error if a program is missing or does not start.
    pub fn start_with_engine(nodes: usize, engine: &[&str]) -> Result<Self, Problem> {
        Self::start_with(nodes, engine, Vec::new())
    }

    /// Does the same as [`start`](Self::start) with further arguments of the nodes.
    ///
    /// # Errors
    /// Returns an error if a program is missing or does not start.
    pub fn start_with_arguments(nodes: usize, arguments: Vec<OsString>) -> Result<Self, Problem> {
        Self::start_with(nodes, &PERSISTENT, arguments)
    }

    fn start_with(
        nodes: usize,
        engine: &[&str],
        arguments: Vec<OsString>,
    ) -> Result<Self, Problem> {
        let permit = FleetPermit::acquire();
        let engine = Engine::start(engine).map_err(engine_problem)?;
        let output = Output::create()?;
        let nodes: Vec<_> = (0..nodes)
            .map(|_| {
                let relay = Relay::start(engine.socket());
                Node::start(relay, FREE_PORT, &arguments, &output)
            })
            .collect::<Result<_, _>>()?;
        let addresses = nodes.iter().map(Node::address).collect();
        let balancer = Balancer::start(addresses)?;
        Ok(Self {
            balancer,
            nodes,
            engine,
            replica: None,
            output,
            arguments,
            _permit: permit,
        })
    }

    /// Sets the further arguments of nodes that start from now on.
    pub fn set_arguments(&mut self, arguments: Vec<OsString>) {
        self.arguments = arguments;
    }

    /// Returns the URL for clients. Each request goes to the next node.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.balancer.address())
    }

    /// Returns the addresses of the nodes that get requests, for clients that choose a node.
    #[must_use]
    pub fn addresses(&self) -> Arc<Nodes> {
        Arc::clone(self.balancer.nodes())
    }

    /// Returns what the tools of all nodes have printed since the start of the fleet.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub fn printed(&self) -> Result<String, Problem> {
        fs::read_to_string(&self.output.path).map_err(output_problem)
    }

    /// Returns the number of nodes.
    pub(crate) fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Asks all nodes to shut down. They must exit soon and successfully.
    pub(crate) fn end(self) -> Check {
        let checks: Vec<Check> = self
            .nodes
            .into_iter()
            .map(|node| node.server.end())
            .collect();
        let failed = checks.into_iter().find(|check| !check.ok);
        failed.unwrap_or_else(|| Check::new("exit_on_signal", None))
    }
}

/// Nodes that come and go.
impl Fleet {
    /// Kills a node without a warning.
    pub fn kill_node(&mut self, index: usize) {
        let node = self.nodes.remove(index);
        let address = node.address();
        drop(node);
        self.balancer.remove(&address);
    }

    /// Kills a node without a warning, and starts it again with the same address.
    ///
    /// # Errors
    /// Returns an error if it does not start.
    pub fn restart_node(&mut self, index: usize) -> Result<(), Problem> {
        let Node { server, relay } = self.nodes.remove(index);
        let address = address_of(&server);
        drop(server);
        let node = Node::start(Ok(relay), &address, &self.arguments, &self.output)?;
        self.nodes.insert(index, node);
        Ok(())
    }

    /// Sends a node no more requests, and asks it to shut down. It must finish what it is doing, and exit successfully.
    /// Returns what it has logged.
    ///
    /// # Errors
    /// Returns an error if it does not.
    pub fn drain_node(&mut self, index: usize) -> Result<Vec<String>, Problem> {
        let node = self.nodes.remove(index);
        self.balancer.remove(&node.address());
        // Requests that were just sent arrive before the node accepts no more connections.
        self.balancer
            .wait_until_arrived(&node.address(), DRAIN_TIMEOUT);
        node.server.end_within(DRAIN_TIMEOUT).map_err(Problem::new)
    }

    /// Replaces all nodes, one after the other. Each new node runs before an old one shuts down.
    ///
    /// # Errors
    /// Returns an error if a node does not start, or does not exit successfully.
    pub fn replace_nodes(&mut self) -> Result<(), Problem> {
        for _ in 0..self.nodes.len() {
            self.replace_node()?;
        }
        Ok(())
    }

    /// Replaces the oldest node. The new node runs before the old one shuts down.
    ///
    /// # Errors
    /// Returns an error if a node does not start, or does not exit successfully.
    pub fn replace_node(&mut self) -> Result<(), Problem> {
        self.add_node()?;
        self.drain_node(0)?;
        Ok(())
    }

    /// Stops the process of a node. It accepts connections, but does not respond.
    pub fn pause_node(&self, index: usize) {
        send_signal(self.nodes[index].server.process(), "STOP");
    }

    /// Continues the process of a node.
    pub fn continue_node(&self, index: usize) {
        send_signal(self.nodes[index].server.process(), "CONT");
    }

    /// Adds a node.
    ///
    /// # Errors
    /// Returns an error if it does not start.
    pub fn add_node(&mut self) -> Result<(), Problem> {
        let relay = Relay::start(self.engine.socket());
        let node = Node::start(relay, FREE_PORT, &self.arguments, &self.output)?;
        self.balancer.add(node.address());
        self.nodes.push(node);
        Ok(())
    }
}

/// Faults of the engine, and of the network in front of it.
impl Fleet {
    /// Kills the engine.
    pub fn kill_engine(&mut self) {
        self.engine.kill();
    }

    /// Starts the engine again with the data that it has written.
    ///
    /// # Errors
    /// Returns an error if it does not start.
    pub fn restart_engine(&mut self) -> Result<(), Problem> {
        self.engine.restart().map_err(engine_problem)
    }

    /// Stops the process of the engine. It accepts connections, but does not respond.
    pub fn pause_engine(&self) {
        send_signal(self.engine.id(), "STOP");
    }

    /// Continues the process of the engine.
    pub fn continue_engine(&self) {
        send_signal(self.engine.id(), "CONT");
    }

    /// Sends a command to the engine, and returns the text of its response.
    ///
    /// # Errors
    /// Returns an error if the engine does not respond, or rejects the command.
    pub fn engine_command(&self, command: &str) -> Result<String, Problem> {
        self.engine.command(command).map_err(engine_problem)
    }

    /// Changes the network between one node and the engine.
    pub fn set_link(&self, index: usize, link: Link) {
        self.nodes[index].relay.set_link(link);
    }

    /// Starts a replica of the engine, and waits until it has a copy of all data.
    ///
    /// # Errors
    /// Returns an error if it does not start.
    pub fn add_replica(&mut self) -> Result<(), Problem> {
        let engine = Engine::start(&PERSISTENT).map_err(engine_problem)?;
        let relay = Relay::start(self.engine.socket()).map_err(engine_problem)?;
        let follow = format!("REPLICAOF 127.0.0.1 {}", relay.address().port());
        engine.command(&follow).map_err(engine_problem)?;
        self.replica = Some(Replica { engine, relay });
        self.wait_for_replica()
    }

    /// Loses the connection of all nodes to the engine, promotes the replica, and connects the nodes to it.
    ///
    /// # Errors
    /// Returns an error if the replica does not get all data before.
    pub fn promote_replica(&mut self) -> Result<(), Problem> {
        self.disconnect_nodes();
        self.wait_for_replica()?;
        self.replace_engine()
    }

    /// Does the same with a replica that misses the last writes: at least this many bytes of them.
    ///
    /// # Errors
    /// Returns an error if the nodes do not write as much.
    pub fn promote_outdated_replica(&mut self, missing: u64) -> Result<(), Problem> {
        let Some(replica) = &self.replica else {
            return Err(Problem::new("there is no replica"));
        };
        replica.relay.set_link(Link::Down);
        let copied = offset(&self.engine, "master_repl_offset")?;
        let start = Instant::now();
        while offset(&self.engine, "master_repl_offset")? < copied.map(|copied| copied + missing) {
            if start.elapsed() > SYNC_TIMEOUT {
                return Err(Problem::new("the nodes write too little"));
            }
            thread::sleep(Duration::from_millis(20));
        }
        self.disconnect_nodes();
        self.replace_engine()
    }

    fn disconnect_nodes(&self) {
        for node in &self.nodes {
            node.relay.set_link(Link::Down);
        }
    }

    /// Promotes the replica, and connects the nodes to it.
    fn replace_engine(&mut self) -> Result<(), Problem> {
        let Some(Replica { engine, relay }) = self.replica.take() else {
            return Err(Problem::new("there is no replica"));
        };
        let promoted = engine.command("REPLICAOF NO ONE");
        promoted.map_err(engine_problem)?;
        drop(relay);
        self.engine = engine;
        self.connect_all_nodes();
        Ok(())
    }

    /// Connects all nodes with the current engine.
    fn connect_all_nodes(&self) {
        for node in &self.nodes {
            node.relay.set_target(self.engine.socket());
            node.relay.set_link(Link::Up);
        }
    }

    /// Waits until the replica has all data of the engine.
    fn wait_for_replica(&self) -> Result<(), Problem> {
        let start = Instant::now();
        loop {
            let Some(replica) = &self.replica else {
                return Err(Problem::new("there is no replica"));
            };
            let written = offset(&self.engine, "master_repl_offset")?;
            let copied = offset(&replica.engine, "slave_repl_offset")?;
            // The primary has written something: it sends a ping to the replica every few seconds.
            if copied.is_some() && copied >= written {
                return Ok(());
            }
            if start.elapsed() > SYNC_TIMEOUT {
                return Err(Problem::new("the replica did not get all data"));
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Node {
    /// Starts a node that listens at this address and reaches the engine through the relay.
    fn start(
        relay: io::Result<Relay>,
        address: &str,
        further: &[OsString],
        output: &Output,
    ) -> Result<Self, Problem> {
        let relay = relay.map_err(engine_problem)?;
        let arguments = ["demo", "--http", address, "--sse", "--redis"];
        let mut arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        arguments.push(format!("redis://{}", relay.address()).into());
        arguments.extend_from_slice(further);
        let program = subject::toolwire_program()?;
        let server = ListeningServer::start_with_output(&program, arguments, output.open()?)?;
        Ok(Self { server, relay })
    }

    fn address(&self) -> String {
        address_of(&self.server)
    }
}

/// Returns the host and port in the URL of a node.
fn address_of(server: &ListeningServer) -> String {
    let url = server.url();
    let rest = url.strip_prefix("http://").unwrap_or(url);
    rest.split('/').next().unwrap_or(rest).to_owned()
}

impl Output {
    fn create() -> Result<Self, Problem> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("toolwire-fleet-{}-{number}.out", std::process::id());
        let path = std::env::temp_dir().join(name);
        File::create(&path).map_err(output_problem)?;
        Ok(Self { path })
    }

    /// Opens the file for a node.
    fn open(&self) -> Result<Stdio, Problem> {
        let file = OpenOptions::new().append(true).open(&self.path);
        file.map(Stdio::from).map_err(output_problem)
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        // An error means that it was removed already.
        let _ = fs::remove_file(&self.path);
    }
}

/// Returns the position of an engine in the stream of its writes.
fn offset(engine: &Engine, name: &str) -> Result<Option<u64>, Problem> {
    let information = engine.command("INFO replication").map_err(engine_problem)?;
    let is_copying = information.contains("master_link_status:up") || name.starts_with("master");
    let mut lines = information.lines();
    let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    Ok(value
        .filter(|_| is_copying)
        .and_then(|value| value.parse().ok()))
}

fn engine_problem(error: std::io::Error) -> Problem {
    Problem::new(format!("no engine: {error}"))
}

fn output_problem(error: io::Error) -> Problem {
    Problem::new(format!("no output of the nodes: {error}"))
}
