//! What a client makes of a result before it reads it as the answer to the method it sent.
//!
//! Since 2026-07-28 `resultType` says whether a result is the answer, a question or the promise of a later answer. A
//! kind the client does not know, or one the method cannot have, is no answer at all: reading it as one would show a
//! caller half of something. Nothing here decodes a complete result; that is left to whoever sent the request.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use toolwire_types::tasks::extension::EXTENSION_ID as TASKS_EXTENSION;
use toolwire_types::{InputRequiredResult, ProtocolVersion, ResultType};

use crate::features::VersionFeatures;
use crate::methods;

/// What a result is.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[expect(
    clippy::large_enum_variant,
    reason = "lives for one match, and questions are read at once"
)]
pub enum ResultKind {
    /// The answer; it decodes by the method that was sent.
    Complete,
    /// Questions to answer, or a state to send back, before there is an answer.
    InputRequired(InputRequiredResult),
    /// The answer comes later, through a task.
    Task,
    /// A `resultType` the client does not know, or one that this method cannot have; the response is invalid.
    Unknown(String),
    /// The kind is known, but what it brings cannot be read; the response is invalid for this reason.
    Malformed(String),
}

/// Tells what a result is, from the revision it came in and the method it answers.
///
/// `declared` says whether the client declared an extension on that request.
///
/// ```
/// use toolwire_proto::result_kind::{ResultKind, classify};
/// use toolwire_types::ProtocolVersion;
///
/// let result = serde_json::from_str(r#"{"resultType":"hologram"}"#).unwrap();
/// let kind = classify(ProtocolVersion::V2026_07_28, "tools/call", |_| false, result);
/// assert_eq!(kind, ResultKind::Unknown("hologram".to_owned()));
/// ```
pub fn classify(
    version: ProtocolVersion,
    method: &str,
    declared: impl Fn(&str) -> bool,
    result: &RawValue,
) -> ResultKind {
    // Members with names of a later revision are the peer's own in an earlier one.
    if !version.has_result_type() || is_plainly_complete(result.get()) {
        return ResultKind::Complete;
    }
    let name = match result_type(result.get()) {
        Ok(Some(name)) => name,
        // Spec 2026-07-28, basic, "ResultType": servers of earlier revisions leave it out.
        Ok(None) => return ResultKind::Complete,
        Err(reason) => return ResultKind::Malformed(reason),
    };
    let method = methods::find(method);
    match ResultType::from(name.as_ref()) {
        ResultType::Complete => ResultKind::Complete,
        // Spec 2026-07-28, basic/patterns/mrtr: three methods may ask, and no other.
        ResultType::InputRequired if method.is_some_and(|method| method.may_ask_input) => {
            input_required(result.get())
        }
        // Tasks extension: a task that was not asked for, or on another method, is invalid.
        ResultType::Task
            if method.is_some_and(|method| method.may_become_task) && declared(TASKS_EXTENSION) =>
        {
            ResultKind::Task
        }
        _ => ResultKind::Unknown(name.into_owned()),
    }
}

/// Whether the first or the last member says that the result is complete, which is where most servers say it.
///
/// No other text looks like this. A quote without a backslash before it begins or ends a string, so the one in front of
/// `complete` begins it, those around `resultType` are its own, and the brace is the first or the last of the result.
fn is_plainly_complete(result: &str) -> bool {
    let first = result
        .strip_prefix("{\"resultType\":\"complete\"")
        .is_some_and(|rest| rest.starts_with([',', '}']));
    (first || result.ends_with(",\"resultType\":\"complete\"}")) && names_type_once(result)
}

/// False when `resultType` may be there twice: written plainly, or with escapes, which all begin with `\u`.
fn names_type_once(result: &str) -> bool {
    let bytes = result.as_bytes();
    let count = |byte: u8, before: &[u8], after: &[u8]| {
        memchr::memchr_iter(byte, bytes)
            .filter(|at| bytes[..*at].ends_with(before) && bytes[at + 1..].starts_with(after))
            .count()
    };
    count(b'T', b"result", b"ype") == 1 && count(b'\\', b"", b"u") == 0
}

