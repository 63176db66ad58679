use proptest::prelude::*;
use serde_json::json;
use toolwire_types::{ElicitRequestURLParams, ErrorObject};

use super::*;

#[test]
fn only_declared_modes_are_accepted() {
    let check = |declared: Value, form: Option<i64>, url: Option<i64>| {
        let declared = serde_json::from_value(declared).expect("capabilities");
        let code = |params: ElicitRequestParams| {
            check_mode(&params, &declared).err().map(|error| error.code)
        };
        assert_eq!(
            code(ElicitRequestFormParams::new("?", json!({})).into()),
            form
        );
        assert_eq!(
            code(ElicitRequestURLParams::new("?", "https://a").into()),
            url
        );
    };
    check(json!({}), Some(-32601), Some(-32601));
    check(json!({"elicitation": {}}), None, Some(-32602));
    check(json!({"elicitation": {"form": {}}}), None, Some(-32602));
    check(json!({"elicitation": {"url": {}}}), Some(-32602), None);
    check(json!({"elicitation": {"form": {}, "url": {}}}), None, None);
}

fn schema(value: Value) -> ElicitSchema {
    read_schema(&ElicitRequestFormParams::new("?", value)).expect("a form")
}

/// Returns a form with the single optional field `f`.
fn form(field: &Value) -> ElicitSchema {
    schema(json!({"type": "object", "properties": {"f": field}}))
}

fn accept(content: Value) -> ElicitResult {
    serde_json::from_value(json!({"action": "accept", "content": content}))
        .expect("an elicitation result")
}

/// Checks one field against one value. An empty text means that the value is valid.
fn check(field: Value, value: Value, expected: &str) {
    let outcome = check_elicit_result(&form(&field), &accept(json!({"f": value})));
    let shown = outcome.map_or_else(|invalid| invalid.to_string(), |()| String::new());
    let expected = match expected {
        "" => String::new(),
        rest => format!("the field \"f\" {rest}"),
    };
    assert_eq!(shown, expected, "{field} {value}");
}

#[test]
fn text_has_a_length_in_characters() {
    let field = || json!({"type": "string", "minLength": 2, "maxLength": 3});
    check(
        field(),
        json!("a"),
        "has fewer characters than the minimum of 2",
    );
    check(
        field(),
        json!("é"),
        "has fewer characters than the minimum of 2",
    );
    check(field(), json!("ab"), "");
    check(field(), json!("日本語"), "");
    check(
        field(),
        json!("abcd"),
        "has more characters than the maximum of 3",
    );
    for value in [json!(1), json!(true), json!(["a"]), json!({}), json!(null)] {
        check(field(), value, "must be a string");
    }
    check(json!({"type": "string"}), json!(""), "");
}

#[test]
fn text_has_a_format() {
    let field = |format: &str| json!({"type": "string", "format": format});
    let valid = [
        ("email", "a@b.c"),
        ("uri", "https://a.b"),
        ("date", "2025-01-31"),
        ("date-time", "2025-01-31T10:00:00Z"),
        ("hostname", "not checked!"),
    ];
    for (format, text) in valid {
        check(field(format), json!(text), "");
    }
    check(
        field("email"),
        json!("a"),
        "must be an e-mail address such as name@example.com",
    );
    check(
        field("uri"),
        json!("a"),
        "must be a URI such as https://example.com",
    );
    check(
        field("date"),
        json!("31.1.2025"),
        "must be a date such as 2025-12-31",
    );
    check(
        field("date-time"),
        json!("2025-01-31"),
        "must be a date and time with offset such as 2025-12-31T23:59:59Z",
    );
}

#[test]
fn numbers_have_a_range_and_integers_are_whole() {
    let number = || json!({"type": "number", "minimum": 0.5, "maximum": 10});
    check(number(), json!(0.4), "must be at least 0.5");
    check(number(), json!(0.5), "");
    check(number(), json!(10), "");
    check(number(), json!(10.5), "must be at most 10");
    check(number(), json!("1"), "must be a number");
    check(number(), json!(null), "must be a number");
    let integer = || json!({"type": "integer", "minimum": -1, "maximum": 3});
    check(integer(), json!(3), "");
    check(integer(), json!(3.0), "");
    check(integer(), json!(2.5), "must be a whole number");
    check(integer(), json!(4), "must be at most 3");
    check(integer(), json!(-2), "must be at least -1");
    check(integer(), json!(true), "must be a whole number");
    check(json!({"type": "integer"}), json!(u64::MAX), "");
    check(json!({"type": "integer"}), json!(i64::MIN), "");
}

