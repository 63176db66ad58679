//! The command of each program, with its address and files.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::process::Command;

use super::{Options, Program};

/// The number of tools of the server.
const TOOLS: &str = "3";

pub(super) struct Commands<'a> {
    options: &'a Options,
    /// The directory of nginx, removed at the end.
    files: Files,
}

impl<'a> Commands<'a> {
    pub(super) fn new(options: &'a Options) -> io::Result<Self> {
        Ok(Self {
            options,
            files: Files::create()?,
        })
    }

    /// Returns the command of the server, which prints its URL.
    pub(super) fn server(&self) -> Command {
        let mut command = self.program("bench-server");
        command.args(["http", "0", TOOLS]);
        command
    }

    /// Returns the command of a proxy to the server at `server_url`, and the URL of the proxy.
    pub(super) fn command(
        &self,
        proxy: Program,
        server_url: &str,
    ) -> io::Result<Option<(Command, String)>> {
        let address = format!("127.0.0.1:{}", free_port()?);
        let command = match proxy {
            Program::Direct => return Ok(None),
            Program::Nginx => match &self.options.nginx {
                Some(nginx) => self.nginx(nginx, &address, server_url)?,
                None => return Ok(None),
            },
            Program::DecodingRelay => {
                let mut command = self.program("decoding-relay");
                command.args([address.as_str(), server_url]);
                command
            }
            Program::Toolwire => self.toolwire(&address, &[server_url]),
            Program::ToolwireToLegacy => self.toolwire(&address, &[server_url, "--era", "legacy"]),
            Program::ToolwireToStdio => {
                let server = self.path("bench-server");
                let server = server.to_string_lossy();
                self.toolwire(&address, &["--", &server, "stdio", "0", TOOLS])
            }
        };
        let path = server_url.splitn(4, '/').nth(3).unwrap_or_default();
        Ok(Some((command, format!("http://{address}/{path}"))))
    }

    fn toolwire(&self, address: &str, server: &[&str]) -> Command {
        let mut command = self.program("toolwire");
        command.args(["proxy", "--listen", address]).args(server);
        command
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

/// Returns a port that no program uses now.
fn free_port() -> io::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(listener.local_addr()?.port())
}

/// A directory of this run.
struct Files(PathBuf);

impl Files {
    fn create() -> io::Result<Self> {
        let name = format!("toolwire-bench-{}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        std::fs::create_dir(&directory)?;
        Ok(Self(directory))
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        // A directory that stays is only a few files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
