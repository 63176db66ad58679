//! Formats what servers send for people. Nothing here writes output.

mod content;
#[cfg(feature = "events")]
mod events;
mod lists;
mod paint;
mod safe_text;
mod server_cards;
mod skills;
mod table;
mod tasks;
mod usage;

use std::borrow::Cow;

use serde_json::Value;
use toolwire::LoggingLevel;

pub(crate) use content::{
    Attachment, attachments, call_result, contents, of_resource, prompt_result,
};
#[cfg(feature = "events")]
pub(crate) use events::event_types;
pub(crate) use lists::{prompt, prompts, resources, server_info, templates, tool, tools};
pub(crate) use paint::Paint;
pub(crate) use safe_text::{escaped_json, one_line, plain_text};
pub(crate) use server_cards::server_cards;
pub(crate) use skills::{skill, skills};
pub(crate) use table::Table;
pub(crate) use tasks::{status_name, task, tasks};
pub(crate) use usage::usage;

/// The formatting of an output: colours and line width.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Style {
    pub(crate) paint: Paint,
    /// The width of the terminal, or `None` if the output is not a terminal. Lines are wrapped only in a terminal.
    pub(crate) width: Option<usize>,
}

impl Style {
    /// Returns the content of a result: plain text for a terminal, unchanged for a file or another program.
    pub(crate) fn content<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.width {
            Some(_) => plain_text(text),
            None => Cow::Borrowed(text),
        }
    }
}

/// Returns indented JSON for people. Characters that a terminal must not get are escaped.
pub(crate) fn pretty_json(value: &Value) -> String {
    let text = serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string());
    escaped_json(&text).into_owned()
}

pub(crate) fn level_name(level: LoggingLevel) -> &'static str {
    match level {
        LoggingLevel::Debug => "debug",
        LoggingLevel::Info => "info",
        LoggingLevel::Notice => "notice", // tidy: allow(notice) log level of the specification
        LoggingLevel::Warning => "warning",
        LoggingLevel::Error => "error",
        LoggingLevel::Critical => "critical",
        LoggingLevel::Alert => "alert",
        LoggingLevel::Emergency => "emergency",
    }
}

/// Formats a number of bytes for people.
pub(crate) fn size(bytes: usize) -> String {
    #[expect(clippy::cast_precision_loss, reason = "two digits are shown")]
    let count = bytes as f64;
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{:.1} kB", count / 1e3),
        _ => format!("{:.1} MB", count / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        assert_eq!(size(999), "999 bytes");
        assert_eq!(size(1_500), "1.5 kB");
        assert_eq!(size(2_500_000), "2.5 MB");
    }
}
