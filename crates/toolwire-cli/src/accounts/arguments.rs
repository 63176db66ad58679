//! What can be typed after `login`, `logout` and `whoami`.

use std::path::PathBuf;

use clap::Args;

use crate::arguments::Output;

/// Where logins are kept, for the help.
const PLACE: &str = "\
Logins are kept in tokens.json, which only you can read, in $XDG_STATE_HOME/toolwire (~/.local/state/toolwire), on macOS
in ~/Library/Application Support/toolwire, on Windows in %LOCALAPPDATA%\\toolwire. TOOLWIRE_HOME names another directory.
With TOOLWIRE_TOKEN_STORE=keyring they are in the keyring of the system, if toolwire was built with it.";

const NO_BROWSER: &str = "\
Where the browser is on another machine, it ends at an address that it cannot open. Paste that address here.";

#[derive(Debug, Args)]
#[command(after_help = format!("{NO_BROWSER}\n\n{PLACE}"))]
pub(crate) struct LogIn {
    /// The server: an address, or a name as other commands take it
    #[arg(value_name = "SERVER")]
    pub(crate) server: String,
    #[command(flatten)]
    pub(crate) lookup: Lookup,
    /// Ask for this scope too; may be repeated
    #[arg(long = "scope", value_name = "SCOPE")]
    pub(crate) scopes: Vec<String>,
    /// Wait for the browser at this port; otherwise at a free one
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: Option<u16>,
    /// Show the address, and open no browser
    #[arg(long)]
    pub(crate) no_browser: bool,
    /// The id of a client that was registered by hand; otherwise toolwire registers itself
    #[arg(long, value_name = "ID", help_heading = "Client")]
    pub(crate) client_id: Option<String>,
    /// The client's secret is in this file
    #[arg(
        long,
        value_name = "FILE",
        requires = "client_id",
        conflicts_with = "client_secret_env",
        help_heading = "Client"
    )]
    pub(crate) client_secret_file: Option<PathBuf>,
    /// The client's secret is in this environment variable
    #[arg(
        long,
        value_name = "VARIABLE",
        requires = "client_id",
        help_heading = "Client"
    )]
    pub(crate) client_secret_env: Option<String>,
    /// The authorization server that knows the client; otherwise the first that the server names
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
#[command(after_help = PLACE)]
pub(crate) struct LogOut {
    /// The server: an address, or a name as other commands take it
    #[arg(value_name = "SERVER", required_unless_present = "all")]
    pub(crate) server: Option<String>,
    /// Log out everywhere
    #[arg(long, conflicts_with = "server")]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) lookup: Lookup,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
#[command(after_help = PLACE)]
pub(crate) struct WhoAmI {
    /// The server: an address, or a name as other commands take it
    #[arg(value_name = "SERVER")]
    pub(crate) server: Option<String>,
    #[command(flatten)]
    pub(crate) lookup: Lookup,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Where names of servers come from.
#[derive(Debug, Args)]
pub(crate) struct Lookup {
    /// Look up names in this file only
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}
