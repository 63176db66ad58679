//! The arguments of the commands that send a request to a server.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::connection_arguments::Server;

/// Responses to input requests of the server, given on the command line.
#[derive(Debug, Clone, Args)]
pub(crate) struct InputOptions {
    /// Fill in this field when the server requests input; may be repeated
    #[arg(
        long = "answer", // tidy: allow(answer) established name of the option
        value_name = "FIELD=VALUE",
        help_heading = "Input requests of the server"
    )]
    pub(crate) fields: Vec<String>,
    /// Decline every input request of the server
    #[arg(
        long,
        conflicts_with = "fields",
        help_heading = "Input requests of the server"
    )]
    pub(crate) decline: bool,
}

/// The arguments of a command without options of its own.
#[derive(Debug, Args)]
pub(crate) struct Plain {
    #[command(flatten)]
    pub(crate) server: Server,
}

/// A request with arguments, for a tool or a prompt.
#[derive(Debug, Args)]
pub(crate) struct ArgumentRequest {
    #[command(flatten)]
    pub(crate) server: Server,
    #[command(flatten)]
    pub(crate) input: InputOptions,
    /// All arguments as a JSON object
    #[arg(long, value_name = "JSON")]
    pub(crate) args: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Call {
    #[command(flatten)]
    pub(crate) request: ArgumentRequest,
    /// Save images, audio and other binary content to this file; `-` is standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Start a task and print its id, without waiting for the result. Without it, a call that becomes a task is waited
    /// for
    #[arg(long)]
    pub(crate) task: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Resources {
    #[command(flatten)]
    pub(crate) server: Server,
    /// List only the templates
    #[arg(long)]
    pub(crate) templates: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Read {
    #[command(flatten)]
    pub(crate) server: Server,
    #[command(flatten)]
    pub(crate) input: InputOptions,
    /// Save the contents to this file; `-` is standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Complete {
    #[command(flatten)]
    pub(crate) server: Server,
    /// The kind of the name; by default, a name with a colon is a template
    #[arg(long, value_enum)]
    pub(crate) kind: Option<ReferenceKind>,
}

#[derive(Debug, Args)]
pub(crate) struct Listen {
    #[command(flatten)]
    pub(crate) server: Server,
    /// Show changes of the list of tools
    #[arg(long)]
    pub(crate) tools: bool,
    /// Show changes of the list of prompts
    #[arg(long)]
    pub(crate) prompts: bool,
    /// Show changes of the list of resources
    #[arg(long)]
    pub(crate) resources: bool,
    /// Exit after this many changes
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReferenceKind {
    /// A prompt
    Prompt,
    /// A resource template
    Template,
}
