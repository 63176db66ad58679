//! The arguments of `toolwire new`.

use std::path::PathBuf;

use clap::Args;

pub(crate) const NEW_HELP: &str = "\
Examples:
    toolwire new my-server                  a server on stdio
    toolwire new my-server --http           a server over HTTP
    toolwire new my-server --auth           a server that requires access tokens
    toolwire new my-server --toolwire-path ../toolwire";

#[derive(Debug, Args)]
pub(crate) struct New {
    /// The name of the crate and of the server
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Serve over HTTP instead of stdio
    #[arg(long)]
    pub(crate) http: bool,
    /// Serve over HTTP, and require access tokens
    #[arg(long)]
    pub(crate) auth: bool,
    /// Create the crate in this directory, which must be empty or not exist [default: NAME]
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) dir: Option<PathBuf>,
    /// Depend on this copy of the repository of toolwire instead of a released version
    #[arg(long, value_name = "DIRECTORY", conflicts_with = "toolwire_git")]
    pub(crate) toolwire_path: Option<PathBuf>,
    /// Depend on the repository at this address instead of a released version
    #[arg(long, value_name = "URL")]
    pub(crate) toolwire_git: Option<String>,
}
