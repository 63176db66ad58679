//! The line on standard error that carries a report.

use serde::{Deserialize, Serialize};

use crate::inspection::report::{ExchangeReport, shortened};

/// The beginning of each line.
pub const MARKER: &str = "toolwire-inspection: ";

/// The maximum bytes of a line, without its end. A client reads longer lines of standard error in parts.
pub const MAX_LINE_BYTES: usize = 8 * 1024;

/// What a line contains.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum InspectionLine {
    /// The server starts, and will report its exchanges.
    Started(StartedServer),
    /// An exchange has ended.
    Exchange(Box<ExchangeReport>),
}

/// A server that reports its exchanges.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct StartedServer {
    /// The name of the server.
    pub name: String,
    /// The version of toolwire.
    pub toolwire: String,
}

impl StartedServer {
    /// Creates the description of a server.
    #[must_use]
    pub fn new(name: &str, toolwire: &str) -> Self {
        Self {
            name: shortened(name),
            toolwire: shortened(toolwire),
        }
    }
}

impl InspectionLine {
    /// Returns `true` if a line of standard error starts like a report.
    #[must_use]
    pub fn is_marked(line: &str) -> bool {
        line.starts_with(MARKER)
    }

    /// Reads a line. Returns `None` if it is not a report, or too long. A line may come from any program, so its content is
    /// as untrusted as other output of a server.
    #[must_use]
    pub fn read(line: &str) -> Option<Self> {
        let json = line.strip_prefix(MARKER)?;
        if line.len() > MAX_LINE_BYTES {
            return None;
        }
        serde_json::from_str(json).ok()
    }

    /// Returns the line, without its end. Hidden entries and then spans are left out if it is too long.
    #[must_use]
    pub fn write(mut self) -> String {
        loop {
            let json = serde_json::to_string(&self).unwrap_or_default();
            if MARKER.len() + json.len() <= MAX_LINE_BYTES || !self.shorten() {
                return format!("{MARKER}{json}");
            }
        }
    }

    /// Removes a part of the content. Returns `false` if nothing is left to remove.
    fn shorten(&mut self) -> bool {
        let Self::Exchange(report) = self else {
            return false;
        };
        if report.hidden.pop().is_some() {
            report.more_hidden += 1;
            return true;
        }
        // The last span is that of the handler.
        let inner_middleware = report.spans.len().checked_sub(2);
        inner_middleware.is_some_and(|index| {
            report.spans.remove(index);
            true
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspection::{MAX_HIDDEN, MAX_SPANS, MAX_TEXT_BYTES, Rejected, Span, SpanKind};

    fn exchange(report: ExchangeReport) -> InspectionLine {
        InspectionLine::Exchange(Box::new(report))
    }

    fn read(line: &str) -> ExchangeReport {
        match InspectionLine::read(line) {
            Some(InspectionLine::Exchange(report)) => *report,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn report_is_read_as_it_was_written() {
        let mut report = ExchangeReport::new("tools/call", Some("a\nb\u{202e}"), "v");
        report.id = Some(7.into());
        report.set_call("3");
        report.add_span(Span::new(SpanKind::Handler, "", 5));
        report.add_violations(Rejected::Result, "structuredContent.a: no");
        report.add_hidden("tool", "secret", "a rule");
        let line = exchange(report.clone()).write();
        assert!(!line.contains('\n'), "{line}");
        assert_eq!(read(&line), report);
        let started = InspectionLine::Started(StartedServer::new("demo", "1"));
        assert_eq!(
            InspectionLine::read(&started.clone().write()),
            Some(started)
        );
    }

    #[test]
    fn longest_report_fits_into_a_line() {
        // Each of these characters has six bytes in JSON.
        let text = "\u{1}".repeat(MAX_TEXT_BYTES);
        let mut report = ExchangeReport::new(&text, Some(&text), &text);
        report.set_call(&text);
        for _ in 1..MAX_SPANS {
            report.add_span(Span::new(SpanKind::Middleware, &text, u64::MAX));
        }
        report.add_span(Span::new(SpanKind::Handler, "", u64::MAX));
        for index in 0..MAX_HIDDEN {
            report.add_hidden("tool", &format!("{index}{text}"), &text);
        }
        for index in 0..9 {
            report.add_violations(Rejected::Arguments, &format!("arguments{index}{text}: no"));
        }
        let line = exchange(report).write();
        assert!(line.len() <= MAX_LINE_BYTES, "{}", line.len());
        let report = read(&line);
        assert_eq!((report.hidden.len(), report.more_hidden), (0, MAX_HIDDEN));
        assert_eq!(
            report.spans.last().map(|span| span.kind),
            Some(SpanKind::Handler)
        );
    }

    #[test]
    fn line_at_the_limit_is_whole() {
        let hidden = |count: usize, last: usize| {
            let mut report = ExchangeReport::new("tools/list", None, "v");
            for index in 0..count {
                report.add_hidden("tool", &format!("{index:0100}"), "r");
            }
            report.add_hidden("tool", &"x".repeat(last), "r");
            exchange(report)
        };
        let bytes =
            |line: &InspectionLine| MARKER.len() + serde_json::to_string(line).expect("JSON").len();
        let count = (0..MAX_HIDDEN)
            .rev()
            .find(|count| bytes(&hidden(*count, 1)) <= MAX_LINE_BYTES)
            .expect("a report that fits");
        let room = MAX_LINE_BYTES - bytes(&hidden(count, 1));
        let full = hidden(count, 1 + room.min(MAX_TEXT_BYTES - 1));
        assert_eq!(full.clone().write().len(), bytes(&full));
        if room < MAX_TEXT_BYTES - 1 {
            let line = hidden(count, 2 + room).write();
            assert_eq!(read(&line).more_hidden, 1);
        }
    }

    #[test]
    fn other_lines_are_no_reports() {
        let long = format!(
            "{MARKER}{{\"started\":{{\"name\":\"{}\"}}}}",
            "x".repeat(MAX_LINE_BYTES)
        );
        for line in [
            "",
            "ready",
            MARKER,
            "toolwire-inspection: {}",
            " toolwire-inspection: 1",
            &long,
        ] {
            assert_eq!(InspectionLine::read(line), None, "{line}");
        }
        let unknown = format!(
            r#"{MARKER}{{"exchange":{{"method":"m","outcome":"later","new":1,"spans":[{{"kind":"later"}}]}}}}"#
        );
        let report = read(&unknown);
        assert_eq!(report.spans[0].kind, SpanKind::Unknown);
    }
}
