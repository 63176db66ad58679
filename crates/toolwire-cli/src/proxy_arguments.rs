//! The arguments of `toolwire proxy`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

use crate::connection_arguments::Server;
use crate::listen_arguments::ListenOptions;

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
    #[command(flatten)]
    pub(crate) listen: ListenOptions,
    /// Serve metrics for Prometheus at this address, under `/metrics`; port 0 selects a free port
    #[cfg(feature = "otel")]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) metrics: Option<String>,
    /// Add the id of the trace to internal errors, as `traceId` in their `data`; needs a collector of spans
    #[cfg(feature = "otel")]
    #[arg(long)]
    pub(crate) trace_ids_in_errors: bool,
    /// The maximum number of connections to the server at a time; for a command, of its processes
    #[arg(long, value_name = "COUNT")]
    pub(crate) max_sessions: Option<NonZeroUsize>,
    /// Connect when the first client sends a message, instead of at the start; a command without `--listen` is always
    /// started then
    #[arg(long)]
    pub(crate) lazy: bool,
    /// With `--listen`, seal request state with the 32 bytes of this file. A proxy with the same file opens it, also after a
    /// restart. May be repeated: the first key seals, and all of them open
    #[arg(long, value_name = "FILE", requires = "listen")]
    pub(crate) state_key: Vec<PathBuf>,
}
