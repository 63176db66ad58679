//! The arguments of `toolwire inspect`.

use clap::Args;

use crate::connection_arguments::Server;

pub(crate) const INSPECT_HELP: &str = "\
Examples:
    toolwire inspect https://example.com/mcp --login
    toolwire inspect --open -- npx some-server /tmp
    toolwire inspect session.mcplog     show a record, without its server
The printed address works once. After that, the browser that opened it has
access until the command ends.";

#[derive(Debug, Args)]
pub(crate) struct Inspect {
    #[command(flatten)]
    pub(crate) server: Server,
    /// Serve the page at this address of the local machine; port 0 selects a free port [default: 127.0.0.1 and the
    /// first free port from 6280]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<String>,
    /// Open the page in the browser
    #[arg(long)]
    pub(crate) open: bool,
}
