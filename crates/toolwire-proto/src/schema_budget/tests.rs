use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn budget(schema: &Value) -> Result<SchemaBudget, SchemaLimitError> {
    SchemaBudget::new(schema, &SchemaLimits::default())
}

#[track_caller]
fn steps(schema: &Value, instance: &Value) -> Result<u64, SchemaLimitError> {
    budget(schema).unwrap().steps(instance, 300_000)
}

/// Returns `depth` schemas within each other.
fn nested(keyword: &str, depth: usize) -> Value {
    (0..depth).fold(json!({"type": "string"}), |inner, _| {
        Value::Object([(keyword.to_owned(), inner)].into_iter().collect())
    })
}

/// Returns definitions that each apply the next one twice.
fn doubling(keyword: &str, definitions: usize) -> Value {
    let mut schema = json!({"$ref": "#/$defs/a0", "$defs": {}});
    for index in 0..definitions {
        let next = json!({"$ref": format!("#/$defs/a{}", index + 1)});
        let definition = match keyword {
            "items" => json!({"allOf": [{"items": next.clone()}, {"items": next}]}),
            _ => json!({keyword: [next.clone(), next]}),
        };
        schema["$defs"][format!("a{index}")] = definition;
    }
    schema["$defs"][format!("a{definitions}")] = json!({"type": "array"});
    schema
}

fn chain(references: usize) -> Value {
    let mut schema = json!({"$ref": "#/$defs/a0", "$defs": {}});
    for index in 0..references {
        schema["$defs"][format!("a{index}")] = json!({"$ref": format!("#/$defs/a{}", index + 1)});
    }
    schema["$defs"][format!("a{references}")] = json!(true);
    schema
}

#[test]
fn sizes_are_limited_at_the_edge() {
    let limits = SchemaLimits {
        bytes: 100,
        values: 10,
        patterns: 2,
        pattern_bytes: 5,
        ..SchemaLimits::default()
    };
    let check = |schema: Value, expected: Option<SchemaLimitError>| {
        let error = SchemaBudget::new(&schema, &limits).err();
        assert_eq!(error, expected, "{schema}");
    };
    // Two values of one byte each, a name of five bytes and the text.
    check(json!({"title": "x".repeat(93)}), None);
    check(
        json!({"title": "x".repeat(94)}),
        Some(SchemaLimitError::Bytes(100)),
    );
    check(json!({"enum": [1, 2, 3, 4, 5, 6, 7, 8]}), None);
    check(
        json!({"enum": [1, 2, 3, 4, 5, 6, 7, 8, 9]}),
        Some(SchemaLimitError::Values(10)),
    );
    check(json!({"pattern": "abcde"}), None);
    check(
        json!({"pattern": "abcdef"}),
        Some(SchemaLimitError::PatternBytes(5)),
    );
    check(
        json!({"pattern": "a", "patternProperties": {"b": true, "c": true}}),
        Some(SchemaLimitError::Patterns(2)),
    );
}

#[test]
fn nesting_is_limited_at_the_edge() {
    assert!(budget(&nested("not", MAX_DEPTH - 1)).is_ok());
    assert_eq!(
        budget(&nested("not", MAX_DEPTH)).err(),
        Some(SchemaLimitError::Depth)
    );
    // A program can build a value far deeper than a JSON parser accepts.
    let mut deep = nested("items", 5_000);
    assert_eq!(budget(&deep).err(), Some(SchemaLimitError::Depth));
    while let Some(inner) = deep.get_mut("items").map(Value::take) {
        deep = inner;
    }
}

#[test]
fn patterns_that_no_automaton_matches_are_rejected() {
    let check = |pattern: &str| {
        let error = budget(&json!({"properties": {"a": {"pattern": pattern}}})).unwrap_err();
        assert_eq!(
            error,
            SchemaLimitError::UnsupportedPattern(pattern.to_owned())
        );
    };
    check(r"^(a+)+\1$");
    check("(?=.*[A-Z]).*");
    let large = json!({"patternProperties": {"(a{1000}){1000}": true}});
    assert_eq!(
        budget(&large).err(),
        Some(SchemaLimitError::PatternStates(100_000))
    );
}

