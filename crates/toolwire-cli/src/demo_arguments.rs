//! The arguments of `toolwire demo`.

use std::path::PathBuf;

use clap::Args;
use toolwire::ProtocolVersion;

use crate::argument_values::revision;

#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Serve on standard input and output, for a client that starts this command
    #[arg(long, group = "transport")]
    pub(crate) stdio: bool,
    /// Serve over HTTP until interrupted; port 0 selects a free port
    #[arg(
        long,
        value_name = "ADDRESS",
        num_args = 0..=1,
        default_missing_value = "127.0.0.1:3000",
        group = "transport"
    )]
    pub(crate) http: Option<String>,
    /// With `--http`, a host name that remote clients use for the server; may be repeated
    #[arg(long, value_name = "NAME", requires = "http")]
    pub(crate) public_host: Vec<String>,
    /// With `--http`, also serve clients of revision 2024-11-05 at `/sse`
    #[arg(long, requires = "http")]
    pub(crate) sse: bool,
    /// With `--http`, append a line of JSON for each HTTP request to this file; `-` is standard error
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) access_log: Option<PathBuf>,
    /// With `--http`, share sessions, streams and tasks with other nodes through this Redis or Valkey
    #[arg(long, value_name = "URL", requires = "http")]
    pub(crate) redis: Option<String>,
    /// With `--http`, seal request state with the 32 bytes of this file. Other nodes with the same file accept it. May be
    /// repeated: the first key seals, and all of them open
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) state_key: Vec<PathBuf>,
    /// Serve only this protocol revision; may be repeated
    #[arg(long, value_name = "VERSION", value_parser = revision, requires = "transport")]
    pub(crate) protocol_version: Vec<ProtocolVersion>,
}
