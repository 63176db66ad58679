//! The options of commands that serve on standard input and output, or over HTTP.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct ListenOptions {
    /// Serve over HTTP at this address until interrupted, instead of standard input and output; port 0 selects a free
    /// port
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<String>,
    /// With `--listen`, a host name that remote clients use for this command; may be repeated
    #[arg(long, value_name = "NAME", requires = "listen")]
    pub(crate) public_host: Vec<String>,
    /// With `--listen`, also serve clients of revision 2024-11-05 at `/sse`
    #[arg(long, requires = "listen")]
    pub(crate) sse: bool,
    /// With `--listen`, append a line of JSON for each HTTP request to this file; `-` is standard error
    #[arg(long, value_name = "FILE", requires = "listen")]
    pub(crate) access_log: Option<PathBuf>,
    /// Permit an address that other machines can reach; each of them can use the server with your credentials
    #[arg(long)]
    pub(crate) insecure_open: bool,
}
