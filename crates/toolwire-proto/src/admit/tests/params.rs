//! The values that an admitted request has from its parameters.

use serde_json::value::RawValue;
use toolwire_types::LoggingLevel;

use super::*;

#[test]
fn admitted_request_has_the_values_of_its_params() {
    let params = json!({
        "name": "add", "arguments": {"a": 1},
        "inputResponses": {"ok": {"action": "accept"}}, "requestState": "",
        "_meta": {
            "progressToken": "p", "traceparent": 5, meta_key::LOG_LEVEL: "info", meta_key::CLIENT_INFO: {"name": "n\n"},
        },
    });
    modern("tools/call", params).run(|outcome| {
        let admitted = outcome.expect("it is complete");
        assert_eq!(*admitted.id, 7.into());
        assert_eq!(admitted.method.name(), "tools/call");
        assert_eq!(admitted.name.as_deref(), Some("add"));
        assert!(matches!(admitted.name, Some(Cow::Borrowed(_))));
        assert_eq!(admitted.request_state().as_deref(), Some(""));
        assert_eq!(
            admitted.input_responses().map(RawValue::get),
            Some(r#"{"ok":{"action":"accept"}}"#)
        );
        assert_eq!(admitted.arguments().map(RawValue::get), Some(r#"{"a":1}"#));
        assert_eq!(admitted.progress_token(), Some("p".into()));
        assert_eq!(admitted.log_level, Some(LoggingLevel::Info));
        assert_eq!(
            admitted.client_capabilities().map(RawValue::get),
            Some("{}")
        );
    });
}

#[test]
fn input_responses_are_read_only_for_methods_that_may_request_input() {
    let with = |case: Case, member: &str, value: Value| {
        let mut case = case;
        case.params.get_or_insert_with(|| json!({}))[member] = value;
        case
    };
    for value in [json!([]), json!("x"), json!(5)] {
        check(
            with(
                modern("prompts/get", json!({"name": "p"})),
                "inputResponses",
                value.clone(),
            ),
            "-32602 400",
        );
        check(
            with(modern("tools/list", json!({})), "inputResponses", value),
            "2026-07-28 Modern",
        );
    }
    for value in [json!({}), json!(5)] {
        check(
            with(
                modern("resources/read", json!({"uri": "a:b"})),
                "requestState",
                value.clone(),
            ),
            "-32602 400",
        );
        let legacy = legacy("tools/call").negotiated("2025-11-25");
        check(with(legacy, "requestState", value), "2025-11-25 Legacy");
    }
    modern("tools/list", json!({"requestState": "s"})).run(|outcome| {
        let admitted = outcome.expect("an unrelated member is ignored");
        assert_eq!(admitted.request_state(), None);
    });
}
