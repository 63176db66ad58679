//! The server on a command line, and the options of the connection to it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, ValueEnum};
use toolwire::{LoggingLevel, ProtocolVersion};

use crate::argument_values::{duration, header, input, level, revision, variable};
use crate::exchange_reports::ReportCollector;
use crate::output_arguments::Output;
use crate::record_arguments::RecordOptions;

/// The server and the options of the connection.
#[derive(Debug, Clone, Args)]
pub(crate) struct Server {
    /// The server, unless a command is given, and the arguments of the subcommand
    #[arg(value_name = "WORD", hide = true)]
    pub(crate) words: Vec<String>,
    /// The command that starts the server
    #[arg(value_name = "COMMAND", last = true, hide = true)]
    pub(crate) command: Vec<OsString>,
    #[command(flatten)]
    pub(crate) lookup: Lookup,
    #[command(flatten)]
    pub(crate) tls: TlsOptions,
    /// The protocol era to use; `auto` detects it
    #[arg(long, value_enum, default_value_t = Era::Auto, help_heading = "Connection")]
    pub(crate) era: Era,
    /// Use only this protocol revision
    #[arg(long, value_name = "VERSION", value_parser = revision, conflicts_with = "era", help_heading = "Connection")]
    pub(crate) protocol_version: Option<ProtocolVersion>,
    /// Send an HTTP header with every request, `Name: value`; may be repeated
    #[arg(long = "header", short = 'H', value_name = "HEADER", value_parser = header, help_heading = "Connection")]
    pub(crate) headers: Vec<(String, String)>,
    /// Send the bearer token from this environment variable
    #[arg(long, value_name = "VARIABLE", help_heading = "Connection")]
    pub(crate) bearer_env: Option<String>,
    /// Pass an environment variable to the command: `NAME=value`, or `NAME` for its current value; may be repeated
    #[arg(long = "env", short = 'e', value_name = "VARIABLE", value_parser = variable, help_heading = "Connection")]
    pub(crate) environment: Vec<(OsString, Option<OsString>)>,
    /// Pass the whole environment, including credentials, to the command; by default it gets PATH, HOME and similar
    /// variables
    #[arg(long, help_heading = "Connection")]
    pub(crate) inherit_env: bool,
    /// Log in with the browser if the server requires it, and store the login
    #[arg(long, conflicts_with = "bearer_env", help_heading = "Connection")]
    pub(crate) login: bool,
    /// Time out after this long without a message from the server, and if connecting takes longer in total: `30s`,
    /// `500ms`, `2m` [default: 60s, and 30s for connecting]
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "Connection")]
    pub(crate) timeout: Option<Duration>,
    /// Announce this root to the server, a `file://` URI; may be repeated
    #[arg(long = "root", value_name = "URI", help_heading = "Connection")]
    pub(crate) roots: Vec<String>,
    /// Show the server's log messages of this level and above: debug, info, warning, error, …
    #[arg(long, value_name = "LEVEL", value_parser = level, help_heading = "Output")]
    pub(crate) log_level: Option<LoggingLevel>,
    #[command(flatten)]
    pub(crate) recording: RecordOptions,
    #[command(flatten)]
    pub(crate) output: Output,
    /// `true` if the command shows views
    #[arg(skip)]
    pub(crate) shows_views: bool,
    /// Takes the reports of the server about its inside, if the command shows them.
    #[arg(skip)]
    pub(crate) reports: Option<ReportCollector>,
}

impl Server {
    /// Returns the default options, for a server that the command itself chooses.
    pub(crate) fn without_options() -> Self {
        #[derive(Debug, Parser)]
        struct OnlyServer {
            #[command(flatten)]
            server: Server,
        }
        OnlyServer::parse_from(["toolwire"]).server
    }
}

/// Where server names are looked up.
#[derive(Debug, Clone, Args)]
pub(crate) struct Lookup {
    /// Look up server names in this file only
    #[arg(long, value_name = "FILE", help_heading = "Connection")]
    pub(crate) config: Option<PathBuf>,
    /// The value of an `${input:ID}` in a configuration file; may be repeated. The environment variable
    /// TOOLWIRE_INPUT_ID sets it too
    #[arg(long = "input", value_name = "ID=VALUE", value_parser = input, help_heading = "Connection")]
    pub(crate) inputs: Vec<(String, String)>,
}

/// How the certificate of a server is verified.
#[derive(Debug, Clone, Args)]
pub(crate) struct TlsOptions {
    /// Also trust the certificate authorities in this PEM file
    #[arg(long, value_name = "FILE", help_heading = "Connection")]
    pub(crate) cacert: Option<PathBuf>,
    /// Accept any certificate; others on the network can then read and change the messages
    #[arg(long, conflicts_with = "cacert", help_heading = "Connection")]
    pub(crate) insecure: bool,
}

/// The protocol eras that can be selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Era {
    /// Detect the era of the server; prefer the newer one
    Auto,
    /// Requests without a handshake
    Modern,
    /// A handshake before the first request
    Legacy,
}
