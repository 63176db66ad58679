//! Several nodes of `toolwire demo` that share a Redis or Valkey, behind a balancer.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::balancer::Balancer;
use crate::client_peer::Check;
use crate::listening::ListeningServer;
use crate::problem::Problem;
use crate::subject;

/// The names of the engine, in the order in which they are tried.
const ENGINES: [&str; 2] = ["redis-server", "valkey-server"];

/// The longest time until the engine accepts connections.
const START_TIMEOUT: Duration = Duration::from_secs(30);

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
        let engine = Engine::start()?;
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
        self.engine.restart()
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

/// A running engine with its own directory and Unix socket, which writes all data to disk.
#[derive(Debug)]
struct Engine {
    directory: PathBuf,
    process: Child,
}

impl Engine {
    fn start() -> Result<Self, Problem> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        // The path of a socket may have about 100 bytes.
        let name = format!("toolwire-fleet-{}-{number}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&directory)
            .map_err(|error| Problem::new(format!("no directory for the engine: {error}")))?;
        let process = spawn_engine(&directory)?;
        let engine = Self { directory, process };
        engine.wait_for_socket()?;
        Ok(engine)
    }

    fn url(&self) -> String {
        format!("redis+unix://{}", self.socket().display())
    }

    fn socket(&self) -> PathBuf {
        self.directory.join("socket")
    }

    fn restart(&mut self) -> Result<(), Problem> {
        self.kill();
        self.process = spawn_engine(&self.directory)?;
        self.wait_for_socket()
    }

    fn kill(&mut self) {
        // An error means that the process has exited already.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_file(self.socket());
    }

    fn wait_for_socket(&self) -> Result<(), Problem> {
        let start = Instant::now();
        while !self.socket().exists() {
            if start.elapsed() > START_TIMEOUT {
                return Err(Problem::new("the engine did not start".to_owned()));
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.kill();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

fn spawn_engine(directory: &std::path::Path) -> Result<Child, Problem> {
    for program in ENGINES {
        let started = Command::new(program)
            .args(["--port", "0", "--unixsocket"])
            .arg(directory.join("socket"))
            .arg("--dir")
            .arg(directory)
            .args([
                "--save",
                "",
                "--appendonly",
                "yes",
                "--appendfsync",
                "always",
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn();
        match started {
            Ok(process) => return Ok(process),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(Problem::new(format!("{program} does not start: {error}"))),
        }
    }
    Err(Problem::new(
        "install redis-server or valkey-server (on Debian: `apt-get install redis-server`)"
            .to_owned(),
    ))
}
