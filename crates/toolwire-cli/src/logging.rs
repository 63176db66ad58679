//! Writes the log of this program to standard error.

use std::fmt;
use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::{DefaultFields, Writer};

use crate::show::plain_text;

/// Logs to standard error: all protocol messages if `verbose` is set, otherwise what `RUST_LOG` selects.
pub(crate) fn start(verbose: bool) {
    let filter = if verbose {
        EnvFilter::new("toolwire=debug,toolwire::wire=trace")
    } else {
        EnvFilter::from_default_env()
    };
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .fmt_fields(PlainFields)
        // If standard error is closed, reporting the write error there would panic.
        .log_internal_errors(false)
        .init();
}

/// Formats fields as plain text, because they contain messages and error output of servers.
#[derive(Debug)]
struct PlainFields;

impl<'writer> FormatFields<'writer> for PlainFields {
    fn format_fields<R: RecordFields>(
        &self,
        mut writer: Writer<'writer>,
        fields: R,
    ) -> fmt::Result {
        let mut text = String::new();
        DefaultFields::new().format_fields(Writer::new(&mut text), fields)?;
        writer.write_str(&plain_text(&text))
    }
}
