//! One line of an audit log.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use indexmap::IndexMap;
use serde::Serialize;
use serde_json::value::RawValue;
use toolwire_proto::invisible_characters::InvisibleCharacter;
use toolwire_proto::trace_context::TraceContext;
use toolwire_types::{RawJson, RequestId};

use crate::server::middleware::{Outcome, Request};

/// The maximum length of the written arguments in bytes. Longer ones are left out.
const MAX_ARGUMENT_BYTES: usize = 16 * 1024;

/// The maximum length of a name that a client sent, in characters.
const MAX_NAME_CHARACTERS: usize = 512;

/// A line of an audit log: who called what, and how it ended. [`Audit`](crate::middleware::Audit) describes its members.
///
/// Serialize it, also as a flattened member of a line with further members, for an audit log of your own. Call
/// [`end`](Self::end) with the outcome and [`stop`](Self::stop) before. Until then, the outcome is `cancelled`.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AuditLine {
    time: u64,
    id: RequestId,
    #[serde(skip_serializing_if = "Option::is_none")]
    principal: Option<AuditPrincipal>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<String>,
    method: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    version: &'static str,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<String>,
    retry: bool,
    input_requests: usize,
    duration_ms: u64,
    bytes: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<IndexMap<String, RawJson>>,
    #[serde(skip)]
    start: Instant,
    /// The input requests that were sent while the request ran.
    #[serde(skip)]
    sent_input_requests: Arc<AtomicU32>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct AuditPrincipal {
    #[serde(skip_serializing_if = "Option::is_none")]
    issuer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_id: Option<String>,
}

impl AuditLine {
    /// Starts the line of a request, with those of its arguments that are named here.
    #[must_use]
    pub fn new(request: &mut Request, arguments: &[String]) -> Self {
        let sent_input_requests = request.count_input_requests();
        let scope = request.scope();
        let token = scope.auth();
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.unwrap_or_default().as_millis();
        let issuer = token.claims.get("iss").and_then(|issuer| issuer.as_str());
        Self {
            time: u64::try_from(now).unwrap_or(u64::MAX),
            id: scope.request_id().clone(),
            principal: token.valid.then(|| AuditPrincipal {
                issuer: issuer.map(str::to_owned),
                subject: token.subject.clone(),
                client_id: token.client_id.clone(),
            }),
            client: scope.client_info().map(|client| shortened(&client.name)),
            method: request.method().to_owned(),
            name: request.name().map(shortened),
            version: request.version().as_str(),
            outcome: "cancelled",
            code: None,
            reason: None,
            rule: None,
            retry: request.is_retry(),
            input_requests: 0,
            duration_ms: 0,
            bytes: 0,
            trace_id: TraceContext::from_meta(request.meta())
                .trace_id()
                .map(str::to_owned),
            arguments: permitted(request.arguments(), arguments),
            start: Instant::now(),
            sent_input_requests,
        }
    }

    /// Sets the outcome.
    pub fn end(&mut self, outcome: &Outcome) {
        let error = outcome.error();
        self.code = error.map(|error| error.code);
        self.reason = error.and_then(|error| {
            let data = error.data.as_ref()?.to_value().ok()?;
            data.get("reason")?.as_str().map(shortened)
        });
        self.input_requests = outcome.input_request_count();
        self.bytes = outcome.size();
        self.outcome = if self.code.is_some() {
            "error"
        } else if outcome.is_tool_error() {
            "tool_error"
        } else if outcome.is_input_required() {
            "input_required"
        } else {
            "ok"
        };
    }

    /// Sets the rule that denied the request.
    pub fn set_rule(&mut self, rule: impl Into<String>) {
        self.rule = Some(rule.into());
    }

    /// Sets the duration to the time since the line was started, and counts the input requests that were sent since.
    pub fn stop(&mut self) {
        let sent = self.sent_input_requests.swap(0, Ordering::Relaxed);
        self.input_requests += usize::try_from(sent).unwrap_or(usize::MAX);
        let duration = self.start.elapsed().as_millis();
        self.duration_ms = u64::try_from(duration).unwrap_or(u64::MAX);
    }

    /// Returns a line of JSON with all control and invisible characters as escapes, so that a peer cannot control a
    /// terminal, or change what a reader sees. JSON itself demands it only of some. Use it for each line with text of peers.
    #[must_use]
    pub fn escape_invisible(json: &str) -> String {
        let mut escaped = String::with_capacity(json.len());
        for character in json.chars() {
            if is_visible(character) {
                escaped.push(character);
                continue;
            }
            for unit in character.encode_utf16(&mut [0; 2]) {
                // A text can always be extended.
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        }
        escaped
    }
}

fn is_visible(character: char) -> bool {
    match character {
        ' '..='~' => true,
        _ => character.escape_debug().len() == 1 && InvisibleCharacter::of(character).is_none(),
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(MAX_NAME_CHARACTERS).collect()
}

/// Returns the arguments that may be written. They keep the text that the client sent.
fn permitted(arguments: Option<&RawValue>, names: &[String]) -> Option<IndexMap<String, RawJson>> {
    let arguments = arguments.filter(|_| !names.is_empty())?;
    let arguments: IndexMap<String, RawJson> = serde_json::from_str(arguments.get()).ok()?;
    let permitted = arguments.into_iter();
    let permitted: IndexMap<_, _> = permitted.filter(|(name, _)| names.contains(name)).collect();
    let bytes: usize = permitted.values().map(|value| value.get().len()).sum();
    (bytes <= MAX_ARGUMENT_BYTES).then_some(permitted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_and_invisible_characters_are_escaped() {
        let check = |text: &str, expected: &str| {
            let json = serde_json::to_string(text).unwrap();
            let escaped = AuditLine::escape_invisible(&json);
            assert_eq!(escaped, format!("\"{expected}\""), "{text:?}");
            let read: String = serde_json::from_str(&escaped).unwrap();
            assert_eq!(read, text);
        };
        check("größe 世界", "größe 世界");
        check("\u{9b}2J\u{7f}", r"\u009b2J\u007f");
        check("a\u{202e}\u{3164}\u{fe0f}", r"a\u202e\u3164\ufe0f");
        check("\u{e0041}", r"\udb40\udc41");
    }
}
