//! Comparison of the parser with `serde_json`, on valid, damaged and random JSON.

use std::collections::HashSet;
use std::fmt;

use proptest::prelude::*;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Value, json};
use toolwire_types::ResponseId;

use super::super::pass::{self, Document, Parsed, Stop};
use super::super::{Limits, escape_line_separators, read, salvage_id};
use crate::envelope::Envelope;

/// The result of `serde_json`: any value, and whether an object repeats a name.
struct Reference {
    has_repeated_names: bool,
}

impl<'de> Deserialize<'de> for Reference {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ReferenceVisitor;

        const PLAIN: Reference = Reference {
            has_repeated_names: false,
        };

        impl<'de> Visitor<'de> for ReferenceVisitor {
            type Value = Reference;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any value")
            }

            fn visit_unit<E>(self) -> Result<Reference, E> {
                Ok(PLAIN)
            }

            fn visit_bool<E>(self, _: bool) -> Result<Reference, E> {
                Ok(PLAIN)
            }

            fn visit_i64<E>(self, _: i64) -> Result<Reference, E> {
                Ok(PLAIN)
            }

            fn visit_u64<E>(self, _: u64) -> Result<Reference, E> {
                Ok(PLAIN)
            }

            fn visit_f64<E>(self, _: f64) -> Result<Reference, E> {
                Ok(PLAIN)
            }

            fn visit_str<E>(self, _: &str) -> Result<Reference, E> {
                Ok(PLAIN)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Reference, A::Error> {
                let mut has_repeated_names = false;
                while let Some(element) = seq.next_element::<Reference>()? {
                    has_repeated_names |= element.has_repeated_names;
                }
                Ok(Reference { has_repeated_names })
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Reference, A::Error> {
                let mut has_repeated_names = false;
                let mut names = HashSet::new();
                while let Some((name, value)) = map.next_entry::<String, Reference>()? {
                    has_repeated_names |= value.has_repeated_names || !names.insert(name);
                }
                Ok(Reference { has_repeated_names })
            }
        }

        deserializer.deserialize_any(ReferenceVisitor)
    }
}

fn agrees_with_serde_json(text: &str) -> Result<(), TestCaseError> {
    let limits = Limits {
        batch_messages: usize::MAX,
        ..Limits::default()
    };
    let reference = serde_json::from_str::<Reference>(text);
    let mut parsed = Parsed::default();
    match (pass::run(text, &limits, &mut parsed), reference) {
        (Ok(()), Ok(reference)) => {
            prop_assert_eq!(parsed.has_repeated_names, reference.has_repeated_names);
            let first = text.trim_start().as_bytes()[0];
            match parsed.document {
                Document::Object => prop_assert_eq!(first, b'{'),
                Document::Array => {
                    let whole: Vec<Value> = serde_json::from_str(text).unwrap();
                    let parts = parsed
                        .elements
                        .iter()
                        .map(|part| serde_json::from_str(part).unwrap());
                    prop_assert_eq!(whole, parts.collect::<Vec<Value>>());
                }
                Document::Scalar => {
                    let is_container = matches!(first, b'{' | b'[');
                    prop_assert!(!is_container);
                }
            }
        }
        (Err(Stop::TooDeep), Err(error)) => {
            prop_assert!(error.to_string().contains("recursion limit"));
        }
        (Err(Stop::Malformed { at }), Err(error)) => {
            prop_assert!(at <= text.len());
            prop_assert!(!error.to_string().contains("recursion limit"));
        }
        (actual, expected) => {
            let expected = expected.map(drop);
            prop_assert!(false, "{text:?}: {actual:?} but serde_json {expected:?}");
        }
    }
    Ok(())
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 60, 20, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map("[a-d]{0,2}|.{0,4}", inner, 0..20)
                .prop_map(Value::from_iter),
        ]
    })
}

/// Fragments that sometimes form JSON when they are joined.
fn fragments() -> impl Strategy<Value = String> {
    let fragment = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"a\"",
        "\"b\"",
        "\"\\u0061\"",
        "\"\"",
        "\"a\":",
        "\"b\":",
        "{\"a\":1}",
        "0",
        "-",
        "1",
        ".",
        "e",
        "E",
        "+",
        "12.5e-3",
        "1e308",
        "1e309",
        "9e307",
        "true",
        "null",
        "false",
        "\"\\ud83d\\ude00\"",
        "\"\\ud83d\"",
        "\"\\udc00\"",
        "\"",
        "\\",
        " ",
        "\n",
        "\t",
        "\u{85}",
        "\u{7f}",
        "\u{1}",
        "[1,2]",
        ",\"a\":0",
        "u00e9",
    ]);
    prop::collection::vec(fragment, 0..14).prop_map(|fragments| fragments.concat())
}

