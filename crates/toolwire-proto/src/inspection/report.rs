//! The report of one exchange.

use serde::{Deserialize, Serialize};
use toolwire_types::RequestId;

/// The maximum bytes of a name or a reason. Longer ones are truncated.
pub const MAX_TEXT_BYTES: usize = 128;

/// The maximum number of spans. Further middleware counts in the span that contains it.
pub const MAX_SPANS: usize = 32;

/// The maximum number of hidden entries. Further ones are counted.
pub const MAX_HIDDEN: usize = 50;

/// The maximum number of paths of a rejection.
pub const MAX_PATHS: usize = 5;

/// The beginnings of paths.
const ROOTS: [&str; 2] = ["arguments", "structuredContent"];

/// What happened in a server during one exchange.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct ExchangeReport {
    /// The id of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<RequestId>,
    /// The value of [`CALL_KEY`](super::CALL_KEY) in the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// The method of the request.
    pub method: String,
    /// The name of the tool or prompt, or the URI without its query.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The revision of the request.
    pub version: String,
    /// How the exchange ended.
    pub outcome: ReportedOutcome,
    /// The whole time in microseconds.
    pub took_us: u64,
    /// The middleware, the outermost first, and the handler at the end. Each span is inside of the previous one.
    pub spans: Vec<Span>,
    /// Why the arguments or the structured result were rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rejected: Option<RejectedValue>,
    /// The entries that were looked up or listed, and that the caller does not see.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<HiddenEntry>,
    /// The number of further hidden entries.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_hidden: usize,
    /// What the server did at the same time.
    pub load: Load,
}

/// How an exchange ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum ReportedOutcome {
    /// With a result.
    #[default]
    Ok,
    /// With the result of a tool that failed.
    ToolError,
    /// With a result that asks for input.
    InputRequired,
    /// With an error.
    Error,
    /// The client cancelled it, or the connection ended.
    Cancelled,
    /// In a way that this version does not know.
    #[serde(other)]
    Unknown,
}

/// The time of a middleware or of the handler.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Span {
    /// What ran.
    pub kind: SpanKind,
    /// The name of the middleware. The handler has none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The start in microseconds since that of the exchange.
    pub start_us: u64,
    /// The time in microseconds, with everything inside.
    pub took_us: u64,
    /// The time in microseconds without the next span, which is inside.
    pub own_us: u64,
}

/// What a span is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum SpanKind {
    /// A middleware.
    #[default]
    Middleware,
    /// The handler, with the lookup of its entry, the checks, and the writing of the result.
    Handler,
    /// A kind that this version does not know.
    #[serde(other)]
    Unknown,
}

/// Why the arguments or the structured result were rejected.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct RejectedValue {
    /// What was rejected.
    pub what: Rejected,
    /// Where: `arguments.date`, `structuredContent.rows[3]`. The response has the whole message.
    pub paths: Vec<String>,
}

/// What was rejected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Rejected {
    /// The arguments of the client.
    #[default]
    Arguments,
    /// The structured result of the handler.
    Result,
    /// Something that this version does not know.
    #[serde(other)]
    Unknown,
}

/// An entry that the caller does not see.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct HiddenEntry {
    /// `tool`, `prompt`, `resource`, `template` or `entry`.
    pub kind: String,
    /// The name or URI.
    pub name: String,
    /// What hides it, in words.
    pub because: String,
}

/// What a server did at the time of an exchange.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Load {
    /// The running requests at the start of the exchange, with this one, without streams.
    pub running: usize,
    /// The open streams of changes at the start of the exchange.
    pub streams: usize,
    /// The messages that waited for the client at the end of the exchange.
    pub queued: usize,
}

impl Load {
    /// Creates the load at the start of an exchange.
    #[must_use]
    pub fn new(running: usize, streams: usize) -> Self {
        Self {
            running,
            streams,
            queued: 0,
        }
    }
}

impl Span {
    /// Creates a span that starts now.
    #[must_use]
    pub fn new(kind: SpanKind, name: &str, start_us: u64) -> Self {
        Self {
            kind,
            name: shortened(name),
            start_us,
            ..Self::default()
        }
    }
}

impl ExchangeReport {
    /// Creates the report of a request that starts.
    #[must_use]
    pub fn new(method: &str, name: Option<&str>, version: &str) -> Self {
        Self {
            method: shortened(method),
            name: name.map(|name| shortened(without_query(name))),
            version: version.to_owned(),
            ..Self::default()
        }
    }

    /// Sets the value by which the client marked the request.
    pub fn set_call(&mut self, call: &str) {
        self.call = Some(shortened(call));
    }

    /// Adds a span, and returns its index. Returns `None` if there are too many. There is always a place for the handler.
    pub fn add_span(&mut self, span: Span) -> Option<usize> {
        let places = MAX_SPANS - usize::from(span.kind == SpanKind::Middleware);
        if self.spans.len() >= places {
            return None;
        }
        self.spans.push(span);
        Some(self.spans.len() - 1)
    }

