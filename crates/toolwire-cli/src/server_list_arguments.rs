//! The arguments of `toolwire servers`.

use std::path::PathBuf;

use clap::Args;

use crate::output_arguments::Output;

/// The arguments of `servers`.
#[derive(Debug, Args)]
pub(crate) struct Servers {
    /// List only the servers of this file
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: Output,
}
