//! Runs an independent server for toolwire's client.
//!
//! The servers of the SDKs are the scripts in `interop/peers/servers`, which all have the same features. The reference
//! server has its own. Over stdio, the client starts them. Over HTTP, this module starts them on their own port and
//! ends them when their value is dropped.

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::ops::Range;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::Receiver;
use std::time::Duration;

use crate::installed::{node, peers_directory, python, python_of};
use crate::lines::lines_of;
use crate::problem::Problem;

/// The longest start time. Python on a busy machine needs seconds.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// The number of attempts to find a free port, because another process may take it.
const PORT_ATTEMPTS: usize = 5;

/// The ports for servers. Linux assigns ports from 32768 on, other systems from 49152 on.
const PORTS: Range<u16> = 12_000..32_000;

/// The environment of the newest FastMCP.
pub(crate) const FASTMCP: &str = "fastmcp-4.1";

/// An independent server implementation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerPeer {
    /// `@modelcontextprotocol/server` 2.x from npm: both eras.
    TypeScript2,
    /// `@modelcontextprotocol/sdk` 1.x from npm: the handshake only.
    TypeScript1,
    /// The same with its experimental tasks, which are those of 2025-11-25, and no other feature.
    TypeScript1Tasks,
    /// `mcp` from PyPI: both eras.
    Python,
    /// `@modelcontextprotocol/server-everything` from npm, the reference server: the handshake only.
    Everything,
    /// `@modelcontextprotocol/server-filesystem` from npm, with access to `interop/peers/servers`, over stdio.
    Filesystem,
    /// `mcp-server-time` from PyPI, over stdio.
    Time,
    /// `fastmcp` from PyPI.
    FastMcp,
}

/// The transport of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerWire {
    /// Standard input and output of a child process.
    Stdio,
    /// Streamable HTTP. Legacy clients get a session.
    Http,
    /// Streamable HTTP without sessions, the default of TypeScript 2.x.
    Stateless,
    /// Streamable HTTP for 2026-07-28 only. TypeScript 2.x rejects other clients.
    ModernHttp,
    /// HTTP+SSE of 2024-11-05.
    Sse,
}

impl ServerPeer {
    /// Returns the program and its arguments for this transport. A listening server uses `port`.
    ///
    /// # Errors
    ///
    /// Returns an error if the peer is not installed.
    pub fn command(self, wire: ServerWire, port: u16) -> Result<(PathBuf, Vec<OsString>), Problem> {
        let peers = peers_directory();
        let mut before_script = Vec::new();
        let (program, script) = match self {
            // These have no other transport, and are started with other arguments.
            Self::Filesystem => {
                let script = "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js";
                let arguments = vec![peers.join(script).into(), peers.join("servers").into()];
                return Ok((node()?, arguments));
            }
            Self::Time => {
                let (python, mut arguments) = release_python("time")?;
                arguments.extend(["-m".into(), "mcp_server_time".into()]);
                return Ok((python, arguments));
            }
            Self::FastMcp => {
                let (python, arguments) = release_python(FASTMCP)?;
                before_script = arguments;
                (python, peers.join("servers/fastmcp_server.py"))
            }
            Self::TypeScript2 => (node()?, peers.join("servers/ts2_server.mjs")),
            Self::TypeScript1 => (node()?, peers.join("servers/ts1_server.mjs")),
            Self::TypeScript1Tasks => (node()?, peers.join("servers/ts1_task_server.mjs")),
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
            (_, ServerWire::ModernHttp) => "modern",
            (_, ServerWire::Sse) => "sse",
        };
        let mut arguments = before_script;
        arguments.extend([script.into_os_string(), name.into()]);
        if wire != ServerWire::Stdio {
            arguments.push(port.to_string().into());
        }
        Ok((program, arguments))
    }

    /// Starts the server on a free port and waits until it listens.
    ///
    /// # Errors
    ///
    /// Returns an error if the peer is not installed or does not listen in time.
    pub fn start(self, wire: ServerWire) -> Result<RunningServer, Problem> {
        let mut last = Problem::new("no port is free");
        for _ in 0..PORT_ATTEMPTS {
            // Not every server can report its port, so each one gets a port number.
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
        let stderr = lines_of(child.stderr.take().expect("stderr is piped"));
        let server = RunningServer {
            peer: self,
            wire,
            port,
            child,
            stderr,
        };
        server.wait_until_listening()?;
        Ok(server)
    }
}

/// Returns the Python of a release, and the argument that names its compiled modules.
pub(crate) fn release_python(environment: &str) -> Result<(PathBuf, Vec<OsString>), Problem> {
    let directory = format!("releases/.venv/{environment}");
    let mut compiled = OsString::from("pycache_prefix=");
    compiled.push(peers_directory().join(&directory).join("compiled"));
    Ok((python_of(&directory)?, vec!["-X".into(), compiled]))
}

/// Returns a port that no other server of these tests gets.
///
/// The ports are below those that operating systems assign to sockets without a port. Otherwise another test could get
/// the port before the server binds it.
pub(crate) fn free_port() -> Result<u16, Problem> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let first = std::process::id().wrapping_mul(97);
    let count = u32::from(PORTS.end - PORTS.start);
    for _ in 0..count {
        let index = first.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        let port = PORTS.start + u16::try_from(index % count).expect("PORTS has fewer ports");
        if TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).is_ok() {
            return Ok(port);
        }
    }
    Err(Problem::new(format!("no port of {PORTS:?} is free")))
}

/// A listening server. It is killed when this is dropped.
#[derive(Debug)]
pub struct RunningServer {
    peer: ServerPeer,
    wire: ServerWire,
    port: u16,
    child: Child,
    stderr: Receiver<String>,
}

impl RunningServer {
    /// Returns the URL for clients.
    #[must_use]
    pub fn url(&self) -> String {
        let path = match self.wire {
            ServerWire::Sse => "sse",
            _ => "mcp",
        };
        format!("http://127.0.0.1:{}/{path}", self.port)
    }

    /// Returns the address of the server.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))
    }

    /// Returns the lines that the server wrote to standard error since the last call.
    #[must_use]
    pub fn take_stderr(&self) -> Vec<String> {
        self.stderr.try_iter().collect()
    }

    /// Kills the server and starts another one on the same port, without the earlier sessions.
    ///
    /// # Errors
    ///
    /// Returns an error if the new server does not listen in time.
    pub fn restart(&mut self) -> Result<(), Problem> {
        self.kill();
        *self = self.peer.start_on(self.wire, self.port)?;
        Ok(())
    }

    fn wait_until_listening(&self) -> Result<(), Problem> {
        let mut output = Vec::new();
        // Every server writes one line with one of these texts when it listens.
        while let Ok(line) = self.stderr.recv_timeout(START_TIMEOUT) {
            let line = line.to_lowercase();
            let texts = ["listening on", "running on port", "uvicorn running on"];
            if texts.iter().any(|text| line.contains(text)) {
                return Ok(());
            }
            output.push(line);
        }
        Err(Problem::new(format!(
            "{:?} does not listen on {:?}:\n{}",
            self.peer,
            self.wire,
            output.join("\n")
        )))
    }

    fn kill(&mut self) {
        // An error means that the process has exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        self.kill();
    }
}
