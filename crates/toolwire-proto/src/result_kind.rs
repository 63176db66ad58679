//! Classification of a result by the client before it decodes the result.
//!
//! Since 2026-07-28 `resultType` states whether a result is complete, requests input or refers to a task. An unknown
//! kind, or one that the method cannot have, is invalid: decoding it as complete would give the caller a partial
//! result. This module does not decode complete results. The sender of the request does.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use toolwire_types::tasks::extension::EXTENSION_ID as TASKS_EXTENSION;
use toolwire_types::{InputRequiredResult, ProtocolVersion, ResultType};

use crate::features::VersionFeatures;
use crate::methods;

/// The kind of a result.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[expect(
    clippy::large_enum_variant,
    reason = "the value exists for one match, and input requests are parsed at once"
)]
pub enum ResultKind {
    /// A complete result, to be decoded by its method.
    Complete,
    /// Input requests, or a state to send back, before the result is complete.
    InputRequired(InputRequiredResult),
    /// A task that will have the result later.
    Task,
    /// A `resultType` that is unknown, or that this method cannot have. The response is invalid.
    Unknown(String),
    /// A known kind whose content cannot be parsed, with the reason. The response is invalid.
    Malformed(String),
}

/// Returns the kind of a result, by its revision and its method.
///
/// `declared` returns whether the client declared an extension on that request.
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
    // In an earlier revision, members with names of a later one are the peer's own.
    if !version.has_result_type() || is_plainly_complete(result.get()) {
        return ResultKind::Complete;
    }
    let name = match result_type(result.get()) {
        Ok(Some(name)) => name,
        // Spec 2026-07-28, basic, "ResultType": servers of earlier revisions omit it.
        Ok(None) => return ResultKind::Complete,
        Err(reason) => return ResultKind::Malformed(reason),
    };
    let method = methods::find(method);
    match ResultType::from(name.as_ref()) {
        ResultType::Complete => ResultKind::Complete,
        // Spec 2026-07-28, basic/patterns/mrtr: only three methods may request input.
        ResultType::InputRequired if method.is_some_and(|method| method.may_ask_input) => {
            input_required(result.get())
        }
        // Tasks extension: a task without the declared extension, or of another method, is invalid.
        ResultType::Task
            if method.is_some_and(|method| method.may_become_task) && declared(TASKS_EXTENSION) =>
        {
            ResultKind::Task
        }
        _ => ResultKind::Unknown(name.into_owned()),
    }
}

/// Returns `true` if the first or the last member states that the result is complete, as most servers write it.
///
/// The check is exact. A quote without a backslash before it starts or ends a string. So the quote before `complete`
/// starts a string, the quotes around `resultType` belong to it, and the brace is the first or the last of the result.
fn is_plainly_complete(result: &str) -> bool {
    let first = result
        .strip_prefix("{\"resultType\":\"complete\"")
        .is_some_and(|rest| rest.starts_with([',', '}']));
    (first || result.ends_with(",\"resultType\":\"complete\"}")) && names_type_once(result)
}

/// Returns `false` if `resultType` may occur twice, either plain or with escapes, which all begin with `\u`.
fn names_type_once(result: &str) -> bool {
    let bytes = result.as_bytes();
    let count = |byte: u8, before: &[u8], after: &[u8]| {
        memchr::memchr_iter(byte, bytes)
            .filter(|at| bytes[..*at].ends_with(before) && bytes[at + 1..].starts_with(after))
            .count()
    };
    count(b'T', b"result", b"ype") == 1 && count(b'\\', b"", b"u") == 0
}

/// Returns the `resultType` of a result, if present.
fn result_type(result: &str) -> Result<Option<Cow<'_, str>>, String> {
    #[derive(Deserialize)]
    struct ResultMembers<'a> {
        #[serde(borrow, default, rename = "resultType", deserialize_with = "present")]
        result_type: Option<&'a RawValue>,
    }

    if !result.trim_start().starts_with('{') {
        return Err("the result is not an object".to_owned());
    }
    let members: ResultMembers<'_> =
        serde_json::from_str(result).map_err(|error| format!("the result: {error}"))?;
    let Some(value) = members.result_type else {
        return Ok(None);
    };
    match serde_json::from_str(value.get()) {
        Ok(Name(name)) => Ok(Some(name)),
        Err(_) => Err("`resultType` is not a string".to_owned()),
    }
}

/// A string that is copied only if it has escapes.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

/// Deserializes a `null` member as present, and thus as an invalid kind.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Parses the input requests. Without input requests and state, the next round would repeat the same request forever.
fn input_required(result: &str) -> ResultKind {
    let required: InputRequiredResult = match serde_json::from_str(result) {
        Ok(required) => required,
        Err(error) => return ResultKind::Malformed(format!("input_required: {error}")),
    };
    let has_requests = required
        .input_requests
        .as_ref()
        .is_some_and(|requests| !requests.is_empty());
    if has_requests || required.request_state.is_some() {
        ResultKind::InputRequired(required)
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

    /// Returns the kind as one word, followed by the reason.
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
    fn result_type_determines_the_kind() {
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
    fn shortcut_for_complete_results_agrees_with_parsing() {
        let check = |result: &str, plain: bool| {
            assert_eq!(is_plainly_complete(result), plain, "{result}");
            let read = result_type(result).map(|name| name.is_none_or(|name| name == "complete"));
            // The shortcut never returns more than parsing the whole result would.
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
    fn only_three_methods_may_require_input() {
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
    fn task_requires_the_extension_and_a_tool_call() {
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
    fn input_requests_have_their_state() {
        let result = r#"{"resultType":"input_required","inputRequests":{"q":{"method":"roots/list"}},
            "requestState":"s\u0000"}"#;
        let ResultKind::InputRequired(required) = kind(MODERN, "tools/call", false, result) else {
            panic!("it asks");
        };
        assert_eq!(required.request_state.as_deref(), Some("s\0"));
        assert_eq!(required.input_requests.expect("input requests").len(), 1);
    }

    #[test]
    fn malformed_results_are_rejected_with_a_reason() {
        let check = |result: &str, expected: &str| {
            let shown = shown(kind(MODERN, "tools/call", true, result));
            assert!(
                shown.starts_with("malformed") && shown.contains(expected),
                "{result}: {shown}"
            );
        };
        for odd in ["[]", "null", "\"complete\"", " 3"] {
            check(odd, "not an object");
        }
        for odd in ["null", "1", "{}", "[\"complete\"]"] {
            check(&format!(r#"{{"resultType":{odd}}}"#), "not a string");
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
    fn every_result_of_an_earlier_revision_is_complete() {
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
        fn unknown_types_are_returned_unchanged(name in ".{0,12}") {
            prop_assume!(!["complete", "input_required", "task"].contains(&name.as_str()));
            let result = serde_json::json!({"a": [1], "resultType": name}).to_string();
            prop_assert_eq!(kind(MODERN, "tools/call", true, &result), ResultKind::Unknown(name));
        }
    }
}
