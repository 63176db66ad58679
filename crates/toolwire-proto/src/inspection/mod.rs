//! What a server reports about its inside to the developer who started it.
//!
//! `toolwire inspect` and `toolwire dev` set [`VARIABLE`] for the processes that they start. A server on standard input and
//! output then writes one line for each exchange to standard error. The lines are not messages of the protocol, so a
//! client never gets them. They contain names and times, and no arguments, results or secrets.

mod line;
mod report;

pub use line::{InspectionLine, MARKER, MAX_LINE_BYTES, StartedServer};
pub use report::{
    ExchangeReport, HiddenEntry, Load, MAX_HIDDEN, MAX_PATHS, MAX_SPANS, MAX_TEXT_BYTES, Rejected,
    RejectedValue, ReportedOutcome, Span, SpanKind,
};

/// The environment variable that switches reports on, with the value `1`.
pub const VARIABLE: &str = "TOOLWIRE_INSPECTION";

/// The key of `_meta` by which the page marks a request. The report of the exchange repeats its value.
pub const CALL_KEY: &str = "toolwire/call";

/// Returns `true` if the value of [`VARIABLE`] switches reports on.
#[must_use]
pub fn is_switched_on(value: Option<&str>) -> bool {
    value == Some("1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_value_switches_reports_on() {
        for (value, expected) in [
            (Some("1"), true),
            (Some("0"), false),
            (Some("true"), false),
            (Some(""), false),
            (None, false),
        ] {
            assert_eq!(is_switched_on(value), expected, "{value:?}");
        }
    }
}