#[test]
fn pattern_costs_its_states_for_each_byte() {
    let schema = json!({"pattern": "(a|b){100}"});
    let short = steps(&schema, &json!("a".repeat(16))).unwrap();
    let long = steps(&schema, &json!("a".repeat(8_000))).unwrap();
    assert!(short >= 200 && long >= 100_000, "{short} {long}");
    let huge = json!("a".repeat(1_000_000));
    assert!(matches!(
        steps(&schema, &huge),
        Err(SchemaLimitError::Steps(_))
    ));
}

#[test]
fn references_that_double_are_counted_and_not_followed_to_the_end() {
    for keyword in ["allOf", "anyOf", "oneOf"] {
        assert!(matches!(
            steps(&doubling(keyword, 60), &json!([])),
            Err(SchemaLimitError::Steps(_))
        ));
        let few = steps(&doubling(keyword, 4), &json!([])).unwrap();
        assert!((32..1_000).contains(&few), "{keyword}: {few}");
    }
    // In this case the depth of the instance decides.
    let deep = (0..60).fold(json!([]), |inner, _| json!([inner]));
    let schema = doubling("items", 61);
    assert!(steps(&schema, &json!([[]])).unwrap() < 1_000);
    assert!(matches!(
        steps(&schema, &deep),
        Err(SchemaLimitError::Steps(_))
    ));
}

#[test]
fn nested_applications_are_limited_at_the_edge() {
    // The root, the references, and the last definition.
    assert!(steps(&chain(MAX_NESTED_APPLICATIONS - 2), &json!(1)).is_ok());
    assert_eq!(
        steps(&chain(MAX_NESTED_APPLICATIONS - 1), &json!(1)),
        Err(SchemaLimitError::NestedApplications)
    );
    assert_eq!(
        steps(&json!({"$ref": "#"}), &json!(1)),
        Err(SchemaLimitError::NestedApplications)
    );
}

#[test]
fn recursive_schema_costs_in_proportion_to_its_instance() {
    let tree = json!({
        "type": "object",
        "properties": {"children": {"type": "array", "items": {"$ref": "#"}}},
    });
    let leaf = json!({"children": []});
    let wide = json!({"children": vec![leaf.clone(); 1_000]});
    let deep = (0..30).fold(leaf, |inner, _| json!({"children": [inner]}));
    assert!(steps(&tree, &wide).unwrap() < 30_000);
    assert!(steps(&tree, &deep).unwrap() < 1_000);
    let dynamic = json!({
        "$dynamicAnchor": "node",
        "properties": {"children": {"items": {"$dynamicRef": "#node"}}},
    });
    assert!(steps(&dynamic, &wide).unwrap() < 30_000);
    let older = json!({
        "$recursiveAnchor": true,
        "properties": {"children": {"items": {"$recursiveRef": "#"}}},
    });
    assert!(steps(&older, &wide).unwrap() < 30_000);
}

#[test]
fn unevaluated_keywords_are_counted_as_often_as_they_are_applied() {
    // Each level evaluates its branch twice.
    let nested = |levels: usize| {
        (0..levels).fold(
            json!({"type": "object"}),
            |inner, _| json!({"anyOf": [inner], "unevaluatedProperties": false}),
        )
    };
    let instance = json!({"a": 1});
    let few = steps(&nested(4), &instance).unwrap();
    assert!(few > 80, "{few}");
    assert!(matches!(
        steps(&nested(30), &instance),
        Err(SchemaLimitError::Steps(_))
    ));
    // Compiling would expand the references.
    let mut doubling = doubling("allOf", 30);
    assert!(budget(&doubling).is_ok());
    doubling["unevaluatedProperties"] = json!(false);
    assert_eq!(budget(&doubling).err(), Some(SchemaLimitError::Expansion));
    let cycle = json!({"anyOf": [{"$ref": "#"}], "unevaluatedItems": false});
    assert_eq!(budget(&cycle).err(), Some(SchemaLimitError::Expansion));
}

