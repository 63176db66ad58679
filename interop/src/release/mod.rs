//! Published releases of SDKs and programs, which run as clients and servers of toolwire.
//!
//! [`RELEASES`] is the list. `interop/peers/releases` pins the packages and contains the scripts, and `cargo xtask peers`
//! installs the packages. The SDKs run small scripts: a server with two tools, a resource and a prompt, and a client
//! that checks `toolwire demo`. The programs run as their users start them.

mod client;
mod features;
mod list;
mod placeholders;
mod program;
mod server;

use crate::release::program::Program;
use crate::server_peer::ServerWire;

pub use crate::release::features::{Features, PromptCall, ToolCall};
pub use crate::release::list::RELEASES;
pub use crate::release::server::ReleaseServer;

/// One release of a package, with the roles in which the tests run it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Release {
    /// The name in the README and in messages.
    pub name: &'static str,
    /// The name of the package in its registry.
    pub package: &'static str,
    /// The pinned version.
    pub version: &'static str,
    program: Program,
    /// Environment variables, with placeholders.
    variables: &'static [(&'static str, &'static str)],
    /// The roles as a server of `toolwire::Client`.
    pub servers: &'static [ServerRole],
    /// The roles as a client of `toolwire demo`.
    pub clients: &'static [ClientRole],
}

/// A release as a server, on one transport.
#[derive(Debug)]
#[non_exhaustive]
pub struct ServerRole {
    /// The transport.
    pub wire: ServerWire,
    /// The revision that a client of all revisions negotiates.
    pub revision: &'static str,
    arguments: Arguments,
    /// What the server provides.
    pub features: &'static Features,
}

/// A release as a client, on one transport and in one revision.
#[derive(Debug)]
#[non_exhaustive]
pub struct ClientRole {
    /// The transport.
    pub wire: ServerWire,
    /// The revision that the client negotiates.
    pub revision: &'static str,
    arguments: Arguments,
}

/// The arguments of a program, with placeholders.
#[derive(Debug)]
enum Arguments {
    /// All arguments.
    Program(&'static [&'static str]),
    /// The first arguments of a script. The arguments for the transport follow, which all scripts have in common.
    Script(&'static [&'static str]),
}

impl ServerRole {
    fn arguments(&self) -> Vec<&'static str> {
        let for_transport: &[&str] = match self.wire {
            ServerWire::Stdio => &["stdio"],
            ServerWire::Sse => &["sse", "{port}"],
            _ => &["http", "{port}"],
        };
        self.arguments.followed_by(for_transport)
    }
}

impl ClientRole {
    fn arguments(&self) -> Vec<&'static str> {
        let for_transport: &[&str] = match self.wire {
            ServerWire::Stdio => &["{revision}", "stdio", "{toolwire}", "demo", "--stdio"],
            ServerWire::Sse => &["{revision}", "sse", "{sse_url}"],
            _ => &["{revision}", "http", "{url}"],
        };
        self.arguments.followed_by(for_transport)
    }
}

impl Arguments {
    fn followed_by(&self, for_transport: &[&'static str]) -> Vec<&'static str> {
        match self {
            Self::Program(arguments) => arguments.to_vec(),
            Self::Script(first) => [first, for_transport].concat(),
        }
    }
}

impl Release {
    /// Returns the release with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        RELEASES.iter().find(|release| release.name == name)
    }

    /// Returns the manifest in `interop/peers/releases` that pins the version, and the text that pins it.
    #[must_use]
    pub fn pin(&self) -> (String, String) {
        self.program.pin(self.package, self.version)
    }
}
