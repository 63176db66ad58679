//! A server that is not ours, for our client to talk to.
//!
//! The servers of the SDKs are the scripts of `interop/peers/servers`, which all offer the same; the reference server
//! offers what it always does. Over stdio the client starts them itself; over HTTP they are started here, listen on a
//! port of their own and end with the value that stands for them.

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Receiver;
use std::time::Duration;

use crate::installed::{node, peers_directory, python};
use crate::lines::lines_of;
use crate::problem::Problem;

/// How long a server may take until it listens; Python on a busy machine needs seconds.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// How often a free port is looked for, when somebody else was faster.
const PORT_ATTEMPTS: usize = 5;

/// A server implementation that is not ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerPeer {
    /// `@modelcontextprotocol/server` 2.x from npm: both eras.
    TypeScript2,
    /// `@modelcontextprotocol/sdk` 1.x from npm: the handshake only.
    TypeScript1,
    /// `mcp` from PyPI: both eras.
    Python,
    /// `@modelcontextprotocol/server-everything` from npm, the reference server: the handshake only.
    Everything,
}

/// How a server is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerWire {
    /// Standard input and output of a child process.
    Stdio,
    /// Streamable HTTP; clients of the handshake get a session.
    Http,
    /// Streamable HTTP as TypeScript 2.x does it by itself: nobody gets a session.
    Stateless,
    /// HTTP+SSE of 2024-11-05.
    Sse,
}

impl ServerPeer {
    /// The program and its arguments for this wire; `port` is where it is to listen, for those that listen.
    ///
    /// # Errors
    ///
    /// When the peer is not installed.
    pub fn command(self, wire: ServerWire, port: u16) -> Result<(PathBuf, Vec<OsString>), Problem> {
        let peers = peers_directory();
        let (program, script) = match self {
            Self::TypeScript2 => (node()?, peers.join("servers/ts2_server.mjs")),
            Self::TypeScript1 => (node()?, peers.join("servers/ts1_server.mjs")),
            Self::Python => (python()?, peers.join("servers/python_server.py")),
            Self::Everything => (
                node()?,
                peers.join("node_modules/@modelcontextprotocol/server-everything/dist/index.js"),
            ),
        };
        let name = match (self, wire) {
            (_, ServerWire::Stdio) => "stdio",
            (Self::Everything, ServerWire::Http) => "streamableHttp",
            (_, ServerWire::Http) => "http",
            (_, ServerWire::Stateless) => "stateless",
            (_, ServerWire::Sse) => "sse",
        };
        let mut arguments = vec![script.into_os_string(), name.into()];
        if wire != ServerWire::Stdio {
            arguments.push(port.to_string().into());
        }
        Ok((program, arguments))
    }

    /// Starts the server on a free port and waits until it listens.
    ///
    /// # Errors
    ///
    /// When the peer is not installed, or does not listen in time.
    pub fn start(self, wire: ServerWire) -> Result<RunningServer, Problem> {
        let mut last = Problem::new("no port is free");
        for _ in 0..PORT_ATTEMPTS {
            // Not every server can say which port it was given, so each is told.
            match self.start_on(wire, free_port()?) {
                Ok(server) => return Ok(server),
                Err(problem) => last = problem,
            }
        }
        Err(last)
    }

    fn start_on(self, wire: ServerWire, port: u16) -> Result<RunningServer, Problem> {
        let (program, arguments) = self.command(wire, port)?;
        let mut child = Command::new(&program)
            .args(arguments)
            .env("PORT", port.to_string())
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| {
                Problem::new(format!("{} does not start: {error}", program.display()))
            })?;
        let errors = lines_of(child.stderr.take().expect("stderr is piped"));
        let server = RunningServer {
            peer: self,
            wire,
            port,
            child,
            errors,
        };
        server.wait_until_it_listens()?;
        Ok(server)
    }
}

fn free_port() -> Result<u16, Problem> {
    TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(|error| Problem::new(format!("no port is free: {error}")))
}

/// A server that listens; it is killed when this is dropped.
#[derive(Debug)]
pub struct RunningServer {
    peer: ServerPeer,
    wire: ServerWire,
    port: u16,
    child: Child,
    errors: Receiver<String>,
}

impl RunningServer {
    /// Where a client connects to.
    #[must_use]
    pub fn url(&self) -> String {
        let path = match self.wire {
            ServerWire::Sse => "sse",
            _ => "mcp",
        };
        format!("http://127.0.0.1:{}/{path}", self.port)
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))
    }

    /// What the server has written to its standard error since it was asked last.
    #[must_use]
    pub fn said(&self) -> Vec<String> {
        self.errors.try_iter().collect()
    }

    /// Kills the server and starts another one on the same port, which knows nothing of earlier sessions.
    ///
    /// # Errors
    ///
    /// When the new one does not listen in time.
    pub fn restart(&mut self) -> Result<(), Problem> {
        self.kill();
        *self = self.peer.start_on(self.wire, self.port)?;
        Ok(())
    }

    fn wait_until_it_listens(&self) -> Result<(), Problem> {
        let mut said = Vec::new();
        // Every server writes one line with one of these words as soon as it listens.
        while let Ok(line) = self.errors.recv_timeout(START_TIMEOUT) {
            let line = line.to_lowercase();
            if line.contains("listening on") || line.contains("running on port") {
                return Ok(());
            }
            said.push(line);
        }
        Err(Problem::new(format!(
            "{:?} does not listen on {:?}:\n{}",
            self.peer,
            self.wire,
            said.join("\n")
        )))
    }

    fn kill(&mut self) {
        // Nothing is left to do when it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        self.kill();
    }
}
