use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const OWN: &str = concat!(
    r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
    r#""io.modelcontextprotocol/clientCapabilities":{"roots":{}},"#,
    r#""io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"}"#,
);

fn raw(text: &str) -> RawJson {
    RawJson::from_string(text.to_owned()).expect("JSON")
}

fn meta(text: &str) -> Meta {
    serde_json::from_str(text).expect("metadata")
}

fn on(version: ProtocolVersion) -> RequestMeta {
    let capabilities: ClientCapabilities =
        serde_json::from_value(json!({"roots": {}})).expect("capabilities");
    let info = Implementation::new("c", "1");
    RequestMeta::new(version, Some(&info), &capabilities)
}

fn check(version: ProtocolVersion, params: Option<&str>, extra: &str, expected: &str) {
    let params = params.map(raw);
    let written = on(version).params(params.as_ref(), &meta(extra));
    let expected = expected.replace("OWN", OWN);
    assert_eq!(written.expect("objects").get(), expected, "{version}");
}

const MODERN: ProtocolVersion = ProtocolVersion::V2026_07_28;
const LEGACY: ProtocolVersion = ProtocolVersion::V2025_11_25;

#[test]
fn modern_requests_always_have_the_members_of_the_protocol() {
    let check = |params, extra, expected| check(MODERN, params, extra, expected);
    check(None, "{}", r#"{"_meta":{OWN}}"#);
    check(Some("{}"), "{}", r#"{"_meta":{OWN}}"#);
    check(Some(" null "), "{}", r#"{"_meta":{OWN}}"#);
    check(
        Some(r#"{"name":"t","n":1.00}"#),
        "{}",
        r#"{"name":"t","n":1.00,"_meta":{OWN}}"#,
    );
    check(
        None,
        r#"{"progressToken":7}"#,
        r#"{"_meta":{"progressToken":7,OWN}}"#,
    );
    check(
        Some(r#" { "a": [ 1 ] } "#),
        r#"{"progressToken":"7","traceparent":"x"}"#,
        r#"{"a": [ 1 ],"_meta":{"progressToken":"7","traceparent":"x",OWN}}"#,
    );
    check(
        None,
        r#"{"io.modelcontextprotocol/logLevel":"info"}"#,
        r#"{"_meta":{"io.modelcontextprotocol/logLevel":"info",OWN}}"#,
    );
}

#[test]
fn legacy_requests_have_no_modern_member() {
    let modern =
        format!(r#"{{{OWN},"io.modelcontextprotocol/logLevel":"info","progressToken":7}}"#);
    let only_modern = format!("{{{OWN}}}");
    for version in ProtocolVersion::ALL {
        if version.is_modern() {
            continue;
        }
        let check = |params, extra, expected| check(version, params, extra, expected);
        check(None, "{}", "{}");
        check(Some(r#"{ "a":1 }"#), "{}", r#"{"a":1}"#);
        check(Some(r#"{"a":1}"#), &only_modern, r#"{"a":1}"#);
        check(None, &modern, r#"{"_meta":{"progressToken":7}}"#);
        let given = format!(r#"{{"a":1,"_meta":{modern}}}"#);
        check(Some(&given), "{}", r#"{"a":1,"_meta":{"progressToken":7}}"#);
        let given = format!(r#"{{"_meta":{only_modern},"a":1}}"#);
        check(Some(&given), "{}", r#"{"a":1}"#);
        check(Some(r#"{"a":1,"_meta":{}}"#), "{}", r#"{"a":1}"#);
        check(Some(r#"{"_meta":{}}"#), "{}", "{}");
    }
}

#[test]
fn protocol_members_override_the_caller_and_the_caller_overrides_the_parameters() {
    check(
        MODERN,
        Some(
            r#"{"_meta":{"x":1,"progressToken":1,"io.modelcontextprotocol/protocolVersion":"1"},"a":2}"#,
        ),
        r#"{"progressToken":2,"io.modelcontextprotocol/clientCapabilities":{},"y":3,
            "io.modelcontextprotocol/clientInfo":null}"#,
        r#"{"a":2,"_meta":{"x":1,"progressToken":2,"y":3,OWN}}"#,
    );
    check(
        LEGACY,
        Some(r#"{"_meta":{"progressToken":1,"x":[ ]}}"#),
        r#"{"progressToken":2}"#,
        r#"{"_meta":{"x":[ ],"progressToken":2}}"#,
    );
}

#[test]
fn only_the_top_level_counts_as_metadata_and_escaped_names_count() {
    check(
        LEGACY,
        Some(r#"{"arguments":{"_meta":{"x":1}},"name":"_meta"}"#),
        r#"{"y":2}"#,
        r#"{"arguments":{"_meta":{"x":1}},"name":"_meta","_meta":{"y":2}}"#,
    );
    check(
        LEGACY,
        Some(r#"{"\u005fmeta":{"x":1},"é\n\"":"\u0000"}"#),
        r#"{"a\"\n":2}"#,
        r#"{"é\n\"":"\u0000","_meta":{"x":1,"a\"\n":2}}"#,
    );
}

#[test]
fn client_without_info_leaves_it_to_the_caller() {
    let nameless = RequestMeta::new(MODERN, None, &ClientCapabilities::new());
    let own = concat!(
        r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
        r#""io.modelcontextprotocol/clientCapabilities":{}"#,
    );
    let written = nameless.params(None, &Meta::new()).expect("an object");
    assert_eq!(written.get(), format!(r#"{{"_meta":{{{own}}}}}"#));
    let named = r#""io.modelcontextprotocol/clientInfo":{"name":"p"}"#;
    let written = nameless.params(None, &meta(&format!("{{{named}}}")));
    assert_eq!(
        written.expect("an object").get(),
        format!(r#"{{"_meta":{{{named},{own}}}}}"#)
    );
    assert_eq!(nameless.version(), MODERN);
}

#[test]
fn values_other_than_objects_are_rejected() {
    let check = |params: &str, expected| {
        for version in [MODERN, LEGACY] {
            let written = on(version).params(Some(&raw(params)), &Meta::new());
            assert_eq!(written, Err(expected), "{params}");
        }
    };
    for params in ["[]", "1", "\"{}\"", "true"] {
        check(params, NotAnObject::Params);
    }
    for value in ["null", "[]", "1", "\"x\""] {
        check(&format!(r#"{{"_meta":{value}}}"#), NotAnObject::Meta);
    }
    assert!(NotAnObject::Params.to_string().contains("parameters"));
    assert!(NotAnObject::Meta.to_string().contains("_meta"));
}

#[test]
fn parameters_without_metadata_cost_one_allocation_of_the_right_size() {
    for version in [MODERN, LEGACY] {
        for params in [None, Some("{}"), Some(r#"{"a":1}"#), Some(r#"{ "a":"é" }"#)] {
            for extra in ["{}", r#"{"progressToken":1}"#, r#"{"a":1,"b":"c","d":[]}"#] {
                let params = params.map(raw);
                let text = on(version)
                    .params_text(params.as_ref(), &meta(extra))
                    .expect("objects");
                assert_eq!(text.capacity(), text.len(), "{text}");
            }
        }
    }
}

#[test]
fn deep_parameters_are_copied_without_parsing() {
    let deep = format!(
        r#"{{"_meta":{{}},"a":{}{}}}"#,
        "[".repeat(50_000),
        "]".repeat(50_000)
    );
    let written = on(LEGACY).params(Some(&raw(&deep)), &Meta::new());
    assert_eq!(
        written.expect("an object").get().len(),
        deep.len() - r#""_meta":{},"#.len()
    );
}

#[test]
fn capabilities_are_limited_to_the_revision() {
    let all = json!({
        "roots": {"listChanged": true}, "sampling": {"context": {}, "tools": {}},
        "elicitation": {"form": {}, "url": {}}, "tasks": {"list": {}},
        "extensions": {"a/b": {}}, "experimental": {"e": {}},
    });
    let expected = [
        json!({"roots": {"listChanged": true}, "sampling": {}, "experimental": {"e": {}}}),
        json!({"roots": {"listChanged": true}, "sampling": {}, "experimental": {"e": {}}}),
        json!({"roots": {"listChanged": true}, "sampling": {}, "elicitation": {}, "experimental": {"e": {}}}),
        // 2025-11-25 has no `extensions` in its schema, but peers of that revision use it.
        all.clone(),
        json!({
            "roots": {}, "sampling": {"context": {}, "tools": {}}, "elicitation": {"form": {}, "url": {}},
            "extensions": {"a/b": {}}, "experimental": {"e": {}},
        }),
    ];
    let declared: ClientCapabilities = serde_json::from_value(all).expect("capabilities");
    for (version, expected) in ProtocolVersion::ALL.into_iter().zip(expected) {
        let projected = capabilities_for(version, &declared);
        let projected = serde_json::to_value(projected).expect("plain data");
        assert_eq!(projected, expected, "{version}");
    }
    let url: ClientCapabilities =
        serde_json::from_value(json!({"elicitation": {"url": {}}})).expect("capabilities");
    let projected = capabilities_for(ProtocolVersion::V2025_06_18, &url);
    assert_eq!(projected, ClientCapabilities::new());
}

#[test]
fn tasks_extension_is_declared_only_where_it_is_defined() {
    let tasks = "io.modelcontextprotocol/tasks";
    let declared = ClientCapabilities::new().with_extension(tasks, json!({}));
    let both = declared.clone().with_extension("a/b", json!({}));
    for version in ProtocolVersion::ALL {
        let projected = capabilities_for(version, &declared);
        let is_modern = version == ProtocolVersion::V2026_07_28;
        assert_eq!(projected.extension(tasks).is_some(), is_modern, "{version}");
        assert_eq!(projected.extensions.is_some(), is_modern, "{version}");
        let others = capabilities_for(version, &both).extension("a/b").is_some();
        assert_eq!(others, version >= ProtocolVersion::V2025_11_25, "{version}");
    }
}

fn object() -> impl Strategy<Value = Value> {
    let name = prop_oneof!["[a-c]", "_meta", ".{0,3}"];
    let value = prop_oneof![
        any::<i32>().prop_map(Value::from),
        ".{0,5}".prop_map(Value::from),
        Just(json!({"_meta": {"z": 1}})),
    ];
    proptest::collection::hash_map(name, value, 0..5)
        .prop_map(|members| Value::Object(members.into_iter().collect()))
}

proptest! {
    /// The text equals the merge of three trees.
    #[test]
    fn writing_text_equals_merging_trees(mut params in object(), own in proptest::option::of(object()), extra in object()) {
        let members = params.as_object_mut().expect("an object");
        members.remove("_meta");
        let mut expected = members.clone();
        if let Some(own) = &own {
            members.insert("_meta".to_owned(), own.clone());
        }
        let mut merged = own.unwrap_or_else(|| json!({}));
        let merged = merged.as_object_mut().expect("an object");
        merged.extend(extra.as_object().expect("an object").clone());
        merged.extend(serde_json::from_str::<serde_json::Map<_, _>>(&format!("{{{OWN}}}")).expect("members"));
        expected.insert("_meta".to_owned(), Value::Object(merged.clone()));

        let params = serde_json::to_string_pretty(&params).expect("JSON");
        let extra = meta(&extra.to_string());
        let written = on(MODERN).params(Some(&raw(&params)), &extra).expect("objects");
        prop_assert_eq!(written.to_value().expect("JSON"), Value::Object(expected));
    }
}