/// The `resultType` of a result, when it has one.
fn result_type(result: &str) -> Result<Option<Cow<'_, str>>, String> {
    #[derive(Deserialize)]
    struct ResultMembers<'a> {
        #[serde(borrow, default, rename = "resultType", deserialize_with = "present")]
        result_type: Option<&'a RawValue>,
    }

    if !result.trim_start().starts_with('{') {
        return Err("the result is no object".to_owned());
    }
    let members: ResultMembers<'_> =
        serde_json::from_str(result).map_err(|error| format!("the result: {error}"))?;
    let Some(value) = members.result_type else {
        return Ok(None);
    };
    match serde_json::from_str(value.get()) {
        Ok(Name(name)) => Ok(Some(name)),
        Err(_) => Err("`resultType` is no string".to_owned()),
    }
}

/// A string that is copied only when it is written with escapes.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

/// A member that is `null` is there all the same, and no kind of result.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Reads the questions. Without questions and state the next round would be the same request again, for ever.
fn input_required(result: &str) -> ResultKind {
    let asked: InputRequiredResult = match serde_json::from_str(result) {
        Ok(asked) => asked,
        Err(error) => return ResultKind::Malformed(format!("input_required: {error}")),
    };
    let asks = asked
        .input_requests
        .as_ref()
        .is_some_and(|requests| !requests.is_empty());
    if asks || asked.request_state.is_some() {
        ResultKind::InputRequired(asked)
    } else {
        ResultKind::Malformed(
            "input_required has neither inputRequests nor requestState".to_owned(),
        )
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MODERN: ProtocolVersion = ProtocolVersion::V2026_07_28;

    fn kind(version: ProtocolVersion, method: &str, tasks: bool, result: &str) -> ResultKind {
        let result = serde_json::from_str(result).expect("JSON");
        classify(version, method, |id| tasks && id == TASKS_EXTENSION, result)
    }

    /// The kind as one word, with what was wrong behind it.
    fn shown(kind: ResultKind) -> String {
        match kind {
            ResultKind::Complete => "complete".to_owned(),
            ResultKind::InputRequired(_) => "input".to_owned(),
            ResultKind::Task => "task".to_owned(),
            ResultKind::Unknown(name) => format!("unknown {name}"),
            ResultKind::Malformed(reason) => format!("malformed: {reason}"),
        }
    }

    fn check(method: &str, result: &str, expected: &str) {
        assert_eq!(
            shown(kind(MODERN, method, true, result)),
            expected,
            "{method} {result}"
        );
    }

    #[test]
    fn a_result_is_what_its_type_says() {
        check("tools/call", "{}", "complete");
        check("tools/call", r#"{"content":[]}"#, "complete");
        check("tools/list", r#"{"resultType":"complete"}"#, "complete");
        check(
            "tools/call",
            r#"{"result\u0054ype":"compl\u0065te"}"#,
            "complete",
        );
        check("tools/call", r#"{"a":{"resultType":"x"}}"#, "complete");
        check("tools/call", r#"{"resultType":"later"}"#, "unknown later");
        check(
            "tools/call",
            r#"{"resultType":"Complete"}"#,
            "unknown Complete",
        );
        check("tools/call", r#"{"resultType":""}"#, "unknown ");
        check("custom/method", r#"{"resultType":"complete"}"#, "complete");
    }

    #[test]
    fn what_looks_complete_at_its_ends_is_read_like_anything_else() {
        let check = |result: &str, plain: bool| {
            assert_eq!(is_plainly_complete(result), plain, "{result}");
            let read = result_type(result).map(|name| name.is_none_or(|name| name == "complete"));
            // The shortcut never says more than reading the whole would.
            assert!(!plain || read == Ok(true), "{result}");
        };
        check(r#"{"resultType":"complete"}"#, true);
        check(r#"{"resultType":"complete","a":1}"#, true);
        check(r#"{"a":1,"resultType":"complete"}"#, true);
        check(r#"{"a":"\\","resultType":"complete"}"#, true);
        check(r#"{"resultType":"completely"}"#, false);
        check(r#"{"resultType":"complete" }"#, false);
        check(r#"{"a\",\"resultType":"complete"}"#, false);
        check(r#"{"a":",\"resultType\":\"complete"}"#, false);
        check(r#"{"a":{"b":1,"resultType":"complete"}}"#, false);
        check(
            r#"{"resultType":"task","a":{"resultType":"complete"}}"#,
            false,
        );
        check(r#"{"resultType":"task","resultType":"complete"}"#, false);
        check(
            r#"{"result\u0054ype":"task","resultType":"complete"}"#,
            false,
        );
    }

    #[test]
    fn only_the_methods_that_may_ask_are_asked() {
        let asks = r#"{"resultType":"input_required","requestState":""}"#;
        for method in methods::all() {
            let expected = match method.name {
                "tools/call" | "prompts/get" | "resources/read" => "input",
                _ => "unknown input_required",
            };
            check(method.name, asks, expected);
        }
        check("custom/method", asks, "unknown input_required");
    }

    #[test]
    fn a_task_needs_the_extension_and_a_tool_call() {
        let task = r#"{"resultType":"task","taskId":"t"}"#;
        for method in methods::all() {
            let expected = match method.name {
                "tools/call" => "task",
                _ => "unknown task",
            };
            check(method.name, task, expected);
        }
        check("custom/method", task, "unknown task");
        assert_eq!(
            shown(kind(MODERN, "tools/call", false, task)),
            "unknown task"
        );
    }

    #[test]
    fn questions_come_with_their_state() {
        let result = r#"{"resultType":"input_required","inputRequests":{"q":{"method":"roots/list"}},
            "requestState":"s\u0000"}"#;
        let ResultKind::InputRequired(asked) = kind(MODERN, "tools/call", false, result) else {
            panic!("it asks");
        };
        assert_eq!(asked.request_state.as_deref(), Some("s\0"));
        assert_eq!(asked.input_requests.expect("questions").len(), 1);
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_a_reason() {
        let check = |result: &str, expected: &str| {
            let shown = shown(kind(MODERN, "tools/call", true, result));
            assert!(
                shown.starts_with("malformed") && shown.contains(expected),
                "{result}: {shown}"
            );
        };
        for odd in ["[]", "null", "\"complete\"", " 3"] {
            check(odd, "no object");
        }
        for odd in ["null", "1", "{}", "[\"complete\"]"] {
            check(&format!(r#"{{"resultType":{odd}}}"#), "no string");
        }
        check(
            r#"{"resultType":"complete","resultType":"task"}"#,
            "duplicate field",
        );
        let asks = |rest: &str| format!(r#"{{"resultType":"input_required"{rest}}}"#);
        check(&asks(""), "neither");
        check(&asks(r#","inputRequests":{}"#), "neither");
        check(&asks(r#","inputRequests":[]"#), "neither");
        check(&asks(r#","requestState":{}"#), "expected a string");
        check(&asks(r#","inputRequests":{"q":1}"#), "input_required:");
        check(
            &asks(r#","inputRequests":{"q":{"method":"elicitation/create"}}"#),
            "params",
        );
    }

    #[test]
    fn every_result_of_an_earlier_revision_is_the_answer() {
        for version in ProtocolVersion::ALL.into_iter().filter(|v| v.is_legacy()) {
            for result in [
                r#"{"resultType":"later"}"#,
                r#"{"resultType":"input_required"}"#,
                r#"{"resultType":"task"}"#,
                r#"{"resultType":1}"#,
                "[]",
            ] {
                let kind = kind(version, "tools/call", true, result);
                assert_eq!(kind, ResultKind::Complete, "{version} {result}");
            }
        }
    }

    proptest! {
        #[test]
        fn unknown_names_come_back_as_they_were(name in ".{0,12}") {
            prop_assume!(!["complete", "input_required", "task"].contains(&name.as_str()));
            let result = serde_json::json!({"a": [1], "resultType": name}).to_string();
            prop_assert_eq!(kind(MODERN, "tools/call", true, &result), ResultKind::Unknown(name));
        }
    }
}
