//! The command of each program, with its address and files.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::cases::Servers;
use super::gateways;
use super::{Options, Program};
use crate::load::Era;
use crate::process::ServerProcess;

/// The number of tools of a server that is a child process.
const TOOLS: &str = "3";

/// More connections to a server than any case needs.
const MAX_CONNECTIONS: &str = "4096";

pub(super) struct Commands<'a> {
    options: &'a Options,
    /// The files of the programs, removed at the end.
    files: Files,
}

impl<'a> Commands<'a> {
    pub(super) fn new(options: &'a Options) -> io::Result<Self> {
        Ok(Self {
            options,
            files: Files::create()?,
        })
    }

    /// Starts the servers behind the programs.
    pub(super) async fn start_servers(&self, servers: Servers) -> io::Result<Vec<ServerProcess>> {
        match servers {
            Servers::Bench { count, tools } => {
                let mut started = Vec::new();
                for _ in 0..count {
                    let command = self.bench_server(tools);
                    started.push(ServerProcess::start_command(command).await?);
                }
                Ok(started)
            }
            Servers::Demo(era) => Ok(vec![self.start_demo(era).await?]),
        }
    }

    async fn start_demo(&self, era: Era) -> io::Result<ServerProcess> {
        let address = free_address()?;
        let mut command = self.program("toolwire");
        command.args(["demo", "--http", &address]);
        command.arg(format!("--protocol-version={}", era.version()));
        ServerProcess::start_listening(command, format!("http://{address}/mcp")).await
    }

    /// Returns the command of a server with this many tools, which prints its URL.
    fn bench_server(&self, tools: usize) -> Command {
        let mut command = self.program("bench-server");
        command.args(["http", "0", &tools.to_string()]);
        command
    }

    /// Returns the command of a program in front of the servers, and its URL. Returns `None` if it is not installed.
    pub(super) fn listening(
        &self,
        program: Program,
        servers: &[ServerProcess],
    ) -> io::Result<Option<(Command, String)>> {
        let address = free_address()?;
        let server_url = servers.first().map_or("", ServerProcess::url);
        let command = match program {
            Program::Nginx => match &self.options.nginx {
                Some(nginx) => self.nginx(nginx, &address, server_url)?,
                None => return Ok(None),
            },
            Program::DecodingRelay => {
                let mut command = self.program("decoding-relay");
                command.args([address.as_str(), server_url]);
                command
            }
            Program::Toolwire => self.proxy(&address, &[server_url]),
            Program::ToolwireToLegacy => self.proxy(&address, &[server_url, "--era", "legacy"]),
            Program::ToolwireToStdio => {
                let server = self.path("bench-server");
                let server = server.to_string_lossy();
                self.proxy(&address, &["--", &server, "stdio", "0", TOOLS])
            }
            Program::Gateway => self.gateway("gateway", &gateways::plain(&address, servers))?,
            Program::GatewayWithRules => {
                let config = gateways::with_rules(&address, servers, &self.audit_file());
                self.gateway("rules", &config)?
            }
            Program::Direct
            | Program::OwnServer
            | Program::StdioReader
            | Program::ToolwireOnStdio => {
                unreachable!("the program is not in front of the servers, or does not listen")
            }
        };
        let path = server_url.splitn(4, '/').nth(3).unwrap_or_default();
        Ok(Some((command, format!("http://{address}/{path}"))))
    }

    /// Returns the command of a server that has as many tools as the servers together.
    pub(super) fn own_server(&self, servers: Servers) -> Command {
        self.bench_server(match servers {
            Servers::Bench { count, tools } => count * tools,
            Servers::Demo(_) => unreachable!("no case compares it with the demo"),
        })
    }

    /// Returns the command of a program that reads its standard input at once.
    pub(super) fn reading(&self, program: Program, servers: &[ServerProcess]) -> Command {
        match program {
            Program::StdioReader => {
                let mut command = self.program("limit-server");
                command.arg("stdio");
                command
            }
            _ => {
                let mut command = self.program("toolwire");
                command.args(["proxy", "--lazy"]);
                command.args(servers.iter().map(ServerProcess::url));
                command
            }
        }
    }

    /// Returns the path of the audit log.
    pub(super) fn audit_file(&self) -> PathBuf {
        self.files.0.join("audit.jsonl")
    }

    fn proxy(&self, address: &str, server: &[&str]) -> Command {
        let mut command = self.program("toolwire");
        command.args(["proxy", "--listen", address]);
        command.args(["--max-sessions", MAX_CONNECTIONS]);
        command.args(server);
        command
    }

    fn gateway(&self, name: &str, config: &str) -> io::Result<Command> {
        let file = self.files.0.join(format!("{name}.toml"));
        std::fs::write(&file, config)?;
        let mut command = self.program("toolwire");
        command.args(["gateway", "--config"]).arg(file);
        Ok(command)
    }

    fn program(&self, name: &str) -> Command {
        Command::new(self.path(name))
    }

    fn path(&self, name: &str) -> PathBuf {
        let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
        self.options.programs.join(file)
    }

    /// nginx with its defaults, one process, and connections that stay open on both sides.
    fn nginx(&self, program: &str, address: &str, server_url: &str) -> io::Result<Command> {
        let server = server_url.split('/').nth(2).unwrap_or_default();
        let directory = self.files.0.display();
        let configuration = format!(
            "daemon off;\n\
             master_process off;\n\
             pid {directory}/nginx.pid;\n\
             error_log stderr;\n\
             events {{ worker_connections 1024; }}\n\
             http {{\n\
             access_log off;\n\
             client_max_body_size 16m;\n\
             client_body_buffer_size 1m;\n\
             keepalive_requests 1000000000;\n\
             client_body_temp_path {directory}/body;\n\
             proxy_temp_path {directory}/proxy;\n\
             fastcgi_temp_path {directory}/fastcgi;\n\
             uwsgi_temp_path {directory}/uwsgi;\n\
             scgi_temp_path {directory}/scgi;\n\
             upstream mcp {{ server {server}; keepalive 64; keepalive_requests 1000000000; }}\n\
             server {{\n\
             listen {address};\n\
             location / {{\n\
             proxy_pass http://mcp;\n\
             proxy_http_version 1.1;\n\
             proxy_set_header Connection \"\";\n\
             proxy_set_header Host $http_host;\n\
             }}\n\
             }}\n\
             }}\n"
        );
        let file = self.files.0.join("nginx.conf");
        std::fs::write(&file, configuration)?;
        let mut command = Command::new(program);
        command.arg("-p").arg(&self.files.0).arg("-c").arg(file);
        Ok(command)
    }
}

/// Returns an address that no program uses now.
fn free_address() -> io::Result<String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(listener.local_addr()?.to_string())
}

/// A directory of this run.
struct Files(PathBuf);

impl Files {
    fn create() -> io::Result<Self> {
        // A process may make several runs at a time.
        static RUNS: AtomicUsize = AtomicUsize::new(0);
        loop {
            let run = RUNS.fetch_add(1, Ordering::Relaxed);
            let name = format!("toolwire-bench-{}-{run}", std::process::id());
            let directory = std::env::temp_dir().join(name);
            match std::fs::create_dir(&directory) {
                // A killed process had the same id.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => return created.map(|()| Self(directory)),
            }
        }
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        // A directory that stays is only a few files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
