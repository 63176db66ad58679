//! The arguments of `toolwire gateway` and `toolwire pins`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::output_arguments::Output;
use crate::record_arguments::RecordOptions;

pub(crate) const GATEWAY_HELP: &str = "\
Examples:
    toolwire gateway --config gateway.toml          many servers at one address
    toolwire gateway --from mcp.json                all servers of a host's file
    toolwire gateway --config gateway.toml --check  what would be offered
    toolwire gateway --config gateway.toml --stdio  for a host that starts it
All servers are at /mcp, and each one alone at /mcp/NAME. The file is read again
when it changes, and at SIGHUP.";

pub(crate) const PINS_HELP: &str = "\
Examples:
    toolwire pins --config gateway.toml                               what has changed
    toolwire pins --config gateway.toml accept files@DIGEST           one upstream
    toolwire pins --config gateway.toml accept files/read_file@DIGEST one tool or prompt
The digest is that of what was shown. If the upstream offers something else by
then, nothing is approved.";

/// Where the configuration of a gateway comes from.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct GatewaySettings {
    /// The configuration of the gateway, a TOML file
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// A configuration file of an MCP host, such as mcp.json: each of its servers becomes an upstream
    #[arg(long, value_name = "FILE")]
    pub(crate) from: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Gateway {
    #[command(flatten)]
    pub(crate) settings: GatewaySettings,
    /// Serve at this address, instead of the one of the configuration; port 0 selects a free port
    #[arg(long, value_name = "ADDRESS", conflicts_with = "check")]
    pub(crate) listen: Option<String>,
    /// Serve all servers on standard input and output, for a host that starts this command; standard output has nothing but
    /// messages
    #[arg(long, conflicts_with_all = ["listen", "check"])]
    pub(crate) stdio: bool,
    /// Append a line of JSON for each HTTP request to this file; `-` is standard error
    #[arg(long, value_name = "FILE", conflicts_with_all = ["stdio", "check"])]
    pub(crate) access_log: Option<PathBuf>,
    /// Read the configuration, connect, show what would be offered, and exit
    #[arg(long)]
    pub(crate) check: bool,
    /// Permit an address that other machines can reach without authorization; each of them can use all servers
    #[arg(long)]
    pub(crate) insecure_open: bool,
    /// Serve metrics for Prometheus at this address, under `/metrics`; port 0 selects a free port
    #[cfg(feature = "otel")]
    #[arg(long, value_name = "ADDRESS", conflicts_with = "check")]
    pub(crate) metrics: Option<String>,
    /// Add the id of the trace to internal errors, as `traceId` in their `data`; needs a collector of spans
    #[cfg(feature = "otel")]
    #[arg(long, conflicts_with = "check")]
    pub(crate) trace_ids_in_errors: bool,
    /// Seal request state with the 32 bytes of this file. A gateway with the same file opens it, also after a restart. May
    /// be repeated: the first key seals, and all of them open
    #[arg(long, value_name = "FILE", conflicts_with = "check")]
    pub(crate) state_key: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) recording: RecordOptions,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = false)]
pub(crate) struct Pins {
    #[command(flatten)]
    pub(crate) settings: GatewaySettings,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(subcommand)]
    pub(crate) action: Option<PinsAction>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PinsAction {
    /// Approve what an upstream offers, by the digest that was shown
    Accept(AcceptPins),
}

#[derive(Debug, Args)]
pub(crate) struct AcceptPins {
    /// An upstream (`files@DIGEST`), or one of its tools or prompts (`files/read_file@DIGEST`)
    #[arg(value_name = "NAME@DIGEST", required = true)]
    pub(crate) names: Vec<String>,
}
