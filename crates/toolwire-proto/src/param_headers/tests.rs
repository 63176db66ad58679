use std::collections::HashMap;

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn raw(value: Value) -> RawJson {
    RawJson::from(value)
}

fn region() -> Vec<ParamHeader> {
    vec![ParamHeader {
        header: "Mcp-Param-Region".to_owned(),
        path: vec!["region".to_owned()],
        kind: ParamKind::String,
    }]
}

#[test]
fn annotations_are_found_along_properties() {
    let schema = raw(json!({
        "type": "object",
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "count": {"type": "integer", "x-mcp-header": "count"},
            "where": {"properties": {"dry": {"type": "boolean", "x-mcp-header": "X-Dry!"}}},
            "query": {"type": "string"},
            "anything": true,
            "x-mcp-header": {"type": "string"},
            "properties": {"properties": {"deep": {"type": "string", "x-mcp-header": "Deep"}}},
        },
        "default": {"x-mcp-header": ""},
        "examples": [{"x-mcp-header": ""}],
        "enum": [{"x-mcp-header": ""}],
        "const": {"x-mcp-header": ""},
    }));
    let found = validate(&schema).unwrap();
    let mut summary: Vec<_> = found
        .iter()
        .map(|found| (found.header.as_str(), found.path.join("/"), found.kind))
        .collect();
    summary.sort_unstable_by_key(|(header, ..)| *header);
    assert_eq!(
        summary,
        [
            (
                "Mcp-Param-Deep",
                "properties/deep".to_owned(),
                ParamKind::String
            ),
            ("Mcp-Param-Region", "region".to_owned(), ParamKind::String),
            (
                "Mcp-Param-X-Dry!",
                "where/dry".to_owned(),
                ParamKind::Boolean
            ),
            ("Mcp-Param-count", "count".to_owned(), ParamKind::Integer),
        ]
    );
    assert_eq!(collect(&schema), found);
    let top: Vec<_> = top_level(&schema).into_iter().collect();
    assert_eq!(
        top,
        [
            ("count".to_owned(), "Mcp-Param-count".to_owned()),
            ("region".to_owned(), "Mcp-Param-Region".to_owned()),
        ]
    );
}

#[test]
fn schemas_without_annotations_are_fine() {
    for schema in [
        json!({}),
        json!(true),
        json!(null),
        json!({"properties": 7, "items": 7}),
    ] {
        assert_eq!(validate(&raw(schema)), Ok(Vec::new()));
    }
}

#[test]
fn invalid_annotations_are_rejected_with_the_property_and_the_reason() {
    #[track_caller]
    fn check(property: &Value, expected: &str) {
        let schema = raw(json!({"properties": {
            "good": {"type": "string", "x-mcp-header": "Good"},
            "outer": {"properties": {"inner": property}},
        }}));
        let reason = validate(&schema).unwrap_err().to_string();
        assert!(
            reason.contains("outer.inner") && reason.contains(expected),
            "{reason}"
        );
        assert_eq!(collect(&schema).len(), 1, "only the good one");
    }
    let string = |name: &str| json!({"type": "string", "x-mcp-header": name});
    check(&string(""), "empty");
    check(&string("a b"), "token");
    check(&string("a:b"), "token");
    check(&string("é"), "token");
    check(&string("a\r\nb"), "control");
    check(&string("a\n"), "control");
    check(&string("\u{7f}"), "control");
    check(&string("GOOD"), "repeats");
    check(&json!({"type": "string", "x-mcp-header": 7}), "string");
    check(&json!({"type": "string", "x-mcp-header": null}), "string");
    check(&json!({"type": "number", "x-mcp-header": "N"}), "type");
    check(&json!({"type": "object", "x-mcp-header": "N"}), "type");
    check(&json!({"type": "array", "x-mcp-header": "N"}), "type");
    check(&json!({"type": "null", "x-mcp-header": "N"}), "type");
    check(
        &json!({"type": ["string", "null"], "x-mcp-header": "N"}),
        "type",
    );
    check(&json!({"x-mcp-header": "N"}), "type");
}

