use serde_json::{Value, json};

use super::*;
use crate::elicitation::ElicitAction;
use crate::round_trip::check;
use crate::sampling::SamplingMessage;

#[test]
fn every_method_of_input_request_round_trips() {
    let check = |wire: Value, method: &str| {
        assert_eq!(check::<InputRequest>(wire).method(), method);
    };
    check(
        json!({"method": "elicitation/create", "params": {
            "mode": "form", "message": "m", "requestedSchema": {"type": "object", "properties": {"n": {"const": 1.0}}},
        }}),
        ELICITATION,
    );
    check(
        json!({"method": "elicitation/create", "params": {"mode": "url", "message": "m", "url": "https://a"}}),
        ELICITATION,
    );
    check(
        json!({"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}}),
        SAMPLING,
    );
    check(json!({"method": "roots/list"}), ROOTS);
    check(
        json!({"method": "roots/list", "params": {"_meta": {"a": 1}}}),
        ROOTS,
    );
    check(
        json!({"method": "x/later", "params": [1, {"b": null}]}),
        "x/later",
    );
    check(json!({"method": "x/later"}), "x/later");
}

#[test]
fn malformed_input_requests_are_rejected() {
    for wire in [
        json!({}),
        json!({"method": 1}),
        json!({"method": "elicitation/create"}),
        json!({"method": "sampling/createMessage", "params": null}),
        json!({"method": "roots/list", "params": "x"}),
        json!("roots/list"),
    ] {
        assert!(
            serde_json::from_value::<InputRequest>(wire.clone()).is_err(),
            "{wire}"
        );
    }
}

#[test]
fn input_requests_preserve_the_order_of_the_server() {
    let text = r#"{"z":{"method":"roots/list"},"a":{"method":"b/c"},"m":{"method":"roots/list"}}"#;
    let mut requests: InputRequests = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::to_string(&requests).unwrap(), text);
    requests.retain(|_, request| request.method() == ROOTS);
    let keys: Vec<_> = requests.iter().map(|(key, _)| key).collect();
    assert_eq!(keys, ["z", "m"]);
    assert!(requests.remove("z").is_some() && requests.get("m").is_some());
    assert_eq!(requests.values_mut().count(), 1);
    assert_eq!(requests.into_iter().collect::<InputRequests>().len(), 1);
}

#[test]
fn input_requests_that_are_not_an_object_are_empty() {
    for text in ["[]", "null", "1", r#""x""#] {
        let requests: InputRequests = serde_json::from_str(text).unwrap();
        assert!(requests.is_empty(), "{text}");
    }
}

#[test]
fn input_required_results_round_trip() {
    check::<InputRequiredResult>(json!({"resultType": "input_required", "requestState": ""}));
    check::<InputRequiredResult>(json!({
        "resultType": "input_required", "inputRequests": {"a": {"method": "roots/list"}}, "requestState": "s",
        "_meta": {"b": 1}, "later": 2,
    }));
}

#[test]
fn input_responses_are_parsed_by_type() {
    let responses = check::<InputResponses>(json!({
        "e": {"action": "accept", "content": {"n": 1}},
        "s": {"role": "assistant", "content": {"type": "text", "text": "t"}, "model": "m"},
        "r": {"roots": []},
    }));
    let elicited = responses.elicitation("e").unwrap().unwrap();
    assert_eq!(elicited.action, ElicitAction::Accept);
    assert_eq!(responses.sampling("s").unwrap().unwrap().model, "m");
    assert!(responses.roots("r").unwrap().unwrap().roots.is_empty());
    assert!(responses.roots("absent").unwrap().is_none());
    assert!(responses.sampling("r").is_err());
    assert_eq!(responses.len(), 3);
}

#[test]
fn built_values_serialize_to_wire_format() {
    let result = InputRequiredResult::new()
        .with_input_request("u", ElicitRequestURLParams::new("m", "https://a"))
        .with_input_request(
            "s",
            CreateMessageRequestParams::new([SamplingMessage::user("q")], 1),
        )
        .with_input_request("r", InputRequest::roots())
        .with_request_state("state");
    assert_eq!(
        serde_json::to_value(result).unwrap(),
        json!({
            "resultType": "input_required",
            "inputRequests": {
                "u": {"method": "elicitation/create", "params": {"mode": "url", "message": "m", "url": "https://a"}},
                "s": {"method": "sampling/createMessage", "params": {
                    "messages": [{"role": "user", "content": {"type": "text", "text": "q"}}], "maxTokens": 1,
                }},
                "r": {"method": "roots/list"},
            },
            "requestState": "state",
        })
    );
    let mut responses: InputResponses = [("r", json!({"roots": []}))].into_iter().collect();
    assert!(
        responses
            .insert("e", json!({"action": "decline"}))
            .is_none()
    );
    assert_eq!(responses.iter().count(), 2);
    assert!(!responses.is_empty());
}
