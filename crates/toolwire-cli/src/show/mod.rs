//! What people read: texts made from what servers say. Nothing here writes anything.

mod content;
mod lists;
mod paint;
mod table;

use std::borrow::Cow;

use serde_json::Value;
use toolwire::LoggingLevel;

pub(crate) use content::{
    Attachment, attachments, call_result, contents, of_resource, prompt_result,
};
pub(crate) use lists::{facts, prompt, prompts, resources, templates, tool, tools, usage};
pub(crate) use paint::Paint;
pub(crate) use table::Table;

/// How things look: colours, and how much fits into a line.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Look {
    pub(crate) paint: Paint,
    /// The width of the terminal; `None` when the output goes elsewhere and nothing is wrapped.
    pub(crate) width: Option<usize>,
}

impl Look {
    /// A text of the server. In a terminal, what would control the terminal is replaced.
    pub(crate) fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.width {
            Some(_) => plain_text(text),
            None => Cow::Borrowed(text),
        }
    }

    /// JSON for people.
    pub(crate) fn json(&self, value: &Value) -> String {
        let text = serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string());
        self.text(&text).into_owned()
    }
}

/// The text without anything that could control a terminal.
pub(crate) fn plain_text(text: &str) -> Cow<'_, str> {
    let is_harmless = |c: char| !c.is_control() || c == '\n' || c == '\t';
    if text.chars().all(is_harmless) {
        return Cow::Borrowed(text);
    }
    let replaced = text
        .chars()
        .filter(|c| *c != '\r')
        .map(|c| if is_harmless(c) { c } else { '\u{fffd}' });
    Cow::Owned(replaced.collect())
}

pub(crate) fn level_name(level: LoggingLevel) -> &'static str {
    match level {
        LoggingLevel::Debug => "debug",
        LoggingLevel::Info => "info",
        LoggingLevel::Notice => "notice",
        LoggingLevel::Warning => "warning",
        LoggingLevel::Error => "error",
        LoggingLevel::Critical => "critical",
        LoggingLevel::Alert => "alert",
        LoggingLevel::Emergency => "emergency",
    }
}

/// A number of bytes for people.
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
    fn escape_sequences_are_replaced() {
        assert_eq!(
            plain_text("a\u{1b}[31mb\r\n\tc\u{9b}"),
            "a\u{fffd}[31mb\n\tc\u{fffd}"
        );
        assert!(matches!(plain_text("ordinary\ntext"), Cow::Borrowed(_)));
    }

    #[test]
    fn sizes_are_short() {
        assert_eq!(size(999), "999 bytes");
        assert_eq!(size(1_500), "1.5 kB");
        assert_eq!(size(2_500_000), "2.5 MB");
    }
}