#[test]
fn annotations_outside_of_properties_are_rejected() {
    #[track_caller]
    fn check(keyword: &str, value: &Value) {
        for schema in [
            json!({ keyword: value }),
            json!({"properties": {"outer": { keyword: value }}}),
        ] {
            let reason = validate(&raw(schema.clone())).unwrap_err().to_string();
            assert!(
                reason.contains(keyword) && reason.contains("`properties` alone"),
                "{reason}"
            );
            assert_eq!(collect(&raw(schema)), Vec::new());
        }
    }
    let annotated = json!({"type": "string", "x-mcp-header": "N"});
    let below = json!({"properties": {"a": annotated}});
    for keyword in [
        "items",
        "additionalItems",
        "unevaluatedItems",
        "contains",
        "not",
        "if",
        "then",
        "else",
        "additionalProperties",
        "unevaluatedProperties",
        "propertyNames",
        "contentSchema",
    ] {
        check(keyword, &annotated);
        check(keyword, &below);
    }
    for keyword in ["items", "prefixItems", "allOf", "anyOf", "oneOf"] {
        check(keyword, &json!([{}, annotated]));
        check(keyword, &json!([{}, below]));
    }
    for keyword in [
        "$defs",
        "definitions",
        "patternProperties",
        "dependentSchemas",
        "dependencies",
    ] {
        check(keyword, &json!({ "b": annotated }));
        check(keyword, &json!({ "b": below }));
    }
    assert!(
        validate(&raw(annotated)).is_err(),
        "the root is no property"
    );
}

