//! The arguments of `toolwire publish`.

use std::path::PathBuf;

use clap::Args;

use crate::output_arguments::Output;

pub(crate) const PUBLISH_HELP: &str = "\
Run it in the directory of a crate. Nothing is sent: publish the crate with
`cargo publish`, and server.json with the program of the registry.

Cargo.toml has the name of the server in the registry:
    [package.metadata.toolwire]
    mcp-name = \"io.github.you/weather\"
The README must contain the visible text `mcp-name: io.github.you/weather`.";

#[derive(Debug, Args)]
pub(crate) struct Publish {
    /// Check server.json and the README; this is the default
    #[arg(long, conflicts_with = "write")]
    pub(crate) check: bool,
    /// Write server.json, and keep members that this command does not know
    #[arg(long)]
    pub(crate) write: bool,
    /// The name in the registry [default: `mcp-name` in Cargo.toml]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Also offer the bundle at this URL
    #[arg(long, value_name = "URL", requires = "bundle")]
    pub(crate) mcpb: Option<String>,
    /// The file of the bundle, for its digest
    #[arg(long, value_name = "FILE", requires = "mcpb")]
    pub(crate) bundle: Option<PathBuf>,
    /// Also offer this container image
    #[arg(long, value_name = "IMAGE")]
    pub(crate) oci: Option<String>,
    /// Also offer the server at this URL
    #[arg(long, value_name = "URL")]
    pub(crate) remote: Option<String>,
    /// Do not offer the crate itself
    #[arg(long)]
    pub(crate) no_cargo: bool,
    /// Do not start the server to compare its version
    #[arg(long)]
    pub(crate) no_start: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}