#[test]
fn wide_schemas_cost_their_width_on_every_instance() {
    let names: Vec<String> = (0..5_000).map(|index| format!("n{index}")).collect();
    let schema = json!({"items": {"required": names}});
    assert!(steps(&schema, &json!([{}, {}])).unwrap() > 10_000);
    let many = json!(vec![json!({}); 5_000]);
    assert!(matches!(
        steps(&schema, &many),
        Err(SchemaLimitError::Steps(_))
    ));
    let choices = json!({"items": {"enum": names}});
    let many = json!(vec!["x"; 5_000]);
    assert!(matches!(
        steps(&choices, &many),
        Err(SchemaLimitError::Steps(_))
    ));
}

#[test]
fn unique_items_cost_pairs_only_where_hashes_may_collide() {
    let schema = json!({"uniqueItems": true});
    let check = |items: Vec<Value>, at_most: Option<u64>| {
        let found = steps(&schema, &Value::Array(items)).ok();
        match at_most {
            Some(at_most) => assert!(found.unwrap() <= at_most, "{found:?}"),
            None => assert_eq!(found, None),
        }
    };
    check((0..100_000).map(Value::from).collect(), Some(250_000));
    check(
        (0..10_000).map(|n| json!({"id": n})).collect(),
        Some(100_000),
    );
    check((0..10_000).map(|_| json!([[]])).collect(), None);
}

#[test]
fn only_references_within_the_document_are_followed() {
    for reference in [
        "https://example.test/a.json",
        "a.json",
        "#/$defs/none",
        "#none",
    ] {
        assert_eq!(
            budget(&json!({"$ref": reference})).err(),
            Some(SchemaLimitError::UnresolvedReference(reference.to_owned()))
        );
    }
    let meta = json!({"$ref": "http://json-schema.org/draft-07/schema#"});
    assert!(steps(&meta, &json!({"type": "string"})).unwrap() > 64);
    let extended = json!({
        "$dynamicAnchor": "meta",
        "allOf": [{"$ref": "https://json-schema.org/draft/2020-12/schema"}],
    });
    assert!(matches!(
        budget(&extended),
        Err(SchemaLimitError::UnresolvedReference(_))
    ));
}

#[test]
fn resources_and_dynamic_targets_are_limited() {
    let with = |count: usize| {
        let defs: serde_json::Map<_, _> = (0..count)
            .map(|index| (format!("d{index}"), json!({"$id": format!("r{index}")})))
            .collect();
        json!({"$defs": defs})
    };
    assert!(budget(&with(MAX_RESOURCES)).is_ok());
    assert_eq!(
        budget(&with(MAX_RESOURCES + 1)).err(),
        Some(SchemaLimitError::Resources)
    );
    let anchors = vec![json!({"$dynamicAnchor": "a"}); MAX_REFERENCE_TARGETS + 1];
    assert_eq!(
        budget(&json!({"$defs": {"x": {"anyOf": anchors}}, "$dynamicRef": "#a"})).err(),
        Some(SchemaLimitError::AmbiguousReference("#a".to_owned()))
    );
}

#[test]
fn errors_name_the_limit() {
    let error = SchemaLimitError::Steps(4_000_000).to_string();
    assert_eq!(error, "validating takes more than 4000000 steps");
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[#/$a-d]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 5, |inner| {
        let keyword = prop::sample::select(vec![
            "$ref",
            "$dynamicRef",
            "$id",
            "$anchor",
            "allOf",
            "anyOf",
            "not",
            "items",
            "contains",
            "properties",
            "pattern",
            "unevaluatedProperties",
            "unevaluatedItems",
            "enum",
            "a",
            "b",
        ]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((keyword, inner), 0..5).prop_map(|members| {
                Value::Object(
                    members
                        .into_iter()
                        .map(|(k, v)| (k.to_owned(), v))
                        .collect(),
                )
            }),
        ]
    })
}

proptest! {
    #[test]
    fn any_json_is_counted_or_rejected(schema in any_json(), instance in any_json()) {
        if let Ok(budget) = budget(&schema)
            && let Ok(steps) = budget.steps(&instance, 10_000)
        {
            prop_assert!(steps <= 10_000);
        }
    }
}
