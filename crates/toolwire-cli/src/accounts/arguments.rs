//! The arguments of `login`, `logout` and `whoami`.

use std::path::PathBuf;

use clap::Args;

use crate::connection_arguments::{Lookup, TlsOptions};
use crate::output_arguments::Output;

/// The help text about the storage of logins.
const STORE_HELP: &str = "\
    Logins are stored in tokens.json, which only you can read, in $XDG_STATE_HOME/toolwire (~/.local/state/toolwire), on \
    macOS in ~/Library/Application Support/toolwire, on Windows in %LOCALAPPDATA%\\toolwire. TOOLWIRE_HOME sets another \
    directory. With TOOLWIRE_TOKEN_STORE=keyring they are in the system keyring, if toolwire was built with the feature \
    keyring.";

const NO_BROWSER: &str = "\
    If the browser is on another machine, it is redirected to an address that it cannot open. Paste that address here.";

#[derive(Debug, Args)]
#[command(after_help = format!("{NO_BROWSER}\n\n{STORE_HELP}"))]
pub(crate) struct LogIn {
    /// The server: an address, or a name from a configuration file
    #[arg(value_name = "SERVER")]
    pub(crate) server: String,
    #[command(flatten)]
    pub(crate) lookup: Lookup,
    #[command(flatten)]
    pub(crate) tls: TlsOptions,
    /// Request this additional scope; may be repeated
    #[arg(long = "scope", value_name = "SCOPE")]
    pub(crate) scopes: Vec<String>,
    /// Listen for the browser on this port; by default, on a free port
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: Option<u16>,
    /// Show the address, and do not open a browser
    #[arg(long)]
    pub(crate) no_browser: bool,
    /// The client ID, if the client was registered manually; by default, toolwire registers itself
    #[arg(long, value_name = "ID", help_heading = "Client")]
    pub(crate) client_id: Option<String>,
    /// Read the client secret from this file
    #[arg(
        long,
        value_name = "FILE",
        requires = "client_id",
        conflicts_with = "client_secret_env",
        help_heading = "Client"
    )]
    pub(crate) client_secret_file: Option<PathBuf>,
    /// Read the client secret from this environment variable
    #[arg(
        long,
        value_name = "VARIABLE",
        requires = "client_id",
        help_heading = "Client"
    )]
    pub(crate) client_secret_env: Option<String>,
    /// The authorization server of the client; by default, the first one that the server names
    #[arg(
        long,
        value_name = "URL",
        requires = "client_id",
        help_heading = "Client"
    )]
    pub(crate) issuer: Option<String>,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
#[command(after_help = STORE_HELP)]
pub(crate) struct LogOut {
    /// The server: an address, or a name from a configuration file
    #[arg(value_name = "SERVER", required_unless_present = "all")]
    pub(crate) server: Option<String>,
    /// Delete all logins
    #[arg(long, conflicts_with = "server")]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) lookup: Lookup,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
#[command(after_help = STORE_HELP)]
pub(crate) struct WhoAmI {
    /// The server: an address, or a name from a configuration file
    #[arg(value_name = "SERVER")]
    pub(crate) server: Option<String>,
    #[command(flatten)]
    pub(crate) lookup: Lookup,
    #[command(flatten)]
    pub(crate) output: Output,
}
