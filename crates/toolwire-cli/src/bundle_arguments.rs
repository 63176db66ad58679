//! The arguments of `toolwire bundle`.

use std::path::PathBuf;

use clap::Args;

use crate::output_arguments::Output;

pub(crate) const BUNDLE_HELP: &str = "\
Run it in the directory of a crate after `cargo build --release`. The server is
started once, for the list of its tools.

Settings that a user fills in are declared in Cargo.toml:
    [package.metadata.toolwire.settings.API_KEY]
    title = \"API key\"
    description = \"The key of your account\"
    sensitive = true
    required = true
The server gets them as environment variables.";

#[derive(Debug, Args)]
pub(crate) struct BundleServer {
    /// The program of the server [default: the release binary of the crate]
    #[arg(long, value_name = "FILE")]
    pub(crate) binary: Option<PathBuf>,
    /// Write the bundle to this file [default: NAME-VERSION-PLATFORM-ARCHITECTURE.mcpb]
    #[arg(long = "output", short, value_name = "FILE")]
    pub(crate) output_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: Output,
}
