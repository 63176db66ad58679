//! The arguments of the commands that check a server, or what a service depends on.

use clap::{Args, Subcommand};

use crate::connection_arguments::Server;
use crate::help_texts::EXIT_CODES;
use crate::output_arguments::Output;

pub(crate) const DOCTOR_HELP: &str = "\
Steps for an address: name, TCP, TLS, era, metadata, token, lists.
Steps for a command: command, start, era, lists, end.
The first step that fails ends the check and decides the exit code.";

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Doctor {
    #[command(subcommand)]
    pub(crate) dependency: Option<DoctorDependency>,
    #[command(flatten)]
    pub(crate) server: Server,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DoctorDependency {
    /// Check whether a Redis or Valkey suits a service on several nodes
    #[command(after_help = EXIT_CODES)]
    Redis(DoctorRedis),
}

impl Doctor {
    pub(crate) fn output(&self) -> &Output {
        match &self.dependency {
            Some(DoctorDependency::Redis(command)) => &command.output,
            None => &self.server.output,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct DoctorRedis {
    /// The URL: redis://HOST:PORT, rediss://HOST:PORT, redis+unix:///PATH, redis+sentinel://HOST:PORT/SERVICE or
    /// redis+cluster://HOST:PORT
    pub(crate) url: String,
    /// The name of the service, if the user of the engine may only use its keys
    #[arg(long, value_name = "NAME", default_value = "toolwire-doctor")]
    pub(crate) service: String,
    #[command(flatten)]
    pub(crate) output: Output,
}