/// A number in JSON form, including numbers beyond a double.
fn numbers() -> impl Strategy<Value = String> {
    "-?(0|[1-9][0-9]{0,30}|[1-9][0-9]{290,320})(\\.[0-9]{0,20})?([eE][+-]?[0-9]{0,4})?"
}

proptest! {
    #[test]
    fn written_values_are_accepted(value in any_value()) {
        agrees_with_serde_json(&value.to_string())?;
        agrees_with_serde_json(&serde_json::to_string_pretty(&value).unwrap())?;
    }

    #[test]
    fn damaged_values_give_the_same_result(
        value in any_value(),
        at in any::<prop::sample::Index>(),
        damage in "[\\[\\]{}:,\"\\\\a0e.\\- \u{1}]{0,2}",
        removed in 0_usize..3,
    ) {
        let mut text: Vec<char> = value.to_string().chars().collect();
        let start = at.index(text.len());
        let end = (start + removed).min(text.len());
        text.splice(start..end, damage.chars());
        agrees_with_serde_json(&text.into_iter().collect::<String>())?;
    }

    #[test]
    fn fragments_give_the_same_result(text in fragments()) {
        agrees_with_serde_json(&text)?;
    }

    #[test]
    fn numbers_give_the_same_result(number in numbers()) {
        agrees_with_serde_json(&number)?;
    }

    #[test]
    fn strings_give_the_same_result(inside in "([a-z]{0,9}|\\\\[\"\\\\/bfnrtux]|\\\\u[dD][89abcd][0-9a-f]{2}|\\PC|\\pC){0,6}") {
        agrees_with_serde_json(&format!("\"{inside}\""))?;
    }

    #[test]
    fn nesting_gives_the_same_result(brackets in prop::collection::vec(any::<bool>(), 100..160)) {
        let mut text: String = brackets.iter().map(|&list| if list { "[" } else { "{\"a\":" }).collect();
        text.push('0');
        text.extend(brackets.iter().rev().map(|&list| if list { "]" } else { "}" }));
        agrees_with_serde_json(&text)?;
    }

    #[test]
    fn reading_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&bytes, &Limits::default());
        let _ = salvage_id(&bytes);
    }

    #[test]
    fn salvaging_agrees_with_reading(
        id in prop_oneof![any::<i64>().prop_map(Value::from), ".{0,8}".prop_map(Value::from)],
        has_id: bool,
        params in prop::collection::btree_map(".{0,4}", any_value(), 0..4),
        is_result: bool,
    ) {
        let mut message = json!({"jsonrpc": "2.0"});
        if is_result {
            message["result"] = Value::from_iter(params);
        } else {
            message["method"] = json!("m");
            message["params"] = Value::from_iter(params);
        }
        if has_id {
            message["id"] = id;
        }
        let text = message.to_string();
        match read(text.as_bytes(), &Limits::default()) {
            Ok(Envelope::Request(request)) => {
                prop_assert_eq!(salvage_id(text.as_bytes()), Some(request.id));
            }
            Ok(Envelope::Response(response)) => {
                prop_assert_eq!(salvage_id(text.as_bytes()).map(ResponseId::Id), Some(response.id));
            }
            Ok(Envelope::Notification(_)) | Err(_) => {
                prop_assert_eq!(salvage_id(text.as_bytes()), None);
                prop_assert!(!has_id);
            }
            Ok(Envelope::Batch(_)) => prop_assert!(false, "no batch was sent"),
        }
    }

    #[test]
    fn escaping_line_separators_keeps_the_meaning(text in "[a\u{85}\u{2028}\u{2029}\u{2030}é\\\\\"]{0,20}") {
        let json = json!(text).to_string();
        let escaped = escape_line_separators(json.as_bytes());
        let escaped = std::str::from_utf8(&escaped).unwrap();
        let looks_like_lines = escaped.contains(['\u{85}', '\u{2028}', '\u{2029}']);
        prop_assert!(!looks_like_lines);
        prop_assert_eq!(serde_json::from_str::<String>(escaped).unwrap(), text);
    }
}
