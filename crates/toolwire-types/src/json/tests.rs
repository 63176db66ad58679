//! Compares the output of the writer with that of `serde_json`.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::*;

#[track_caller]
fn check<T: Serialize>(value: T) {
    let expected = serde_json::to_string(&value).unwrap();
    assert_eq!(to_string(&value).unwrap(), expected);
}

#[derive(Serialize)]
struct Unit;

#[derive(Serialize)]
struct Newtype(i64);

#[derive(Serialize)]
struct Pair(bool, char);

#[derive(Serialize, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "camelCase")]
enum Kind {
    UnitOne,
    Newtype(u8),
    Tuple(i8, i16),
    Struct { a: u16, b: Option<u32> },
}

#[derive(Serialize)]
struct Outer {
    unit: Unit,
    newtype: Newtype,
    pair: Pair,
    kinds: Vec<Kind>,
    none: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped: Option<u8>,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

#[test]
fn values_of_all_types_match_serde_json() {
    check(());
    check((1_u8, "two", 3.5_f32, [4_u64; 2]));
    check((i128::MIN, u128::MAX, i64::MIN, u64::MAX, i8::MIN));
    check((f64::NAN, f64::INFINITY, -0.0, 1e300, 0.1, 1.0_f32));
    check(Outer {
        unit: Unit,
        newtype: Newtype(-7),
        pair: Pair(true, '"'),
        kinds: vec![
            Kind::UnitOne,
            Kind::Newtype(1),
            Kind::Tuple(-1, 2),
            Kind::Struct { a: 1, b: None },
            Kind::Struct { a: 1, b: Some(2) },
        ],
        none: None,
        skipped: None,
        rest: BTreeMap::from([
            ("x".to_owned(), json!({"y": [null, {}, []]})),
            ("a\"b".to_owned(), json!(1.5)),
        ]),
    });
}

#[test]
fn escapes_of_all_characters_match_serde_json() {
    for code in (0..0x3000).chain([0xFFFD, 0x1_F600, 0x10_FFFF]) {
        if let Some(character) = char::from_u32(code) {
            check(format!("a{character}b{character}"));
            check(character);
        }
    }
    check("a long text without anything special in it, ".repeat(20));
    check("now and then \"quoted\"\n".repeat(20));
}

#[test]
fn keys_match_serde_json() {
    check(BTreeMap::from([(1, "one"), (-2, "minus two")]));
    check(BTreeMap::from([(true, 1)]));
    check(BTreeMap::from([('c', 1)]));
    check(BTreeMap::from([(Some("some"), 1)]));
    check(BTreeMap::from([(Kind::UnitOne, 1)]));
    let invalid = BTreeMap::from([(vec![1], 1)]);
    assert!(to_string(&invalid).is_err());
    assert!(serde_json::to_string(&invalid).is_err());
    let invalid = BTreeMap::from([(Kind::Newtype(1), 1)]);
    assert!(to_string(&invalid).is_err());
}

#[test]
fn raw_values_are_copied_unchanged() {
    let raw = RawValue::from_string("{ \"a\" : [1,  2] }".to_owned()).unwrap();
    check(&raw);
    check(json!({"a": [1, "b\u{7}"]}));
    let text = to_string(&BTreeMap::from([("raw", raw)])).unwrap();
    assert_eq!(text, "{\"raw\":{ \"a\" : [1,  2] }}");
}

#[test]
fn bytes_are_written_as_an_array_of_numbers() {
    struct Bytes;
    impl Serialize for Bytes {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_bytes(&[0, 255])
        }
    }
    check(Bytes);
}
