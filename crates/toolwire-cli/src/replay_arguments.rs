//! The arguments of `toolwire replay`.

use std::path::PathBuf;

use clap::Args;

use crate::connection_arguments::Server;
use crate::listen_arguments::ListenOptions;

pub(crate) const REPLAY_HELP: &str = "\
Examples:
    toolwire replay session.mcplog                     serve what was recorded
    toolwire replay session.mcplog --against -- npx some-server /tmp
                                                       compare a server with it
    toolwire replay session.mcplog --test > tests/session.rs
Ids and times are not compared. Requests with redacted parts are not sent again,
and tools that may change something are called again only with --yes.";

#[derive(Debug, Args)]
pub(crate) struct Replay {
    #[command(flatten)]
    pub(crate) server: Server,
    #[command(flatten)]
    pub(crate) listen: ListenOptions,
    /// Send the recorded requests to this server, and show how its responses differ; without a value, to the command
    /// after `--`
    #[arg(
        long,
        value_name = "SERVER",
        num_args = 0..=1,
        default_missing_value = "",
        conflicts_with_all = ["listen", "test", "strict"]
    )]
    pub(crate) against: Option<String>,
    /// Serve requests only in the order of the record
    #[arg(long, conflicts_with = "test")]
    pub(crate) strict: bool,
    /// Write a Rust test for a server to standard output
    #[arg(long, conflicts_with = "listen")]
    pub(crate) test: bool,
    /// With `--against`, do not compare this part of messages, a JSON pointer in which `*` stands for any name, such as
    /// /result/content/*/text; may be repeated
    #[arg(long, value_name = "POINTER", requires = "against")]
    pub(crate) ignore: Vec<String>,
    /// With `--against`, also write the result to this file as JUnit XML
    #[arg(long, value_name = "FILE", requires = "against")]
    pub(crate) junit: Option<PathBuf>,
    /// With `--against`, call tools again that may change something
    #[arg(long, requires = "against")]
    pub(crate) yes: bool,
}
