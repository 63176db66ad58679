//! What lists of the log show of an entry before its text: the method, the name of its subject, and whether it failed.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::inspect::call_outcome::{is_error, named};

/// The maximum number of bytes of a method, an id, a name and the message of an error that are stored. Longer ones are
/// truncated.
pub(super) const NAME_BYTES: usize = 256;

/// The parts of an entry that are shown before its text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(super) struct EntryHead {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) method: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<String>,
    /// The name of the tool or prompt, or the URI.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<EntryError>,
    /// Whether the entry reports a failure: an error, the result of a tool that failed, or a status of HTTP from 400.
    #[serde(skip_serializing_if = "is_false")]
    pub(super) failed: bool,
}

/// The error of a response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct EntryError {
    code: i64,
    message: String,
}

impl EntryHead {
    /// Returns the head of a message. Received text is not always a valid message.
    pub(super) fn of_message(text: &str) -> Self {
        let parts = MessageParts::read(text.as_bytes());
        let error = parts.error.map(RawValue::get);
        let result = parts.result.map(RawValue::get);
        Self {
            method: parts.method.as_deref().map(short),
            id: parts.short_id(),
            name: parts.params.and_then(|params| subject(params.get())),
            failed: error.is_some() || result.is_some_and(is_error),
            error: error.and_then(EntryError::read),
        }
    }

    /// Returns the head of a report of the server about an exchange.
    pub(super) fn of_report(text: &str) -> Self {
        let parts = MessageParts::read(text.as_bytes());
        Self {
            method: parts.method.as_deref().map(short),
            id: parts.short_id(),
            name: named(text).as_deref().map(short),
            ..Self::default()
        }
    }

    /// Returns the head of the start of an HTTP message. `id` is that of the request in the body.
    pub(super) fn of_http(text: &str, is_sent: bool, id: Option<String>) -> Self {
        let status = text.get(..3).and_then(|status| status.parse().ok());
        Self {
            id,
            failed: !is_sent && status.is_some_and(|status: u16| status >= 400),
            ..Self::default()
        }
    }

    /// Returns the number of bytes of the stored texts.
    pub(super) fn stored_bytes(&self) -> usize {
        let message = self.error.as_ref().map(|error| &error.message);
        let names = [self.method.as_ref(), self.id.as_ref(), self.name.as_ref()];
        let texts = names.into_iter().chain([message]).flatten();
        texts.map(String::len).sum()
    }
}

impl EntryError {
    fn read(text: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct ErrorParts<'m> {
            code: i64,
            #[serde(borrow)]
            message: Cow<'m, str>,
        }
        let parts: ErrorParts<'_> = serde_json::from_str(text).ok()?;
        Some(Self {
            code: parts.code,
            message: short(&parts.message),
        })
    }
}

/// Returns the id of a request in JSON, as lists show it. Other messages have none.
pub(super) fn request_id(bytes: &[u8]) -> Option<String> {
    let parts = MessageParts::read(bytes);
    parts.method.as_ref().and(parts.short_id())
}

/// The members of a message that tell what it is about. Members that are shown only if they are valid stay as they are.
#[derive(Default, Deserialize)]
struct MessageParts<'m> {
    #[serde(borrow, default)]
    method: Option<Cow<'m, str>>,
    #[serde(borrow, default)]
    id: Option<&'m RawValue>,
    #[serde(borrow, default)]
    params: Option<&'m RawValue>,
    #[serde(borrow, default)]
    result: Option<&'m RawValue>,
    #[serde(borrow, default)]
    error: Option<&'m RawValue>,
}

impl<'m> MessageParts<'m> {
    fn read(bytes: &'m [u8]) -> Self {
        serde_json::from_slice(bytes).unwrap_or_default()
    }

    fn short_id(&self) -> Option<String> {
        self.id.map(|id| short(id.get().trim_matches('"')))
    }
}

/// Returns the name or the URI in the parameters of a request. A completion names them in `ref`.
fn subject(params: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Referring<'m> {
        #[serde(borrow, rename = "ref")]
        reference: &'m RawValue,
    }
    let referred = || {
        let referring: Referring<'_> = serde_json::from_str(params).ok()?;
        named(referring.reference.get())
    };
    named(params).or_else(referred).as_deref().map(short)
}

fn short(text: &str) -> String {
    text[..boundary(text, NAME_BYTES)].to_owned()
}

/// Returns the last position of a character within the limit.
pub(super) fn boundary(text: &str, limit: usize) -> usize {
    let mut end = limit.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    end
}

