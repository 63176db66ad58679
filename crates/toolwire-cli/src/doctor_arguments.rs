//! The arguments of the commands that check what a service depends on.

use clap::{Args, Subcommand};

use crate::arguments::{EXIT_CODES, Output};

#[derive(Debug, Subcommand)]
pub(crate) enum Doctor {
    /// Check whether a Redis or Valkey suits a service on several nodes
    #[command(after_help = EXIT_CODES)]
    Redis(DoctorRedis),
}

impl Doctor {
    pub(crate) fn output(&self) -> &Output {
        match self {
            Self::Redis(command) => &command.output,
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
