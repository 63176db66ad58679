//! The toolwire servers that the peers connect to.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::built_example::built_example;
use crate::client_peer::Wire;
use crate::installed::peers_directory;
use crate::problem::Problem;

/// The environment variable with the path of the `toolwire` binary under test.
pub const BINARY_VARIABLE: &str = "TOOLWIRE_BIN";

/// A toolwire server.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Subject {
    /// `toolwire demo`, of the binary named by [`BINARY_VARIABLE`].
    Demo,
    /// `toolwire proxy` in front of `toolwire demo --stdio`, which supports this revision only, or all.
    ProxiedDemo(Option<&'static str>),
    /// `toolwire gateway` in front of `toolwire demo --stdio` as its only upstream, without a prefix.
    DemoBehindGateway,
    /// The example `onboarding`, which stores its list of desks in this file.
    Onboarding(PathBuf),
}

impl Subject {
    /// Returns the name of the server in the scripts.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Demo | Self::ProxiedDemo(_) | Self::DemoBehindGateway => "demo",
            Self::Onboarding(_) => "onboarding",
        }
    }

    /// Returns the program and its arguments. Over HTTP it selects a free port and prints its address.
    ///
    /// # Errors
    ///
    /// Returns an error if the program is not built.
    pub fn command(&self, wire: Wire) -> Result<(PathBuf, Vec<OsString>), Problem> {
        match self {
            Self::Demo => {
                let arguments: &[&str] = match wire {
                    Wire::Stdio => &["demo", "--stdio"],
                    Wire::Http => &["demo", "--http", "127.0.0.1:0", "--sse"],
                };
                Ok((
                    toolwire_program()?,
                    arguments.iter().map(OsString::from).collect(),
                ))
            }
            Self::ProxiedDemo(revision) => {
                let program = toolwire_program()?;
                let front: &[&str] = match wire {
                    Wire::Stdio => &["proxy"],
                    // Clients of the SDKs do not end their sessions, each of which has a process.
                    Wire::Http => &[
                        "proxy",
                        "--listen",
                        "127.0.0.1:0",
                        "--sse",
                        "--max-sessions",
                        "32",
                    ],
                };
                let mut arguments: Vec<_> = front.iter().map(OsString::from).collect();
                arguments.extend(["--".into(), program.clone().into()]);
                arguments.extend(["demo".into(), "--stdio".into()]);
                let revision = revision.map(|revision| format!("--protocol-version={revision}"));
                arguments.extend(revision.map(OsString::from));
                Ok((program, arguments))
            }
            Self::DemoBehindGateway => {
                let config = peers_directory().join("gateway.toml");
                let arguments: [OsString; 3] = ["gateway".into(), "--config".into(), config.into()];
                Ok((toolwire_program()?, arguments.into()))
            }
            Self::Onboarding(desks) => {
                let mut arguments = vec![desks.into()];
                if wire == Wire::Http {
                    arguments.push("127.0.0.1:0".into());
                }
                Ok((built_example("interop_onboarding")?, arguments))
            }
        }
    }
}

/// Returns the path of the binary under test.
///
/// # Errors
/// Returns an error if it is not built.
pub fn toolwire_program() -> Result<PathBuf, Problem> {
    let path = std::env::var_os(BINARY_VARIABLE).map(PathBuf::from);
    match path {
        Some(path) if path.is_file() => Ok(path),
        Some(path) => Err(Problem::new(format!(
            "{BINARY_VARIABLE} names {}, which is not a file: run `cargo xtask test`",
            path.display()
        ))),
        None => Err(Problem::new(format!(
            "{BINARY_VARIABLE} is not set: run `cargo xtask test`, which builds toolwire and sets it"
        ))),
    }
}