    /// Sets the own time of each span.
    pub fn set_own_times(&mut self) {
        let mut inside = 0;
        for span in self.spans.iter_mut().rev() {
            span.own_us = span.took_us.saturating_sub(inside);
            inside = span.took_us;
        }
    }

    /// Adds the violations of a schema. Each line is a path, `: ` and a text that may contain a value, so only the path
    /// is reported.
    pub fn add_violations(&mut self, what: Rejected, violations: &str) {
        let rejection = self.rejected.get_or_insert_default();
        rejection.what = what;
        for line in violations.lines() {
            let (path, _) = line.split_once(": ").unwrap_or((line, ""));
            if !ROOTS.iter().any(|root| path.starts_with(root)) {
                continue;
            }
            let path = shortened(path);
            if rejection.paths.len() < MAX_PATHS && !rejection.paths.contains(&path) {
                rejection.paths.push(path);
            }
        }
    }

    /// Adds an entry that the caller does not see, once.
    pub fn add_hidden(&mut self, kind: &str, name: &str, because: &str) {
        let entry = HiddenEntry {
            kind: kind.to_owned(),
            name: shortened(without_query(name)),
            because: shortened(because),
        };
        if self.hidden.contains(&entry) {
            return;
        }
        if self.hidden.len() < MAX_HIDDEN {
            self.hidden.push(entry);
        } else {
            self.more_hidden += 1;
        }
    }
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// Returns a URI without its query and fragment, which may contain secrets. Names stay as they are.
fn without_query(name: &str) -> &str {
    if !name.contains("://") {
        return name;
    }
    name.split(['?', '#']).next().unwrap_or(name)
}

/// Returns at most [`MAX_TEXT_BYTES`] of a text.
pub(super) fn shortened(text: &str) -> String {
    let mut end = text.len().min(MAX_TEXT_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_truncated_at_a_character() {
        let check = |text: String, expected: usize| assert_eq!(shortened(&text).len(), expected);
        check("x".repeat(MAX_TEXT_BYTES), MAX_TEXT_BYTES);
        check("x".repeat(MAX_TEXT_BYTES + 1), MAX_TEXT_BYTES);
        check("é".repeat(MAX_TEXT_BYTES), MAX_TEXT_BYTES);
        check(
            format!("x{}", "é".repeat(MAX_TEXT_BYTES)),
            MAX_TEXT_BYTES - 1,
        );
    }

    #[test]
    fn query_of_a_uri_is_not_reported() {
        let check = |name: &str, expected: &str| {
            let report = ExchangeReport::new("resources/read", Some(name), "v");
            assert_eq!(report.name.as_deref(), Some(expected));
        };
        check("https://a/b?token=1", "https://a/b");
        check("file:///a#b?c", "file:///a");
        check("what?", "what?");
    }

    #[test]
    fn handler_has_a_span_after_any_number_of_middleware() {
        let mut report = ExchangeReport::default();
        let middleware = |index: usize| Span::new(SpanKind::Middleware, "m", index as u64);
        for index in 0..MAX_SPANS - 1 {
            assert_eq!(report.add_span(middleware(index)), Some(index));
        }
        assert_eq!(report.add_span(middleware(0)), None);
        let handler = Span::new(SpanKind::Handler, "", 0);
        assert_eq!(report.add_span(handler.clone()), Some(MAX_SPANS - 1));
        assert_eq!(report.add_span(handler), None);
    }

    #[test]
    fn own_time_is_without_the_next_span() {
        let mut report = ExchangeReport::default();
        for took in [100, 70, 75, 20] {
            let span = Span::new(SpanKind::Middleware, "m", 0);
            let index = report.add_span(span).expect("a place");
            report.spans[index].took_us = took;
        }
        report.set_own_times();
        let own: Vec<u64> = report.spans.iter().map(|span| span.own_us).collect();
        // A clock that is read twice may give a longer time inside.
        assert_eq!(own, [30, 0, 55, 20]);
    }

    #[test]
    fn violations_are_reported_without_values() {
        let mut report = ExchangeReport::default();
        let violations = "arguments.a: \"secret\" is too long\nsecret: of a\narguments.a: again\narguments.b[1]: no";
        report.add_violations(Rejected::Arguments, violations);
        let rejection = report.rejected.as_ref().expect("a rejection");
        assert_eq!(rejection.paths, ["arguments.a", "arguments.b[1]"]);
        let many: String = (0..9)
            .map(|index| format!("arguments.c{index}: x\n"))
            .collect();
        report.add_violations(Rejected::Arguments, &many);
        assert_eq!(report.rejected.expect("a rejection").paths.len(), MAX_PATHS);
    }

    #[test]
    fn hidden_entries_are_listed_once_and_then_counted() {
        let mut report = ExchangeReport::default();
        for index in 0..MAX_HIDDEN {
            report.add_hidden("tool", &format!("t{index}"), "a rule");
            report.add_hidden("tool", &format!("t{index}"), "a rule");
        }
        assert_eq!((report.hidden.len(), report.more_hidden), (MAX_HIDDEN, 0));
        report.add_hidden("tool", "another", "a rule");
        assert_eq!((report.hidden.len(), report.more_hidden), (MAX_HIDDEN, 1));
    }
}