#[test]
fn whole_numbers_become_integers_in_integer_fields() {
    let check = |kind: &str, value: Value, expected: &str| {
        let mut result = accept(json!({"f": value, "other": 3.0}));
        write_whole_numbers(&form(&json!({"type": kind})), &mut result);
        let content = result.content.expect("content");
        assert_eq!(content["f"].to_string(), expected);
        assert_eq!(content["other"].to_string(), "3.0");
    };
    check("integer", json!(3.0), "3");
    check("integer", json!(-0.0), "0");
    check("integer", json!(1e18), "1000000000000000000");
    check(
        "integer",
        json!(-9_223_372_036_854_775_808.0),
        "-9223372036854775808",
    );
    check("integer", json!(1e19), "10000000000000000000");
    check("integer", json!(1e20), "1e+20");
    check("integer", json!(2.5), "2.5");
    check("integer", json!(u64::MAX), "18446744073709551615");
    check("integer", json!("3.0"), "\"3.0\"");
    check("number", json!(3.0), "3.0");
}

#[test]
fn boolean_field_takes_true_or_false() {
    let field = || json!({"type": "boolean"});
    check(field(), json!(true), "");
    check(field(), json!(false), "");
    for value in [json!("true"), json!(1), json!(null)] {
        check(field(), value, "must be true or false");
    }
}

