//! The arguments of the commands for tasks.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::connection_arguments::Server;
use crate::help_texts::{ARGUMENT_HELP, EXIT_CODES, SERVER_HELP};
use crate::request_arguments::{InputOptions, Plain};

#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    /// Show the status of a task, its input requests and its result
    #[command(
        override_usage = "toolwire task get [OPTIONS] <SERVER> <ID>\n       toolwire task get [OPTIONS] <ID> -- <COMMAND>..."
    )]
    #[command(after_help = SERVER_HELP)]
    Get(Plain),
    /// Wait for the result of a task, and print it like `call`; an interrupt leaves the task running
    #[command(
        override_usage = "toolwire task wait [OPTIONS] <SERVER> <ID>\n       toolwire task wait [OPTIONS] <ID> -- <COMMAND>..."
    )]
    #[command(after_help = format!("{SERVER_HELP}\n\n{EXIT_CODES}"))]
    Wait(Wait),
    /// Respond to an input request of a task; without fields, in a terminal, asks for them
    #[command(
        name = "answer", // tidy: allow(answer) name of the command
        override_usage = "toolwire task answer [OPTIONS] <SERVER> <ID> <KEY> [FIELD]...\n       toolwire task answer [OPTIONS] <ID> <KEY> [FIELD]... -- <COMMAND>..." // tidy: allow(answer) name of the command
    )]
    #[command(after_help = format!("{ARGUMENT_HELP}\n\n{SERVER_HELP}"))]
    Respond(Respond),
    /// Ask the server to cancel a task
    #[command(
        override_usage = "toolwire task cancel [OPTIONS] <SERVER> <ID>\n       toolwire task cancel [OPTIONS] <ID> -- <COMMAND>..."
    )]
    #[command(after_help = SERVER_HELP)]
    Cancel(Plain),
    /// List your tasks on a server of revision 2025-11-25; later revisions have no list
    #[command(
        override_usage = "toolwire task list [OPTIONS] <SERVER>\n       toolwire task list [OPTIONS] -- <COMMAND>..."
    )]
    #[command(after_help = SERVER_HELP)]
    List(Plain),
}

impl Task {
    pub(crate) fn server(&self) -> &Server {
        match self {
            Self::Get(command) | Self::Cancel(command) | Self::List(command) => &command.server,
            Self::Wait(command) => &command.server,
            Self::Respond(command) => &command.server,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Wait {
    #[command(flatten)]
    pub(crate) server: Server,
    #[command(flatten)]
    pub(crate) input: InputOptions,
    /// Save images, audio and other binary content to this file; `-` is standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Respond {
    #[command(flatten)]
    pub(crate) server: Server,
    /// All fields as a JSON object
    #[arg(long, value_name = "JSON")]
    pub(crate) args: Option<String>,
    /// Decline the input request
    #[arg(long, conflicts_with = "args")]
    pub(crate) decline: bool,
}
