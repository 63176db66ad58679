use serde_json::{Value, json};

use super::*;
use crate::implementation::Icon;
use crate::round_trip::check;

#[test]
fn tools_of_every_revision_round_trip() {
    let schema =
        json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]});
    check::<Tool>(json!({"name": "add", "inputSchema": schema}));
    check::<Tool>(json!({
        "name": "add", "title": "Add", "description": "adds", "inputSchema": schema,
        "outputSchema": {"type": "integer"}, "annotations": {
            "title": "A", "readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false,
            "costHint": "low"
        },
        "execution": {"taskSupport": "optional", "later": 1}, "icons": [{"src": "data:,"}],
        "_meta": {"com.example/a": null}, "later": [1],
    }));
    check::<ToolExecution>(json!({"taskSupport": "sometimes"}));
}

#[test]
fn schemas_round_trip_byte_for_byte() {
    let text = r#"{"name":"add","inputSchema":{ "type":"object", "properties":{"z":{},"a":{"minimum":1.0}} }}"#;
    let tool: Tool = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::to_string(&tool).unwrap(), text);
}

#[test]
fn lists_and_calls_of_every_revision_round_trip() {
    check::<ListToolsResult>(json!({"tools": []}));
    check::<ListToolsResult>(json!({
        "resultType": "complete", "tools": [{"name": "a", "inputSchema": {"type": "object"}}], "nextCursor": "2",
        "ttlMs": 1000, "cacheScope": "private", "_meta": {"a": 1}, "later": 1,
    }));
    check::<CallToolRequestParams>(json!({"name": "add"}));
    check::<CallToolRequestParams>(json!({
        "name": "add", "arguments": {"b": 1, "a": [2.0]}, "task": {"ttl": 1000}, "_meta": {"progressToken": 1},
    }));
    check::<CallToolRequestParams>(json!({
        "name": "add", "arguments": {}, "requestState": "s", "inputResponses": {"q": {"action": "cancel"}},
        "_meta": {"progressToken": "1"},
    }));
}

#[test]
fn structured_content_of_any_type_round_trips() {
    for value in [
        json!(null),
        json!({}),
        json!([1]),
        json!("x"),
        json!(false),
        json!(1.5),
    ] {
        let sample = json!({"content": [], "structuredContent": value});
        let result: CallToolResult = check(sample);
        assert_eq!(result.structured_content, Some(value.into()));
    }
    let without: CallToolResult = check(json!({"content": []}));
    assert_eq!(without.structured_content, None);
}

#[test]
fn result_round_trips_with_unknown_members_and_content() {
    check::<CallToolResult>(json!({
        "resultType": "complete", "content": [{"type": "later", "x": 1}], "isError": false, "_meta": {},
        "validator": {"etag": "1"},
    }));
}

#[test]
fn missing_content_parses_as_empty() {
    let result: CallToolResult = serde_json::from_str(r#"{"structuredContent":{"a":1}}"#).unwrap();
    assert_eq!(result.content, []);
}

#[test]
fn constructors_serialize_to_wire_format() {
    let expect = |result: CallToolResult, expected: Value| {
        assert_eq!(serde_json::to_value(result).unwrap(), expected);
    };
    expect(
        CallToolResult::text("ok").with_content("more"),
        json!({"content": [{"type": "text", "text": "ok"}, {"type": "text", "text": "more"}]}),
    );
    expect(
        CallToolResult::error("no such city"),
        json!({"content": [{"type": "text", "text": "no such city"}], "isError": true}),
    );
    expect(
        CallToolResult::structured(&json!({"sum": 3})).unwrap(),
        json!({"content": [{"type": "text", "text": "{\"sum\":3}"}], "structuredContent": {"sum": 3}}),
    );
    let tool = Tool::new("add", json!({"type": "object"}))
        .with_title("Add")
        .with_icon(Icon::new("data:,"))
        .with_execution(ToolExecution::new(TaskSupport::Required))
        .with_annotations(ToolAnnotations::new().with_read_only(true));
    assert_eq!(
        serde_json::to_value(tool).unwrap(),
        json!({
            "name": "add", "title": "Add", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true},
            "execution": {"taskSupport": "required"}, "icons": [{"src": "data:,"}],
        })
    );
}

#[test]
fn call_response_is_parsed_by_result_type() {
    let task = json!({
        "taskId": "t", "status": "working", "createdAt": "2025-11-25T10:00:00Z",
        "lastUpdatedAt": "2025-11-25T10:00:00Z", "ttl": null,
    });
    assert!(matches!(
        check(json!({"content": []})),
        CallToolResponse::Complete(_)
    ));
    assert!(matches!(
        check(json!({"resultType": "complete", "content": []})),
        CallToolResponse::Complete(_)
    ));
    assert!(matches!(
        check(json!({"content": [], "task": "an unknown member"})),
        CallToolResponse::Complete(_)
    ));
    assert!(matches!(
        check(json!({"resultType": "input_required", "requestState": "s"})),
        CallToolResponse::InputRequired(_)
    ));
    assert!(matches!(
        check(json!({"task": task, "_meta": {}})),
        CallToolResponse::LegacyTask(_)
    ));
    assert!(matches!(
        check(json!({
            "resultType": "task", "taskId": "t", "status": "working", "createdAt": "2026-07-28T10:00:00Z",
            "lastUpdatedAt": "2026-07-28T10:00:00Z", "ttlMs": 60000,
        })),
        CallToolResponse::Task(_)
    ));
}

#[test]
fn unknown_result_type_is_rejected() {
    for invalid in [
        r#"{"resultType":"later","content":[]}"#,
        r#"{"resultType":7,"content":[]}"#,
        "null",
        "[]",
    ] {
        assert!(serde_json::from_str::<CallToolResponse>(invalid).is_err());
    }
}

#[test]
fn result_is_readable_as_text_and_as_structured_content() {
    let image = ContentBlock::image("AA==", "image/png");
    let result = CallToolResult::text("one")
        .with_content(image)
        .with_content(ContentBlock::text("two"));
    assert_eq!(result.all_text(), "one\ntwo");
    assert_eq!(CallToolResult::default().all_text(), "");

    let missing = result.structured_content_as::<Value>().unwrap_err();
    assert!(missing.to_string().contains("no structured content"));
    let null = CallToolResult::default().with_structured_content(Value::Null);
    assert_eq!(null.structured_content_as::<Value>().unwrap(), Value::Null);
    let data = CallToolResult::structured(&json!({"n": 1})).unwrap();
    assert!(data.structured_content_as::<Vec<u8>>().is_err());
}
