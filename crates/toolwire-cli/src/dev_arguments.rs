//! The arguments of `toolwire dev`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::argument_values::duration;
use crate::connection_arguments::Server;
use crate::inspect_arguments::PageOptions;

pub(crate) const DEV_HELP: &str = "\
Examples:
    toolwire dev                                the crate of this directory
    toolwire dev --open -- cargo run -- --verbose
    toolwire dev --watch server.py -- python3 server.py
    toolwire dev --build 'npm run build' -- node dist/server.js
Without a command, it is `cargo run`. Its program is built with `cargo build`.
Clients connect to `/mcp` at the printed address, or start `toolwire dev
--stdio` themselves. A changed file builds and starts the server again; only a
server that starts replaces the old one, and the clients stay connected.";

#[derive(Debug, Args)]
pub(crate) struct Dev {
    #[command(flatten)]
    pub(crate) server: Server,
    /// Also serve a client on standard input and output, and end with it
    #[arg(long)]
    pub(crate) stdio: bool,
    /// Serve the page and `/mcp` at this address of the local machine; port 0 selects a free port [default: 127.0.0.1 and
    /// the first free port from 6280]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<String>,
    /// Open the page in the browser
    #[arg(long)]
    pub(crate) open: bool,
    /// Run this command before each start, without a shell [default: `cargo build` for `cargo run`, otherwise nothing]
    #[arg(long, value_name = "COMMAND")]
    pub(crate) build: Option<String>,
    /// Watch this file or directory besides `src` and `Cargo.toml`; may be repeated
    #[arg(long, value_name = "PATH")]
    pub(crate) watch: Vec<PathBuf>,
    /// How long running calls may take to end on the old server
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "10s")]
    pub(crate) grace: Duration,
    #[command(flatten)]
    pub(crate) page: PageOptions,
}
