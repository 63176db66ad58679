//! The arguments of the commands for events.

use clap::{Args, Subcommand};

use crate::connection_arguments::Server;
use crate::help_texts::{ARGUMENT_HELP, SERVER_HELP};
use crate::request_arguments::Plain;

#[derive(Debug, Subcommand)]
pub(crate) enum Events {
    /// List the types of events of a server
    #[command(
        override_usage = "toolwire events list [OPTIONS] <SERVER>\n       toolwire events list [OPTIONS] -- <COMMAND>..."
    )]
    #[command(after_help = SERVER_HELP)]
    List(Plain),
    /// Show events of one type as they happen
    #[command(
        override_usage = "toolwire events watch [OPTIONS] <SERVER> <EVENT> [ARGUMENT]...\n       toolwire events watch [OPTIONS] <EVENT> [ARGUMENT]... -- <COMMAND>..."
    )]
    #[command(after_help = format!("{ARGUMENT_HELP}\n\n{SERVER_HELP}"))]
    Watch(Watch),
}

impl Events {
    pub(crate) fn server(&self) -> &Server {
        match self {
            Self::List(command) => &command.server,
            Self::Watch(command) => &command.server,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Watch {
    #[command(flatten)]
    pub(crate) server: Server,
    /// All arguments as a JSON object
    #[arg(long, value_name = "JSON")]
    pub(crate) args: Option<String>,
    /// Exit after this many events
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,
}
