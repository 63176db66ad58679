//! The arguments of the commands for skills.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::connection_arguments::Server;
use crate::help_texts::{EXIT_CODES, SERVER_HELP};
use crate::output_arguments::Output;
use crate::request_arguments::Plain;

const SKILL_HELP: &str = "\
A skill is one of
    release                          the name of a listed skill
    skill://team/release/SKILL.md    a URI, also of a skill that is not listed";

#[derive(Debug, Subcommand)]
pub(crate) enum Skills {
    /// List the skills of a server; no file is read
    #[command(
        override_usage = "toolwire skills list [OPTIONS] <SERVER>\n       toolwire skills list [OPTIONS] -- <COMMAND>..."
    )]
    #[command(after_help = SERVER_HELP)]
    List(Plain),
    /// Show the front matter and the files of a skill; no file is read
    #[command(
        override_usage = "toolwire skills show [OPTIONS] <SERVER> <SKILL>\n       toolwire skills show [OPTIONS] <SKILL> -- <COMMAND>..."
    )]
    #[command(after_help = format!("{SKILL_HELP}\n\n{SERVER_HELP}"))]
    Show(Plain),
    /// Load a skill, verify it, and print its instructions, or one of its files
    #[command(
        override_usage = "toolwire skills load [OPTIONS] <SERVER> <SKILL> [FILE]\n       toolwire skills load [OPTIONS] <SKILL> [FILE] -- <COMMAND>..."
    )]
    #[command(
        after_help = format!("FILE is a path in the skill, such as references/CHECKLIST.md\n\n{SKILL_HELP}\n\n{SERVER_HELP}\n\n{EXIT_CODES}")
    )]
    Load(Load),
    /// Check a directory of skills as a server would, without one
    #[command(after_help = EXIT_CODES)]
    Check(Check),
}

impl Skills {
    pub(crate) fn output(&self) -> &Output {
        match self {
            Self::List(command) | Self::Show(command) => &command.server.output,
            Self::Load(command) => &command.server.output,
            Self::Check(command) => &command.output,
        }
    }

    pub(crate) fn server(&self) -> Option<&Server> {
        match self {
            Self::List(command) | Self::Show(command) => Some(&command.server),
            Self::Load(command) => Some(&command.server),
            Self::Check(_) => None,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Load {
    #[command(flatten)]
    pub(crate) server: Server,
    /// Save the file, or the SKILL.md, to this file; `-` is standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// A directory that contains skills, or is one
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    #[command(flatten)]
    pub(crate) output: Output,
}