fn is_false(value: &bool) -> bool {
    !value
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn message_has_the_name_of_its_subject() {
        let check = |params: Value, expected: Option<&str>| {
            let message = json!({"jsonrpc": "2.0", "id": 1, "method": "a/b", "params": params});
            let head = EntryHead::of_message(&message.to_string());
            assert_eq!(head.method.as_deref(), Some("a/b"), "{message}");
            assert_eq!(head.name.as_deref(), expected, "{message}");
        };
        check(
            json!({"name": "add", "arguments": {"name": "x"}}),
            Some("add"),
        );
        check(json!({"uri": "file:///a"}), Some("file:///a"));
        check(
            json!({"ref": {"type": "ref/prompt", "name": "greet"}}),
            Some("greet"),
        );
        check(
            json!({"ref": {"type": "ref/resource", "uri": "a:{b}"}}),
            Some("a:{b}"),
        );
        check(json!({"arguments": {"name": "x"}}), None);
        // Invalid members hide only themselves.
        check(json!({"name": 1}), None);
        check(json!({"ref": "greet"}), None);
        check(json!([1]), None);
    }

    #[test]
    fn failure_is_an_error_or_a_failed_tool() {
        let check = |message: Value, expected: bool| {
            let head = EntryHead::of_message(&message.to_string());
            assert_eq!(head.failed, expected, "{message}");
        };
        check(
            json!({"id": 1, "result": {"content": [], "isError": true}}),
            true,
        );
        check(
            json!({"id": 1, "result": {"content": [], "isError": false}}),
            false,
        );
        check(
            json!({"id": 1, "result": {"structuredContent": {"error": "none"}}}),
            false,
        );
        check(
            json!({"id": 1, "method": "tools/call", "params": {"isError": true}}),
            false,
        );
        check(
            json!({"id": 1, "error": {"code": -32601, "message": "no"}}),
            true,
        );
        check(json!({"id": 1, "error": "invalid"}), true);
        let error = json!({"id": 1, "error": {"code": -32601, "message": "no", "data": 1}});
        let head = EntryHead::of_message(&error.to_string());
        let expected = EntryError {
            code: -32601,
            message: "no".to_owned(),
        };
        assert_eq!(head.error, Some(expected));
    }

    #[test]
    fn failed_status_of_http_is_a_failure() {
        let check = |text: &str, is_sent: bool, expected: bool| {
            let head = EntryHead::of_http(text, is_sent, Some("7".to_owned()));
            assert_eq!(
                (head.failed, head.id.as_deref()),
                (expected, Some("7")),
                "{text}"
            );
        };
        check("200 OK\ncontent-length: 500", false, false);
        check("202", false, false);
        check("400 Bad Request", false, true);
        check("503", false, true);
        check("500 /mcp", true, false);
        check("é", false, false);
    }

    #[test]
    fn report_has_a_name() {
        let head = EntryHead::of_report(r#"{"id":"7","method":"tools/call","name":"add"}"#);
        assert_eq!(head.method.as_deref(), Some("tools/call"));
        assert_eq!(
            (head.id.as_deref(), head.name.as_deref()),
            (Some("7"), Some("add"))
        );
    }

    #[test]
    fn text_that_is_no_message_has_no_head() {
        for text in ["", "no message", "[1]", r#"{"method":1}"#] {
            assert_eq!(EntryHead::of_message(text), EntryHead::default(), "{text}");
        }
    }

    #[test]
    fn only_requests_have_a_request_id() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(request_id(text.as_bytes()).as_deref(), expected, "{text}");
        };
        check(r#"{"id":"a","method":"ping"}"#, Some("a"));
        check(r#"{"id":7,"method":"ping"}"#, Some("7"));
        check(r#"{"method":"notifications/initialized"}"#, None);
        check(r#"{"id":"a","result":{}}"#, None);
        check("grant_type=refresh_token", None);
    }

    #[test]
    fn stored_texts_are_limited_and_count() {
        let check = |length: usize, expected: usize| {
            let long = "x".repeat(length);
            let request = json!({"id": long, "method": long, "params": {"name": long}});
            let response = json!({"id": long, "error": {"code": 1, "message": long}});
            let heads = [&request, &response].map(|one| EntryHead::of_message(&one.to_string()));
            let bytes = heads.map(|head| head.stored_bytes());
            assert_eq!(bytes, [3 * expected, 2 * expected]);
        };
        check(NAME_BYTES, NAME_BYTES);
        check(NAME_BYTES + 1, NAME_BYTES);
        check(10 * NAME_BYTES, NAME_BYTES);
    }
}
