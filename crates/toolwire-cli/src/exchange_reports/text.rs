//! A report as text for the terminal.

use std::fmt::Write as _;

use toolwire_proto::inspection::{ExchangeReport, Rejected, ReportedOutcome, SpanKind};

use crate::show::plain_text;

/// Returns a report as lines. Names are text of the server, without characters that control a terminal.
pub(super) fn text(report: &ExchangeReport) -> String {
    let name = report.name.as_deref().unwrap_or_default();
    let mut text = format!(
        "inside {} {}: {}, {}\n",
        one_line(&report.method),
        one_line(name),
        outcome(report.outcome),
        milliseconds(report.took_us)
    );
    for span in &report.spans {
        let name = match span.kind {
            SpanKind::Handler => "handler".to_owned(),
            _ => format!("middleware {}", one_line(&span.name)),
        };
        let own = milliseconds(span.own_us);
        let _ = writeln!(text, "  {own:>12}  {name}");
    }
    if let Some(rejection) = &report.rejected {
        let what = match rejection.what {
            Rejected::Arguments => "arguments",
            Rejected::Result => "result",
            _ => "value",
        };
        let paths = one_line(&rejection.paths.join(", "));
        let _ = writeln!(text, "  rejected {what}: {paths}");
    }
    for entry in &report.hidden {
        let (kind, name) = (one_line(&entry.kind), one_line(&entry.name));
        let _ = writeln!(text, "  hidden {kind} {name}: {}", one_line(&entry.because));
    }
    if report.more_hidden > 0 {
        let _ = writeln!(text, "  {} more are hidden", report.more_hidden);
    }
    let load = report.load;
    let _ = writeln!(
        text,
        "  {} running, {} streams, {} queued messages",
        load.running, load.streams, load.queued
    );
    text
}

fn outcome(outcome: ReportedOutcome) -> &'static str {
    match outcome {
        ReportedOutcome::Ok => "ok",
        ReportedOutcome::ToolError => "tool error",
        ReportedOutcome::InputRequired => "input required",
        ReportedOutcome::Error => "error",
        ReportedOutcome::Cancelled => "cancelled",
        _ => "ended",
    }
}

fn milliseconds(microseconds: u64) -> String {
    format!("{}.{:03} ms", microseconds / 1000, microseconds % 1000)
}

fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    plain_text(&words.join(" ")).into_owned()
}

#[cfg(test)]
mod tests {
    use toolwire_proto::inspection::Span;

    use super::*;

    #[test]
    fn report_has_a_line_for_each_fact() {
        let mut report = ExchangeReport::new("tools/call", Some("a\ndd"), "");
        report.took_us = 12_345;
        report.add_span(Span::new(SpanKind::Middleware, "Slow\u{1b}[31m", 0));
        report.add_span(Span::new(SpanKind::Handler, "", 5));
        report.spans[1].own_us = 20;
        report.add_violations(Rejected::Arguments, "arguments.a: x\narguments.b: y");
        report.add_hidden("tool", "admin", "a rule");
        report.more_hidden = 2;
        let expected = "\
inside tools/call a dd: ok, 12.345 ms
      0.000 ms  middleware Slow\u{fffd}[31m
      0.020 ms  handler
  rejected arguments: arguments.a, arguments.b
  hidden tool admin: a rule
  2 more are hidden
  0 running, 0 streams, 0 queued messages
";
        assert_eq!(text(&report), expected);
    }
}
