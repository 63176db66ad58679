//! Writes the log of this program to standard error.

use std::fmt;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::{DefaultFields, Writer};

use crate::arguments::Command;
use crate::output_arguments::Colour;
use crate::screen;
use crate::show::plain_text;

/// What a gateway logs unless `RUST_LOG` selects something else.
const GATEWAY_FILTER: &str = "warn,toolwire_gateway=info";

/// Logs to standard error: all protocol messages with `--verbose`, otherwise what `RUST_LOG` selects.
pub(crate) fn start(command: &Command) {
    let output = command.output();
    let colour = output.map_or(Colour::Auto, |output| output.color);
    let filter = if output.is_some_and(|output| output.verbose) {
        EnvFilter::new("toolwire=debug,toolwire::wire=trace")
    } else if matches!(command, Command::Gateway(_)) && std::env::var_os("RUST_LOG").is_none() {
        EnvFilter::new(GATEWAY_FILTER)
    } else {
        EnvFilter::from_default_env()
    };
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(screen::has_colours(&std::io::stderr(), colour))
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
