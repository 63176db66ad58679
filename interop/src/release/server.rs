//! Runs a release as a server for toolwire's client.

use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use crate::lines::lines_of;
use crate::problem::Problem;
use crate::release::placeholders::Placeholders;
use crate::release::{Release, ServerRole};
use crate::server_peer::{ServerWire, free_port};

/// The longest start time. Python on a busy machine needs seconds.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// The time between two attempts to connect to a server that starts.
const CONNECT_INTERVAL: Duration = Duration::from_millis(20);

/// A server of a release. If it listens, it runs until this is dropped. Over stdio, the client starts it.
#[derive(Debug)]
pub struct ReleaseServer {
    program: PathBuf,
    arguments: Vec<String>,
    variables: Vec<(&'static str, String)>,
    placeholders: Placeholders,
    listening: Option<Listening>,
}

impl Release {
    /// Prepares the server, and starts it if its transport is HTTP.
    ///
    /// # Errors
    ///
    /// Returns an error if the release is missing or does not listen in time.
    pub fn server(&self, role: &ServerRole) -> Result<ReleaseServer, Problem> {
        let features = role.features;
        let calls = [&features.tool, &features.failing_tool];
        let arguments = role.arguments();
        let mut texts = arguments.clone();
        texts.extend(self.variables.iter().map(|(_, value)| *value));
        texts.extend(calls.map(|call| call.arguments));
        let listens = role.wire != ServerWire::Stdio;
        let port = if listens { free_port()? } else { 0 };
        let placeholders = Placeholders::of(&texts, role.revision, port)?;
        let arguments = placeholders.fill_all(&arguments);
        let (program, arguments) = self.program.locate(&arguments)?;
        let mut variables = self.program.variables();
        variables.extend(
            self.variables
                .iter()
                .map(|(name, value)| (*name, placeholders.fill(value))),
        );
        let mut server = ReleaseServer {
            arguments: arguments.to_vec(),
            program,
            variables,
            placeholders,
            listening: None,
        };
        if listens {
            server.listening = Some(Listening::start(&server, role.wire, port)?);
        }
        Ok(server)
    }
}

impl ReleaseServer {
    /// Returns the program and its arguments, for a client that starts it.
    #[must_use]
    pub fn command(&self) -> (&Path, &[String]) {
        (&self.program, &self.arguments)
    }

    /// Returns the environment variables of the program.
    #[must_use]
    pub fn variables(&self) -> &[(&'static str, String)] {
        &self.variables
    }

    /// Returns the URL of the listening server, or `None` if the client must start it.
    #[must_use]
    pub fn url(&self) -> Option<&str> {
        self.listening.as_ref().map(|server| server.url.as_str())
    }

    /// Returns a text of the features with the values of its placeholders.
    #[must_use]
    pub fn fill(&self, text: &str) -> String {
        self.placeholders.fill(text)
    }

    /// Returns the lines that the listening server wrote to standard error since the last call.
    #[must_use]
    pub fn take_stderr(&self) -> Vec<String> {
        let listening = self.listening.iter();
        listening
            .flat_map(|server| server.stderr.try_iter())
            .collect()
    }
}

/// A server process that listens on a port. It and everything that it started is killed when this is dropped.
#[derive(Debug)]
struct Listening {
    url: String,
    child: Child,
    stderr: Receiver<String>,
}

impl Listening {
    fn start(server: &ReleaseServer, wire: ServerWire, port: u16) -> Result<Self, Problem> {
        let mut command = Command::new(&server.program);
        command
            .args(&server.arguments)
            .envs(server.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command
            .spawn()
            .map_err(|error| Problem::new(format!("{command:?} does not start: {error}")))?;
        let stderr = lines_of(child.stderr.take().expect("stderr is piped"));
        let path = match wire {
            ServerWire::Sse => "sse",
            _ => "mcp",
        };
        let mut listening = Self {
            url: format!("http://127.0.0.1:{port}/{path}"),
            child,
            stderr,
        };
        listening.wait_until_listening(port)?;
        Ok(listening)
    }

    /// The programs report their start in different ways, so this connects until a connection is accepted.
    fn wait_until_listening(&mut self, port: u16) -> Result<(), Problem> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let deadline = Instant::now() + START_TIMEOUT;
        loop {
            if TcpStream::connect(address).is_ok() {
                return Ok(());
            }
            let exited = self.child.try_wait().ok().flatten();
            if exited.is_some() || Instant::now() > deadline {
                let output: Vec<String> = self.stderr.try_iter().collect();
                return Err(Problem::new(format!(
                    "the server does not listen on port {port} (exit status: {exited:?}):\n{}",
                    output.join("\n")
                )));
            }
            std::thread::sleep(CONNECT_INTERVAL);
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        // An error means that the processes have exited already.
        #[cfg(unix)]
        let _ = Command::new("sh")
            .args(["-c", "kill -KILL -- \"-$0\""])
            .arg(self.child.id().to_string())
            .stderr(Stdio::null())
            .status();
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