#[test]
fn hostile_schemas_are_rejected_cheaply() {
    let deep = format!("{}{}", r#"{"items":"#.repeat(50_000), "{}") + &"}".repeat(50_000);
    let deep = RawJson::from_string(deep).unwrap();
    assert!(validate(&deep).is_err());
    assert_eq!(collect(&deep), Vec::new());

    let many = |count: usize| {
        let properties: serde_json::Map<_, _> = (0..count)
            .map(|index| {
                let property = json!({"type": "string", "x-mcp-header": format!("H{index}")});
                (format!("p{index}"), property)
            })
            .collect();
        json!({ "properties": properties })
    };
    assert_eq!(validate(&raw(many(MAX_PARAM_HEADERS))).unwrap().len(), 64);
    assert!(validate(&raw(many(MAX_PARAM_HEADERS + 1))).is_err());
    assert_eq!(collect(&raw(many(MAX_PARAM_HEADERS + 1))).len(), 64);

    // Copying the long name for each of its children would take gigabytes.
    let long_name = raw(json!({"properties": {"é".repeat(500_000): many(10_000)}}));
    assert!(validate(&long_name).unwrap_err().to_string().len() < 500);
    assert_eq!(collect(&long_name), Vec::new());
}

#[test]
fn arguments_are_mirrored_by_their_actual_type() {
    #[track_caller]
    fn check(value: &Value, expected: Option<&str>) {
        let mirrored = mirror(&region(), &raw(json!({ "region": value }))).unwrap();
        let mirrored = mirrored.first().map(|(_, value)| value.as_str());
        assert_eq!(mirrored, expected);
    }
    check(&json!("us-west1"), Some("us-west1"));
    check(&json!(""), Some(""));
    check(&json!("a\r\nb"), Some("=?base64?YQ0KYg==?="));
    check(&json!(42), Some("42"));
    check(&json!(-7), Some("-7"));
    check(&json!(42.0), Some("42"));
    check(&json!(-0.0), Some("0"));
    check(&json!(9_007_199_254_740_991_i64), Some("9007199254740991"));
    check(
        &json!(-9_007_199_254_740_991_i64),
        Some("-9007199254740991"),
    );
    check(&json!(true), Some("true"));
    check(&json!(false), Some("false"));
    check(&json!(null), None);
}

#[test]
fn absent_arguments_have_no_header() {
    let mirrored = mirror(&region(), &raw(json!({"region": "a", "other": "b"})));
    let expected = ("Mcp-Param-Region".to_owned(), "a".to_owned());
    assert_eq!(mirrored, Ok(vec![expected]));
    for arguments in [json!({}), json!(null), json!([]), json!("region")] {
        assert_eq!(mirror(&region(), &raw(arguments)), Ok(Vec::new()));
    }

    let nested = vec![ParamHeader {
        path: vec!["a".to_owned(), "b".to_owned()],
        ..region().remove(0)
    }];
    assert_eq!(
        mirror(&nested, &raw(json!({"a": {"b": 1}}))).unwrap().len(),
        1
    );
    for arguments in [
        json!({"a": 7}),
        json!({"a.b": 1}),
        json!({"b": 1}),
        json!({"a": [1]}),
    ] {
        assert_eq!(mirror(&nested, &raw(arguments)), Ok(Vec::new()));
    }
}

#[test]
fn arguments_that_do_not_fit_a_header_are_errors() {
    for value in [
        json!(1.5),
        json!(9_007_199_254_740_992_i64),
        json!(-9_007_199_254_740_992_i64),
        json!(u64::MAX),
        json!(1e300),
        json!([]),
        json!({}),
    ] {
        let error = mirror(&region(), &raw(json!({ "region": value }))).unwrap_err();
        assert_eq!(error.path, "region");
        assert_eq!(ErrorObject::from(error).code, -32020);
    }
}

#[test]
fn headers_and_body_must_agree() {
    use HeaderLookup::{Absent, One, Repeated, Unreadable};
    use MismatchReason as Reason;

    #[track_caller]
    fn check_value(value: &Value, lookup: HeaderLookup<'_>, expected: Result<(), MismatchReason>) {
        let arguments = raw(json!({ "region": value }));
        let outcome = check(&region(), Some(arguments.as_raw_value()), |name| {
            assert_eq!(name, "Mcp-Param-Region");
            lookup
        });
        assert_eq!(outcome.map_err(|mismatch| mismatch.reason), expected);
    }
    check_value(&json!("a"), One("a"), Ok(()));
    check_value(&json!("a"), One(" a\t"), Ok(()));
    check_value(&json!("a"), One("=?base64?YQ==?="), Ok(()));
    check_value(&json!(""), One(""), Ok(()));
    check_value(&json!("é"), One("=?base64?w6k=?="), Ok(()));
    check_value(&json!("a"), One("A"), Err(Reason::Different));
    check_value(&json!("a"), One("=?base64?YQ?="), Err(Reason::Undecodable));
    check_value(
        &json!("a"),
        One("=?base64?/w==?="),
        Err(Reason::Undecodable),
    );
    check_value(&json!("é"), One("é"), Err(Reason::Undecodable));
    check_value(&json!("a"), Absent, Err(Reason::Missing));
    check_value(&json!("a"), Unreadable, Err(Reason::Undecodable));
    check_value(&json!("a"), Repeated, Err(Reason::Repeated));
    check_value(&json!(null), Absent, Ok(()));
    check_value(&json!(null), One("null"), Err(Reason::Unexpected));
    check_value(&json!(null), One(""), Err(Reason::Unexpected));
    check_value(&json!(null), Repeated, Err(Reason::Repeated));
    check_value(&json!("42"), One("42.0"), Err(Reason::Different));
    check_value(&json!(42), One("42"), Ok(()));
    check_value(&json!(42), One("42.0"), Ok(()));
    check_value(&json!(42.0), One("42"), Ok(()));
    check_value(&json!(42), One("4.2e1"), Ok(()));
    check_value(&json!(42), One("=?base64?NDI=?="), Ok(()));
    check_value(
        &json!(42),
        One("=?base64?IDQyIA==?="),
        Err(Reason::Different),
    );
    check_value(&json!(42), One("43"), Err(Reason::Different));
    check_value(&json!(42), One("+42"), Err(Reason::Different));
    check_value(&json!(42), One("0x2a"), Err(Reason::Different));
    check_value(&json!(42), One(""), Err(Reason::Different));
    check_value(&json!(42), One("42.5"), Err(Reason::Different));
    check_value(&json!(0), One("NaN"), Err(Reason::Different));
    check_value(&json!(true), One("true"), Ok(()));
    check_value(&json!(true), One("True"), Err(Reason::Different));
    check_value(&json!(false), One("0"), Err(Reason::Different));
    check_value(&json!(1.5), One("1.5"), Err(Reason::Incomparable));
    check_value(
        &json!(9_007_199_254_740_993_i64),
        One("9007199254740993"),
        Err(Reason::Incomparable),
    );
    check_value(&json!([]), One("[]"), Err(Reason::Incomparable));
    check_value(&json!({}), Absent, Err(Reason::Missing));
}

#[test]
fn call_without_arguments_must_not_have_the_header() {
    assert_eq!(check(&region(), None, |_| HeaderLookup::Absent), Ok(()));
    let mismatch = check(&region(), None, |_| HeaderLookup::One("a")).unwrap_err();
    let error = ErrorObject::from(mismatch);
    assert_eq!(error.code, -32020);
    assert!(error.message.contains("Mcp-Param-Region"));
}

proptest! {
    #[test]
    fn mirrored_arguments_pass_the_check(
        text in any::<String>(),
        number in -MAX_SAFE_INTEGER..=MAX_SAFE_INTEGER,
        flag in any::<bool>(),
    ) {
        let schema = raw(json!({"properties": {
            "text": {"type": "string", "x-mcp-header": "Text"},
            "in": {"properties": {"number": {"type": "integer", "x-mcp-header": "Number"}}},
            "flag": {"type": "boolean", "x-mcp-header": "Flag"},
            "gone": {"type": "boolean", "x-mcp-header": "Gone"},
        }}));
        let headers = validate(&schema).unwrap();
        let arguments = raw(json!({"text": text, "in": {"number": number}, "flag": flag}));
        let sent: HashMap<_, _> = mirror(&headers, &arguments).unwrap().into_iter().collect();
        prop_assert_eq!(sent.len(), 3);
        let lookup = |name: &str| match sent.get(name) {
            Some(value) => HeaderLookup::One(value.as_str()),
            None => HeaderLookup::Absent,
        };
        prop_assert_eq!(check(&headers, Some(arguments.as_raw_value()), lookup), Ok(()));
    }
}