#[test]
fn single_choice_takes_one_of_its_options() {
    for field in [
        json!({"type": "string", "enum": ["a", "b"]}),
        json!({"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]}),
        json!({"type": "string", "oneOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]}),
    ] {
        check(field.clone(), json!("a"), "");
        check(field.clone(), json!("b"), "");
        check(field.clone(), json!("A"), r#"must be chosen from "a", "b""#);
        check(field.clone(), json!(""), r#"must be chosen from "a", "b""#);
        check(field.clone(), json!(["a"]), "must be a string");
        check(field, json!(1), "must be a string");
    }
    check(
        json!({"type": "string", "enum": []}),
        json!("a"),
        "has no words to choose from",
    );
}

#[test]
fn multiple_choice_takes_several_of_its_options() {
    for items in [
        json!({"type": "string", "enum": ["a", "b", "c"]}),
        json!({"anyOf": [
            {"const": "a", "title": "A"}, {"const": "b", "title": "B"}, {"const": "c", "title": "C"},
        ]}),
    ] {
        let field = || json!({"type": "array", "items": items, "minItems": 1, "maxItems": 2});
        check(field(), json!(["a"]), "");
        check(field(), json!(["c", "a"]), "");
        check(
            field(),
            json!([]),
            "has fewer choices than the minimum of 1",
        );
        check(
            field(),
            json!(["a", "b", "c"]),
            "has more choices than the maximum of 2",
        );
        check(
            field(),
            json!(["a", "x"]),
            r#"must be chosen from "a", "b", "c""#,
        );
        check(field(), json!(["a", "a"]), "names a choice twice");
        check(field(), json!(["a", 1]), "must be an array of strings");
        check(field(), json!("a"), "must be an array of strings");
        check(json!({"type": "array", "items": items}), json!([]), "");
    }
}

#[test]
fn required_fields_are_present_and_unknown_fields_are_rejected() {
    let form = schema(json!({
        "type": "object", "required": ["a"],
        "properties": {"a": {"type": "string"}, "b": {"type": "boolean"}},
    }));
    let check = |result: ElicitResult, expected: &str| {
        let outcome = check_elicit_result(&form, &result);
        let shown = outcome.map_or_else(|invalid| invalid.to_string(), |()| String::new());
        assert_eq!(shown, expected);
    };
    let missing = r#"the field "a" is required and was not filled in"#;
    check(ElicitResult::accept(), missing);
    check(accept(json!({})), missing);
    check(accept(json!({"b": true})), missing);
    check(accept(json!({"a": ""})), "");
    check(accept(json!({"b": false, "a": "x"})), "");
    check(
        accept(json!({"a": "x", "c": 1})),
        r#"the field "c" is not in the form; its fields are "a", "b""#,
    );
    let empty = schema(json!({"type": "object", "properties": {}}));
    assert_eq!(check_elicit_result(&empty, &ElicitResult::accept()), Ok(()));
    let invalid = check_elicit_result(&empty, &accept(json!({"x": 1}))).expect_err("no such field");
    assert_eq!(
        invalid.to_string(),
        r#"the field "x" is not in the form, which has no fields"#
    );
    assert_eq!(ErrorObject::from(invalid).code, -32602);
}

#[test]
fn only_an_accepted_form_has_content() {
    let form = form(&json!({"type": "string"}));
    for action in ["decline", "cancel"] {
        let result = |content: Value| -> ElicitResult {
            serde_json::from_value(json!({"action": action, "content": content}))
                .expect("an elicitation result")
        };
        for empty in [json!(null), json!({})] {
            assert_eq!(check_elicit_result(&form, &result(empty)), Ok(()));
        }
        let invalid = check_elicit_result(&form, &result(json!({"f": "x"}))).expect_err("content");
        assert_eq!(invalid.field, None);
        assert_eq!(
            invalid.to_string(),
            "the elicitation result has content, which only an accepted form may have"
        );
    }
    assert_eq!(check_url_result(&ElicitResult::accept()), Ok(()));
    assert_eq!(check_url_result(&ElicitResult::decline()), Ok(()));
    let invalid = check_url_result(&accept(json!({"f": "x"}))).expect_err("content");
    assert_eq!(invalid.problem, FieldError::UnexpectedContent);
}

#[test]
fn defaults_of_every_kind_are_filled_in() {
    let options = json!([{"const": "a", "title": "A"}]);
    let check = |field: Value, expected: Value| {
        let form = form(&field);
        for given in [json!(null), json!({}), json!({"f": null})] {
            let mut result = accept(given);
            apply_defaults(&form, &mut result);
            let content = result.content.as_ref().expect("content");
            assert_eq!(content["f"], expected, "{field}");
            assert_eq!(check_elicit_result(&form, &result), Ok(()));
        }
    };
    check(json!({"type": "string", "default": "x"}), json!("x"));
    check(json!({"type": "string", "default": ""}), json!(""));
    check(json!({"type": "number", "default": 0.5}), json!(0.5));
    check(json!({"type": "number", "default": 2}), json!(2));
    check(json!({"type": "integer", "default": 3.0}), json!(3));
    check(json!({"type": "integer", "default": 0}), json!(0));
    check(json!({"type": "number", "default": 1e300}), json!(1e300));
    check(json!({"type": "boolean", "default": false}), json!(false));
    let words = json!(["a"]);
    check(
        json!({"type": "string", "enum": words, "default": "a"}),
        json!("a"),
    );
    check(
        json!({"type": "string", "enum": words, "enumNames": ["A"], "default": "a"}),
        json!("a"),
    );
    check(
        json!({"type": "string", "oneOf": options, "default": "a"}),
        json!("a"),
    );
    check(
        json!({"type": "array", "items": {"type": "string", "enum": words}, "default": ["a"]}),
        json!(["a"]),
    );
    check(
        json!({"type": "array", "items": {"anyOf": options}, "default": []}),
        json!([]),
    );
}

#[test]
fn defaults_do_not_replace_given_values() {
    let form = schema(json!({"type": "object", "properties": {
        "a": {"type": "string", "default": "x"}, "b": {"type": "string"}, "c": {"type": "boolean", "default": true},
    }}));
    let check = |mut result: ElicitResult, expected: Value| {
        apply_defaults(&form, &mut result);
        assert_eq!(
            serde_json::to_value(&result.content).expect("JSON"),
            expected
        );
    };
    check(
        accept(json!({"a": "", "c": false})),
        json!({"a": "", "c": false}),
    );
    check(accept(json!({"a": 1})), json!({"a": 1, "c": true}));
    // An empty field without a default is removed. A member that is not in the form stays and is rejected.
    check(
        accept(json!({"b": null, "z": null})),
        json!({"z": null, "a": "x", "c": true}),
    );
    check(ElicitResult::decline(), json!(null));
    check(ElicitResult::cancel(), json!(null));
}

#[test]
fn defaults_that_violate_their_own_rules_are_not_used() {
    for field in [
        json!({"type": "string", "maxLength": 1, "default": "xy"}),
        json!({"type": "string", "enum": ["a"], "default": "b"}),
        json!({"type": "integer", "default": 0.5}),
        json!({"type": "number", "minimum": 1, "default": 0}),
    ] {
        let mut result = ElicitResult::accept();
        apply_defaults(&form(&field), &mut result);
        assert_eq!(result.content, None, "{field}");
    }
}

#[test]
fn schema_error_names_the_unsupported_field() {
    let check = |schema: Value, field: Option<&str>, expected: &str| {
        let outcome = read_schema(&ElicitRequestFormParams::new("?", schema.clone()));
        let unreadable = outcome.expect_err("no form");
        assert_eq!(unreadable.field.as_deref(), field, "{schema}");
        let shown = unreadable.to_string();
        assert!(shown.contains(expected), "{shown}");
        assert_eq!(ErrorObject::from(unreadable).code, -32602);
    };
    for odd in [
        json!(null),
        json!([]),
        json!(true),
        json!({"type": "object"}),
        json!({"type": "array", "properties": {}}),
        json!({"type": "object", "properties": []}),
    ] {
        check(odd, None, "flat object with properties");
    }
    for odd in [
        json!({"type": "object", "properties": {}}),
        json!({"type": "array", "items": {"type": "object"}}),
        json!({"type": ["string", "null"]}),
        json!({"$ref": "#/$defs/a"}),
        json!({"type": "null"}),
        json!(1),
    ] {
        let form = json!({"type": "object", "properties": {"good": {"type": "string"}, "f": odd}});
        check(form, Some("f"), "a field is a string");
    }
    let form =
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a", "b"]});
    check(form, Some("b"), "not a property");
}

#[test]
fn field_of_unknown_kind_rejects_every_value() {
    let odd: ElicitSchema = serde_json::from_value(json!({
        "type": "object", "properties": {"f": {"type": "object"}}, "required": ["gone"],
    }))
    .expect("an object with properties");
    let problem = |content: Value| {
        let invalid = check_elicit_result(&odd, &accept(content)).expect_err("unreadable");
        (invalid.field.expect("a field"), invalid.problem)
    };
    assert_eq!(
        problem(json!({"f": {}})),
        ("f".to_owned(), FieldError::UnreadableField)
    );
    assert_eq!(problem(json!({})), ("gone".to_owned(), FieldError::Missing));
}

#[test]
fn long_lists_of_options_are_shortened() {
    let words: Vec<_> = (0..12).map(|word| word.to_string()).collect();
    check(
        json!({"type": "string", "enum": words}),
        json!("x"),
        r#"must be chosen from "0", "1", "2", "3", "4", "5", "6", "7", "8", "9" and 2 more"#,
    );
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[ab]{0,2}".prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::hash_map("[ab]", inner, 0..3)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn any_field() -> impl Strategy<Value = Value> {
    let keyword = prop_oneof![
        Just("minLength"),
        Just("maxLength"),
        Just("minimum"),
        Just("maximum"),
        Just("minItems"),
        Just("maxItems"),
    ];
    let kind = prop_oneof![
        Just(json!({"type": "string"})),
        Just(json!({"type": "string", "format": "date"})),
        Just(json!({"type": "string", "enum": ["a", "b"]})),
        Just(json!({"type": "string", "oneOf": [{"const": "a", "title": "A"}]})),
        Just(json!({"type": "number"})),
        Just(json!({"type": "integer"})),
        Just(json!({"type": "boolean"})),
        Just(json!({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}})),
        Just(json!({"type": "object"})),
    ];
    let limits = proptest::collection::vec((keyword, 0_u64..3), 0..3);
    (kind, limits, proptest::option::of(any_json())).prop_map(|(mut field, limits, default)| {
        let members = field.as_object_mut().expect("an object");
        for (keyword, limit) in limits {
            members.insert(keyword.to_owned(), limit.into());
        }
        if let Some(default) = default {
            members.insert("default".to_owned(), default);
        }
        field
    })
}

proptest! {
    /// Both functions return for any form and any result, and defaults keep a valid result valid.
    #[test]
    fn defaults_keep_a_valid_result_valid(
        fields in proptest::collection::hash_map("[a-c]", any_field(), 0..4),
        content in proptest::collection::hash_map("[a-d]", any_json(), 0..4),
        required in proptest::collection::vec("[a-c]", 0..2),
    ) {
        let form = json!({"type": "object", "properties": fields, "required": required});
        let form: ElicitSchema = serde_json::from_value(form).expect("an object with properties");
        let mut result = ElicitResult::accept().with_content(content);
        let before = check_elicit_result(&form, &result);
        apply_defaults(&form, &mut result);
        if before.is_ok() {
            prop_assert_eq!(check_elicit_result(&form, &result), Ok(()));
        }
        let once = result.clone();
        apply_defaults(&form, &mut result);
        prop_assert_eq!(once, result);
    }
}

#[test]
fn form_has_at_most_a_thousand_fields() {
    let check = |fields: usize, required: usize, readable: bool| {
        let properties: serde_json::Map<String, Value> = (0..fields)
            .map(|index| (format!("f{index}"), json!({"type": "boolean"})))
            .collect();
        let schema = json!({
            "type": "object",
            "properties": properties,
            "required": vec!["f0"; required],
        });
        let params = ElicitRequestFormParams::new("?", schema);
        assert_eq!(
            read_schema(&params).is_ok(),
            readable,
            "{fields} {required}"
        );
    };
    check(MAX_FIELDS, 1, true);
    check(MAX_FIELDS, MAX_FIELDS, true);
    check(MAX_FIELDS + 1, 1, false);
    check(1, MAX_FIELDS + 1, false);
}
