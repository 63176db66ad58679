use serde_json::json;

use super::*;
use crate::round_trip::check;

#[test]
fn missing_mode_means_form_and_round_trips() {
    let schema = json!({"type": "object", "properties": {}});
    for wire in [
        json!({"message": "m", "requestedSchema": schema}),
        json!({"mode": "form", "message": "m", "requestedSchema": schema, "task": {"ttl": 1}, "_meta": {}, "x": 1}),
    ] {
        let params = check::<ElicitRequestParams>(wire);
        assert!(matches!(params, ElicitRequestParams::Form(_)));
        assert_eq!(params.message(), "m");
    }
}

#[test]
fn url_params_round_trip_with_and_without_an_id() {
    for wire in [
        json!({"mode": "url", "message": "m", "url": "https://a/b"}),
        json!({"mode": "url", "message": "m", "url": "https://a/b", "elicitationId": "e", "later": [1]}),
    ] {
        assert!(matches!(
            check::<ElicitRequestParams>(wire),
            ElicitRequestParams::Url(_)
        ));
    }
}

#[test]
fn unknown_modes_and_missing_members_are_rejected() {
    for wire in [
        json!({"mode": "telepathy", "message": "m"}),
        json!({"mode": "form", "message": "m"}),
        json!({"mode": "url", "message": "m"}),
        json!({"mode": 1, "message": "m", "url": "https://a"}),
        json!([]),
        json!(["url"]),
    ] {
        let read = serde_json::from_value::<ElicitRequestParams>(wire.clone());
        assert!(read.is_err(), "{wire}");
    }
}

#[test]
fn typed_schema_round_trips_through_form_params() {
    let schema = ElicitSchema::new()
        .with_required("name", StringSchema::new())
        .with_optional("age", NumberSchema::integer());
    let params = ElicitRequestFormParams::new("who?", &schema);
    assert_eq!(params.schema().unwrap(), schema);
    assert_eq!(
        params.requested_schema.get(),
        r#"{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"}},"required":["name"]}"#
    );
    let invalid = ElicitRequestFormParams::new("who?", json!([1]));
    assert!(invalid.schema().is_err());
}

#[test]
fn results_round_trip() {
    check::<ElicitResult>(json!({"action": "accept"}));
    check::<ElicitResult>(json!({"action": "decline", "_meta": {"a": 1}, "later": 2}));
    check::<ElicitResult>(
        json!({"action": "accept", "content": {"s": "x", "i": 1, "f": 1.5, "b": true, "m": ["a", "b"]}}),
    );
}

#[test]
fn unknown_actions_are_errors_and_a_missing_action_is_cancel() {
    for (wire, expected) in [
        (json!({"action": "accept"}), Some(ElicitAction::Accept)),
        (json!({"action": "decline"}), Some(ElicitAction::Decline)),
        (json!({"action": "cancel"}), Some(ElicitAction::Cancel)),
        (json!({}), Some(ElicitAction::Cancel)),
        (json!({"action": "Accept"}), None),
        (json!({"action": "reject"}), None),
        (json!({"action": true}), None),
        (json!({"action": null}), None),
    ] {
        let result = serde_json::from_value::<ElicitResult>(wire.clone());
        assert_eq!(result.ok().map(|result| result.action), expected, "{wire}");
    }
}

#[test]
fn content_is_parsed_only_if_accepted() {
    type Content = std::collections::BTreeMap<String, u8>;
    let read = |result: ElicitResult| result.with_content([("n", 1)]).content_as::<Content>();
    assert_eq!(read(ElicitResult::accept()).unwrap().unwrap()["n"], 1);
    assert_eq!(read(ElicitResult::decline()).unwrap(), None);
    assert_eq!(read(ElicitResult::cancel()).unwrap(), None);
    assert_eq!(
        ElicitResult::accept().content_as::<Content>().unwrap(),
        None
    );
    let wrong = ElicitResult::accept().with_content([("n", "one")]);
    assert!(wrong.content_as::<Content>().is_err());
}

#[test]
fn types_of_2025_11_25_only_round_trip() {
    check::<ElicitationCompleteNotificationParams>(
        json!({"elicitationId": "e", "_meta": {"a": 1}}),
    );
    let data = URLElicitationRequiredData::new([
        ElicitRequestURLParams::new("m", "https://a").with_elicitation_id("e")
    ]);
    let wire = json!({
        "elicitations": [{"mode": "url", "message": "m", "url": "https://a", "elicitationId": "e"}],
    });
    assert_eq!(check::<URLElicitationRequiredData>(wire), data);
}
