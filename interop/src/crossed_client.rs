//! Runs a client of an SDK with a server of another one, behind `toolwire proxy` or `toolwire gateway`.
//!
//! The checks are in `interop/peers/crossed.mjs` and `interop/peers/crossed_client.py`. They are few, and the servers of all
//! SDKs have what they use in the same form.

use std::ffi::OsString;
use std::process::Command;

use crate::client_peer::{Check, SCRIPT_TIMEOUT, run_script};
use crate::installed::{node, peers_directory, python};
use crate::problem::Problem;
use crate::server_peer::{FASTMCP, release_python};

/// A client of an SDK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CrossedClient {
    /// `@modelcontextprotocol/sdk` 1.x from npm.
    TypeScript1,
    /// `@modelcontextprotocol/client` 2.x from npm.
    TypeScript2,
    /// `mcp` from PyPI.
    Python,
    /// `fastmcp` from PyPI.
    FastMcp,
}

impl CrossedClient {
    /// All clients.
    pub const ALL: [Self; 4] = [
        Self::TypeScript1,
        Self::TypeScript2,
        Self::Python,
        Self::FastMcp,
    ];

    /// Runs the checks in a revision. The client connects to the URL, or starts the command, that `target` contains, and
    /// must see a server with this name.
    ///
    /// # Errors
    ///
    /// Returns an error if the client is missing, or if it hangs or prints anything but checks.
    pub fn run(
        self,
        revision: &str,
        target: &[OsString],
        server: &str,
        excluded: &[&str],
    ) -> Result<Vec<Check>, Problem> {
        let mut command = self.command()?;
        command
            .arg(revision)
            .args(target)
            .env("TOOLWIRE_SERVER_NAME", server)
            .env("TOOLWIRE_EXCLUDED_CHECKS", excluded.join(","))
            // Python must not write files between the scripts.
            .env("PYTHONDONTWRITEBYTECODE", "1");
        let output = run_script(command, SCRIPT_TIMEOUT)?;
        let mut checks = output.checks;
        checks.push(Check::new("server_ends", output.server_outlived));
        Ok(checks)
    }

    /// Returns the command without the revision.
    fn command(self) -> Result<Command, Problem> {
        let peers = peers_directory();
        let mut command = match self {
            Self::TypeScript1 | Self::TypeScript2 => Command::new(node()?),
            Self::Python => Command::new(python()?),
            Self::FastMcp => {
                let (program, arguments) = release_python(FASTMCP)?;
                let mut command = Command::new(program);
                command.args(arguments);
                command
            }
        };
        match self {
            Self::TypeScript1 => command.arg(peers.join("ts1_client.mjs")).arg("crossed"),
            Self::TypeScript2 => command.arg(peers.join("ts2_client.mjs")).arg("crossed"),
            Self::Python => command.arg(peers.join("crossed_client.py")).arg("python"),
            Self::FastMcp => command.arg(peers.join("crossed_client.py")).arg("fastmcp"),
        };
        Ok(command)
    }
}
