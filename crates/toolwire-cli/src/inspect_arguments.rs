//! The arguments of `toolwire inspect`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::argument_values::duration;
use crate::connection_arguments::Server;

pub(crate) const INSPECT_HELP: &str = "\
Examples:
    toolwire inspect https://example.com/mcp --login
    toolwire inspect --open -- npx some-server /tmp
    toolwire inspect session.mcplog     show a record, without its server
The printed address works once. After that, the browser that opened it has
access until the command ends.";

#[derive(Debug, Args)]
pub(crate) struct Inspect {
    #[command(flatten)]
    pub(crate) server: Server,
    /// Serve the page at this address of the local machine; port 0 selects a free port [default: 127.0.0.1 and the
    /// first free port from 6280]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<String>,
    /// Open the page in the browser
    #[arg(long)]
    pub(crate) open: bool,
    #[command(flatten)]
    pub(crate) page: PageOptions,
}

/// What the page can also change, except for the saved calls.
#[derive(Debug, Args)]
pub(crate) struct PageOptions {
    /// The file of the saved calls [default: toolwire-calls.json in the current directory]
    #[arg(long, value_name = "FILE")]
    pub(crate) calls: Option<PathBuf>,
    /// Do not offer this capability to the server; may be repeated
    #[arg(
        long,
        value_enum,
        value_name = "CAPABILITY",
        help_heading = "Connection"
    )]
    pub(crate) without: Vec<Capability>,
    /// Switch on a fault; may be repeated: `delay=TIME` before each request, and for a URL `cut=BYTES` of each HTTP
    /// response, `twice` for each notification, `expired-token`
    #[arg(long = "fault", value_name = "FAULT", value_parser = fault)]
    pub(crate) faults: Vec<FaultOption>,
}

/// A capability of the client that can be withheld.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Capability {
    /// Forms and URLs for the user
    Elicitation,
    /// Requests to the model of the client
    Sampling,
}

/// A fault of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultOption {
    /// Delays each request.
    Delay(Duration),
    /// Ends each HTTP response after this many bytes.
    Cut(usize),
    /// Delivers each notification of an HTTP stream twice.
    Twice,
    /// Replaces the access token by one that the server rejects.
    ExpiredToken,
}

/// The longest delay of a request.
pub(crate) const MAX_DELAY: Duration = Duration::from_secs(600);

fn fault(text: &str) -> Result<FaultOption, String> {
    match text.split_once('=') {
        Some(("delay", time)) => match duration(time)? {
            time if time <= MAX_DELAY => Ok(FaultOption::Delay(time)),
            _ => Err("the delay is longer than 10 minutes".to_owned()),
        },
        Some(("cut", bytes)) => match bytes.parse() {
            Ok(bytes) => Ok(FaultOption::Cut(bytes)),
            Err(_) => Err(format!("`{bytes}` is not a number of bytes")),
        },
        None if text == "twice" => Ok(FaultOption::Twice),
        None if text == "expired-token" => Ok(FaultOption::ExpiredToken),
        _ => Err("the faults are delay=TIME, cut=BYTES, twice and expired-token".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_read_within_their_limits() {
        for (text, expected) in [
            (
                "delay=20ms",
                Some(FaultOption::Delay(Duration::from_millis(20))),
            ),
            ("delay=10m", Some(FaultOption::Delay(MAX_DELAY))),
            ("delay=601s", None),
            ("delay", None),
            ("cut=0", Some(FaultOption::Cut(0))),
            ("cut=-1", None),
            ("twice", Some(FaultOption::Twice)),
            ("twice=2", None),
            ("expired-token", Some(FaultOption::ExpiredToken)),
            ("", None),
        ] {
            assert_eq!(fault(text).ok(), expected, "{text}");
        }
    }
}
