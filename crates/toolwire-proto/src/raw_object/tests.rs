use proptest::prelude::*;
use serde_json::{Value, json};
use toolwire_types::RawJson;

use super::*;

fn raw(text: &str) -> RawJson {
    RawJson::from_string(text.to_owned()).expect("the text is JSON")
}

/// Checks the text of an object after an edit.
fn check(text: &str, edit: impl FnOnce(&mut RawObject<'_>), expected: &str) {
    let json = raw(text);
    let mut object = RawObject::parse(json.as_raw_value()).expect("the text is an object");
    edit(&mut object);
    assert_eq!(object.finish().get(), expected);
    assert_eq!(object.is_edited(), expected != text.trim(), "{text}");
}

#[test]
fn object_without_edits_is_written_byte_for_byte() {
    let text = r#"{ "a" : 1.0, "\u0062" : [ {} ], "c":"\u00e9\/" }"#;
    check(text, |_| {}, text);
    check(
        text,
        |object| {
            assert!(!object.remove("z"));
            object.array_mut("b").unwrap().objects_mut().count();
        },
        text,
    );
    let json = raw(text);
    let object = RawObject::parse(json.as_raw_value()).unwrap();
    assert_eq!(object.finish_if_edited(), None);
}

#[test]
fn edited_object_preserves_order_names_and_numbers() {
    check(
        r#"{ "a" : 1.0, "\u0062" : [ 2e1 ], "c":"\u00e9" }"#,
        |object| object.set("b", raw("[1.50]")),
        r#"{"a":1.0,"\u0062":[1.50],"c":"\u00e9"}"#,
    );
    check(
        r#"{"a":1,"b":2,"c":3}"#,
        |object| {
            assert!(object.remove("b"));
            object.set_text("d", "x\n");
            object.set_first("c", raw("0"));
        },
        r#"{"c":0,"a":1,"d":"x\n"}"#,
    );
    check("{}", |object| object.set_text("a\"b", ""), r#"{"a\"b":""}"#);
    check(
        r#"{"x-1":1,"x-2":2,"y":3}"#,
        |object| object.retain(|name| !name.starts_with("x-")),
        r#"{"y":3}"#,
    );
}

#[test]
fn nested_values_are_edited_by_path() {
    check(
        r#"{"a":{ "b":{"c":1, "d" : 2.0} , "e":[ ] },"f":0}"#,
        |object| {
            let inner = object.object_at_mut(&["a", "b"]).unwrap();
            assert_eq!(inner.get("d").unwrap().get(), "2.0");
            inner.set("c", raw("true"));
        },
        r#"{"a":{"b":{"c":true,"d":2.0},"e":[ ]},"f":0}"#,
    );
    check(
        r#"{"list":[{"uri":"a:1"}, 7 ,{"uri":"a:2"}]}"#,
        |object| {
            let list = object.array_mut("list").unwrap();
            list.objects_mut()
                .for_each(|entry| entry.set_text("uri", "b:0"));
            list.push(raw("null"));
        },
        r#"{"list":[{"uri":"b:0"},7,{"uri":"b:0"},null]}"#,
    );
    check(
        r#"{"_meta":null}"#,
        |object| object.object_or_empty_mut("_meta").set("k", raw("1")),
        r#"{"_meta":{"k":1}}"#,
    );
    check(
        "{}",
        |object| object.object_or_empty_mut("_meta").set("k", raw("1")),
        r#"{"_meta":{"k":1}}"#,
    );
}

#[test]
fn values_of_other_types_are_not_containers() {
    let json = raw(r#"{"a":1,"b":[],"c":{}}"#);
    let mut object = RawObject::parse(json.as_raw_value()).unwrap();
    assert!(object.object_mut("a").is_none());
    assert!(object.object_mut("b").is_none());
    assert!(object.object_mut("z").is_none());
    assert!(object.array_mut("c").is_none());
    assert!(RawObject::parse(raw("[]").as_raw_value()).is_none());
    assert!(RawArray::parse(raw("{}").as_raw_value()).is_none());
}

#[test]
fn containers_beyond_the_limit_are_not_edited() {
    let object = |count: usize| {
        let members: Vec<String> = (0..count).map(|index| format!("\"{index}\":0")).collect();
        raw(&format!("{{{}}}", members.join(",")))
    };
    let array = |count: usize| raw(&format!("[{}]", vec!["0"; count].join(",")));
    assert!(RawObject::parse(object(MAX_MEMBERS).as_raw_value()).is_some());
    assert!(RawObject::parse(object(MAX_MEMBERS + 1).as_raw_value()).is_none());
    assert!(RawArray::parse(array(MAX_MEMBERS).as_raw_value()).is_some());
    assert!(RawArray::parse(array(MAX_MEMBERS + 1).as_raw_value()).is_none());
}

#[test]
fn values_inside_edited_containers_are_not_listed() {
    let json = raw(r#"{"a":{"b":1},"c":2}"#);
    let mut object = RawObject::parse(json.as_raw_value()).unwrap();
    assert_eq!(object.iter().count(), 2);
    object.object_mut("a").unwrap().remove("b");
    assert!(object.contains("a"));
    assert!(object.get("a").is_none());
    let names: Vec<_> = object.iter().map(|(name, _)| name.into_owned()).collect();
    assert_eq!(names, ["c"]);
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[ -~\u{e9}\u{2028}\n\"\\\\]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-c\"\\\\]{0,2}", inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn edits_equal_those_of_a_parsed_tree(
        mut tree in prop::collection::btree_map("[a-d\"]{1,2}", any_json(), 0..6),
        pretty: bool,
        removed in "[a-d\"]{1,2}",
        set in "[a-d\"]{1,2}",
        value in any_json(),
    ) {
        let text = if pretty { serde_json::to_string_pretty(&tree) } else { serde_json::to_string(&tree) };
        let json = raw(&text.unwrap());
        let mut object = RawObject::parse(json.as_raw_value()).unwrap();
        prop_assert_eq!(object.len(), tree.len());
        object.remove(&removed);
        object.set(set.as_str(), RawJson::from(value.clone()));
        for name in ["a", "b"] {
            if let Some(inner) = object.object_mut(name) {
                inner.set_text("x", "y");
            }
        }
        tree.remove(&removed);
        tree.insert(set.clone(), value);
        for name in ["a", "b"] {
            // A value that was set is not opened.
            if name != set && let Some(Value::Object(inner)) = tree.get_mut(name) {
                inner.insert("x".to_owned(), json!("y"));
            }
        }
        let written: Value = serde_json::from_str(object.finish().get()).unwrap();
        prop_assert_eq!(written, json!(tree));
    }
}
