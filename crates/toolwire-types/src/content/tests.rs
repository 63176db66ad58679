use serde_json::json;

use super::*;
use crate::implementation::Role;
use crate::resources::TextResourceContents;
use crate::round_trip::check;

#[test]
fn every_type_of_block_round_trips() {
    assert!(matches!(
        check(json!({"type": "text", "text": "hi"})),
        ContentBlock::Text(_)
    ));
    assert!(matches!(
        check(json!({"type": "image", "data": "AA==", "mimeType": "image/png"})),
        ContentBlock::Image(_)
    ));
    assert!(matches!(
        check(json!({"type": "audio", "data": "AA==", "mimeType": "audio/wav"})),
        ContentBlock::Audio(_)
    ));
    assert!(matches!(
        check(json!({"type": "resource_link", "uri": "a:b", "name": "b"})),
        ContentBlock::ResourceLink(_)
    ));
    assert!(matches!(
        check(json!({"type": "resource", "resource": {"uri": "a:b", "text": "x"}})),
        ContentBlock::Resource(_)
    ));
}

#[test]
fn optional_and_unknown_members_round_trip() {
    for block in [
        json!({"type": "text", "text": "hi"}),
        json!({"type": "image", "data": "AA==", "mimeType": "image/png"}),
        json!({"type": "audio", "data": "AA==", "mimeType": "audio/wav"}),
        json!({"type": "resource_link", "uri": "a:b", "name": "b", "title": "B", "description": "d",
               "mimeType": "a/b", "size": 9, "icons": [{"src": "data:,"}]}),
        json!({"type": "resource", "resource": {"uri": "a:b", "blob": "AA==", "_meta": {"k": null}}}),
    ] {
        let mut sample = block;
        sample["annotations"] = json!({"audience": ["user", "assistant"], "priority": 0.5});
        sample["_meta"] = json!({"com.example/k": [1, "two"]});
        sample["later"] = json!({"nested": [null]});
        check::<ContentBlock>(sample);
    }
}

#[test]
fn block_of_unknown_type_round_trips_byte_for_byte() {
    let text = r#"{ "type":"hologram", "z":1.0, "a":{"y":1,"x":2} }"#;
    let block: ContentBlock = serde_json::from_str(text).unwrap();
    assert!(matches!(block, ContentBlock::Unknown(_)));
    assert_eq!(serde_json::to_string(&block).unwrap(), text);
}

#[test]
fn block_of_unknown_type_round_trips_among_known_blocks() {
    check::<Vec<ContentBlock>>(json!([
        {"type": "text", "text": "a"}, {"type": "later", "x": {}}, {"type": "text", "text": "b"},
    ]));
}

#[test]
fn malformed_blocks_are_rejected() {
    for invalid in [
        "null",
        r#""text""#,
        r#"["text", "hi"]"#,
        r#"{"text":"no type"}"#,
        r#"{"type":1}"#,
        r#"{"type":"text"}"#,
        r#"{"type":"text","type":"image","text":""}"#,
        r#"{"type":"image","data":"AA=="}"#,
        r#"{"type":"resource","resource":"a:b"}"#,
    ] {
        let result = serde_json::from_str::<ContentBlock>(invalid);
        assert!(result.is_err(), "{invalid}");
    }
}

#[test]
fn content_of_another_type_is_rejected() {
    assert!(serde_json::from_str::<TextContent>(r#"{"type":"image","text":""}"#).is_err());
    assert!(serde_json::from_str::<TextContent>(r#"{"text":""}"#).is_err());
}

#[test]
fn deep_nesting_does_not_overflow_the_stack() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let known = format!(r#"{{"type":"text","text":"","later":{deep}}}"#);
    assert!(serde_json::from_str::<ContentBlock>(&known).is_err());
    let unknown = format!(r#"{{"type":"later","later":{deep}}}"#);
    let block: ContentBlock = serde_json::from_str(&unknown).unwrap();
    assert_eq!(serde_json::to_string(&block).unwrap(), unknown);
}

#[test]
fn constructors_serialize_to_wire_format() {
    let built = [
        ContentBlock::from("hi"),
        ContentBlock::image("AA==", "image/png"),
        ContentBlock::audio("AA==", "audio/wav"),
        ContentBlock::resource_link("a:b", "b"),
        ContentBlock::resource(TextResourceContents::new("a:b", "x")),
        TextContent::new("for you")
            .with_annotations(Annotations::new().with_audience([Role::User]))
            .into(),
    ];
    assert_eq!(
        serde_json::to_value(&built).unwrap(),
        json!([
            {"type": "text", "text": "hi"},
            {"type": "image", "data": "AA==", "mimeType": "image/png"},
            {"type": "audio", "data": "AA==", "mimeType": "audio/wav"},
            {"type": "resource_link", "uri": "a:b", "name": "b"},
            {"type": "resource", "resource": {"uri": "a:b", "text": "x"}},
            {"type": "text", "text": "for you", "annotations": {"audience": ["user"]}},
        ])
    );
    assert_eq!(built[0].as_text(), Some("hi"));
    assert_eq!(built[1].as_text(), None);
}

#[test]
fn position_of_the_type_member_does_not_matter() {
    let read = |text: &str| serde_json::from_str::<ContentBlock>(text);
    let check = |first: &str, later: &str| {
        assert_eq!(read(first).unwrap(), read(later).unwrap(), "{first}");
    };
    check(
        r#"{"type":"text","text":"a"}"#,
        r#"{"text":"a","type":"text"}"#,
    );
    check(
        r#"{"type":"resource_link","uri":"a:b","name":"b"}"#,
        r#"{"uri":"a:b", "name":"b", "type":"resource_link"}"#,
    );
    check(
        r#"{"type":"te\u0078t","text":"a"}"#,
        r#"{ "type": "text", "text": "a" }"#,
    );
    for invalid in [
        r#"{"type":"text"}"#,
        r#"{"type":"text","text":"a","type":"image"}"#,
        r#"{"type":"image","text":"a"}"#,
    ] {
        assert!(read(invalid).is_err(), "{invalid}");
    }
}
