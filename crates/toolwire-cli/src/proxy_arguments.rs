//! The arguments of `toolwire proxy`.

use std::num::NonZeroUsize;

use clap::Args;

use crate::arguments::Server;

pub(crate) const PROXY_HELP: &str = "\
Examples:
    toolwire proxy https://example.com/mcp --login    for clients with stdio only
    toolwire proxy --listen 127.0.0.1:8080 -- npx some-server /tmp
                                                      a command, over HTTP
Messages pass unchanged. Standard output has nothing but messages.";

/// The help of `--timeout`, whose default differs from that of other commands.
pub(crate) const PROXY_TIMEOUT_HELP: &str = "\
Time out after this long without a message from the server that belongs to a request, and if connecting takes longer \
in total: `30s`, `500ms`, `2m` [default: 10m, and 30s for connecting]";

#[derive(Debug, Args)]
pub(crate) struct Proxy {
    #[command(flatten)]
    pub(crate) server: Server,
    /// Serve over HTTP at this address until interrupted, instead of standard input and output; port 0 selects a free
    /// port
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<String>,
    /// With `--listen`, a host name that remote clients use for the proxy; may be repeated
    #[arg(long, value_name = "NAME", requires = "listen")]
    pub(crate) public_host: Vec<String>,
    /// With `--listen`, also serve clients of revision 2024-11-05 at `/sse`
    #[arg(long, requires = "listen")]
    pub(crate) sse: bool,
    /// With `--listen`, permit an address that other machines can reach; each of them can use the server with your
    /// credentials
    #[arg(long, requires = "listen")]
    pub(crate) insecure_open: bool,
    /// The maximum number of connections to the server at a time; for a command, of its processes
    #[arg(long, value_name = "COUNT")]
    pub(crate) max_sessions: Option<NonZeroUsize>,
    /// Connect when the first client sends a message, instead of at the start
    #[arg(long)]
    pub(crate) lazy: bool,
}
