//! The arguments of the commands for views.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::connection_arguments::Server;
use crate::help_texts::{ARGUMENT_HELP, SERVER_HELP};
use crate::request_arguments::ArgumentRequest;

#[derive(Debug, Subcommand)]
pub(crate) enum View {
    /// Call a tool and show its view in the browser, until interrupted
    #[command(
        override_usage = "toolwire view open [OPTIONS] <SERVER> <TOOL> [ARGUMENT]...\n       toolwire view open [OPTIONS] <TOOL> [ARGUMENT]... -- <COMMAND>..."
    )]
    #[command(after_help = format!("{ARGUMENT_HELP}\n\n{SERVER_HELP}"))]
    Open(Box<Open>),
    /// Put the local scripts, styles, images and fonts of an HTML document into the document
    Bundle(Bundle),
}

impl View {
    /// Returns the output options of the command, or `None` if it has none.
    pub(crate) fn server(&self) -> Option<&Server> {
        match self {
            Self::Open(command) => Some(&command.request.server),
            Self::Bundle(_) => None,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Bundle {
    /// The document, or a directory with an `index.html`
    #[arg(value_name = "PATH")]
    pub(crate) path: PathBuf,
    /// Write the result to this file; by default it is printed
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Open {
    #[command(flatten)]
    pub(crate) request: ArgumentRequest,
    /// Only print the address, and do not open the browser
    #[arg(long)]
    pub(crate) no_browser: bool,
}
