//! The arguments of the commands for views.

use clap::{Args, Subcommand};

use crate::arguments::{ARGUMENT_HELP, InputOptions, SERVER_HELP, Server};

#[derive(Debug, Subcommand)]
pub(crate) enum View {
    /// Call a tool and show its view in the browser, until interrupted
    #[command(
        override_usage = "toolwire view open [OPTIONS] <SERVER> <TOOL> [ARGUMENT]...\n       toolwire view open [OPTIONS] <TOOL> [ARGUMENT]... -- <COMMAND>..."
    )]
    #[command(after_help = format!("{ARGUMENT_HELP}\n\n{SERVER_HELP}"))]
    Open(Open),
}

impl View {
    pub(crate) fn server(&self) -> &Server {
        let Self::Open(command) = self;
        &command.server
    }
}

#[derive(Debug, Args)]
pub(crate) struct Open {
    #[command(flatten)]
    pub(crate) server: Server,
    #[command(flatten)]
    pub(crate) input: InputOptions,
    /// All arguments as a JSON object
    #[arg(long, value_name = "JSON")]
    pub(crate) args: Option<String>,
    /// Only print the address, and do not open the browser
    #[arg(long)]
    pub(crate) no_browser: bool,
}
