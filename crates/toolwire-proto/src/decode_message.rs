//! Messages about JSON that does not decode, in the words of JSON.
//!
//! Serde says what it expected in the words of Rust: `struct Place`, `u8`, `a sequence`. Clients and models do not know
//! these types, and the names are no part of the interface of a server. The path of the value is not part of the
//! message.

use std::borrow::Cow;

/// The maximum characters of the rejected value in a message.
const SHOWN_CHARS: usize = 200;

/// Returns the message of a decoding error without Rust types and without the position in the text, which the peer may
/// never have seen in this form.
///
/// ```
/// use toolwire_proto::decode_message::decode_message;
///
/// let error = serde_json::from_str::<Vec<u8>>("[1, 300]").unwrap_err();
/// let message = decode_message(&error);
/// assert_eq!(message, "invalid value: integer `300`, expected an integer from 0 to 255");
/// ```
#[must_use]
pub fn decode_message(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    in_json_words(text.strip_suffix(&position).unwrap_or(&text))
}

fn in_json_words(text: &str) -> String {
    if text.starts_with("data did not match any variant of untagged enum ") {
        return "the value has none of the permitted forms".to_owned();
    }
    for kind in ["invalid type: ", "invalid value: ", "invalid length "] {
        // The rejected value precedes the last separator. It is text of the peer, which may contain the separator.
        let parts = text
            .strip_prefix(kind)
            .and_then(|rest| rest.rsplit_once(", expected "));
        if let Some((found, expected)) = parts {
            return format!(
                "{kind}{}, expected {}",
                rejected_value(found),
                expected_value(expected)
            );
        }
    }
    text.to_owned()
}

/// Returns the value that was found, as `serde::de::Unexpected` prints it.
fn rejected_value(found: &str) -> Cow<'_, str> {
    match found {
        "sequence" => "array".into(),
        "map" | "newtype variant" | "tuple variant" | "struct variant" => "object".into(),
        "unit value" => "null".into(),
        "unit variant" => "string".into(),
        _ => {
            let found: Cow<'_, str> = match found.strip_prefix("floating point ") {
                Some(number) => format!("number {number}").into(),
                None => found.into(),
            };
            match found.char_indices().nth(SHOWN_CHARS) {
                Some((end, _)) => format!("{}…", &found[..end]).into(),
                None => found,
            }
        }
    }
}

/// Returns the words for a number of this Rust type, or `None` if the type is not a number.
///
/// ```
/// use toolwire_proto::decode_message::number_words;
///
/// assert_eq!(number_words("u8"), Some("an integer from 0 to 255"));
/// assert_eq!(number_words("String"), None);
/// ```
#[must_use]
pub fn number_words(rust_type: &str) -> Option<&'static str> {
    words_in(&NUMBERS, rust_type)
}

fn words_in(table: &[(&str, &'static str)], key: &str) -> Option<&'static str> {
    let (_, words) = table.iter().find(|(own, _)| *own == key)?;
    Some(*words)
}

/// The Rust types of numbers.
const NUMBERS: [(&str, &str); 14] = [
    ("i8", "an integer from -128 to 127"),
    ("u8", "an integer from 0 to 255"),
    ("i16", "an integer from -32768 to 32767"),
    ("u16", "an integer from 0 to 65535"),
    ("i32", "an integer from -2147483648 to 2147483647"),
    ("u32", "an integer from 0 to 4294967295"),
    ("i64", "a 64-bit integer"),
    ("isize", "a 64-bit integer"),
    ("i128", "an integer"),
    ("u64", "an integer from 0 to 18446744073709551615"),
    ("usize", "an integer from 0 to 18446744073709551615"),
    ("u128", "an integer of at least 0"),
    ("f32", "a number"),
    ("f64", "a number"),
];

/// The words of `serde::de::Expected` in serde, `serde_derive` and `serde_json`, with the words of JSON.
const EXPECTED: [(&str, &str); 13] = [
    ("a map", "an object"),
    ("a sequence", "an array"),
    ("unit", "null"),
    ("option", "a value or null"),
    ("string or map", "a string or an object"),
    ("variant identifier", "the name of a variant"),
    ("field identifier", "the name of a member"),
    ("a borrowed string", "a string"),
    ("path string", "a string"),
    ("os string", "a string"),
    ("a borrowed path", "a string"),
    ("fewer elements in map", "fewer members"),
    ("fewer elements in array", "fewer items"),
];

/// The beginnings of expected values that continue with the name of a Rust type.
const EXPECTED_TYPES: [(&str, &str); 9] = [
    ("struct variant ", "an object"),
    ("struct ", "an object"),
    ("internally tagged enum ", "an object"),
    ("adjacently tagged enum ", "an object"),
    ("enum ", "a string or an object"),
    ("tuple struct ", "an array"),
    ("tuple variant ", "an array"),
    ("unit struct ", "null"),
    ("unit variant ", "null"),
];

fn expected_value(expected: &str) -> Cow<'_, str> {
    if let Some(words) = number_words(expected).or_else(|| words_in(&EXPECTED, expected)) {
        return words.into();
    }
    if let Some(number) = expected.strip_prefix("a nonzero ") {
        return format!("{} other than 0", expected_value(number)).into();
    }
    for beginning in ["a tuple of size ", "an array of length "] {
        if let Some(size) = expected.strip_prefix(beginning) {
            return array_of(size).into();
        }
    }
    let mut types = EXPECTED_TYPES.iter();
    let named = types.find_map(|(serde, words)| Some((expected.strip_prefix(serde)?, *words)));
    let Some((name, words)) = named else {
        return expected.into();
    };
    // `tuple struct Point with 2 elements`.
    let size = name
        .split_once(" with ")
        .and_then(|(_, size)| size.split_once(" element"));
    match size {
        Some((size, _)) if words == "an array" => array_of(size).into(),
        _ => words.into(),
    }
}

fn array_of(size: &str) -> String {
    match size {
        "1" => "an array of 1 item".to_owned(),
        _ => format!("an array of {size} items"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::num::NonZeroU8;

    use serde::Deserialize;
    use serde::de::DeserializeOwned;

    use super::*;

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only decoded")]
    struct Place {
        city: String,
    }

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only decoded")]
    struct Point(f32, f32);

    #[derive(Deserialize)]
    struct Marker;

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only decoded")]
    enum Shape {
        Dot,
        Circle { radius: f64 },
        Pair(u8, u8),
    }

    #[derive(Deserialize)]
    #[serde(tag = "kind")]
    #[expect(dead_code, reason = "only decoded")]
    enum Tagged {
        Circle { radius: f64 },
    }

    #[derive(Deserialize)]
    #[serde(tag = "kind", content = "value")]
    #[expect(dead_code, reason = "only decoded")]
    enum Adjacent {
        Circle(f64),
    }

    #[derive(Deserialize)]
    #[serde(untagged)]
    #[expect(dead_code, reason = "only decoded")]
    enum Untagged {
        Number(i64),
        Place(Place),
    }

    fn check<T: DeserializeOwned>(json: &str, expected: &str) {
        let error = serde_json::from_str::<T>(json)
            .map(drop)
            .expect_err("it does not decode");
        assert_eq!(decode_message(&error), expected, "{json}");
    }

    #[test]
    fn rust_types_are_named_in_words_of_json() {
        check::<Place>("3", "invalid type: integer `3`, expected an object");
        check::<Place>("[]", "invalid length 0, expected an object");
        check::<Point>("[1]", "invalid length 1, expected an array of 2 items");
        check::<Point>("{}", "invalid type: object, expected an array");
        check::<Marker>("true", "invalid type: boolean `true`, expected null");
        check::<Shape>("3", "expected value");
        check::<Shape>(
            r#"{"Circle": 3}"#,
            "invalid type: integer `3`, expected an object",
        );
        check::<Shape>(
            r#"{"Pair": [1]}"#,
            "invalid length 1, expected an array of 2 items",
        );
        check::<Tagged>("[]", "missing field `kind`");
        check::<Tagged>("null", "invalid type: null, expected an object");
        check::<Tagged>(
            r#"{"kind": "Circle", "radius": "x"}"#,
            "invalid type: string \"x\", expected a number",
        );
        check::<Adjacent>("7", "invalid type: integer `7`, expected an object");
        check::<Untagged>("[]", "the value has none of the permitted forms");
        check::<(u8, u8)>("[1]", "invalid length 1, expected an array of 2 items");
        check::<[u8; 1]>("[]", "invalid length 0, expected an array of 1 item");
        check::<BTreeMap<String, u8>>("[]", "invalid type: array, expected an object");
        check::<Vec<u8>>("{}", "invalid type: object, expected an array");
    }

    #[test]
    fn numbers_have_their_range() {
        check::<u8>(
            "300",
            "invalid value: integer `300`, expected an integer from 0 to 255",
        );
        check::<i32>(
            "1.5",
            "invalid type: number `1.5`, expected an integer from -2147483648 to 2147483647",
        );
        check::<f64>("\"1\"", "invalid type: string \"1\", expected a number");
        check::<NonZeroU8>(
            "0",
            "invalid value: integer `0`, expected an integer from 0 to 255 other than 0",
        );
    }

    #[test]
    fn names_on_the_wire_and_other_texts_are_unchanged() {
        check::<Place>("{}", "missing field `city`");
        check::<Tagged>("{}", "missing field `kind`");
        check::<Shape>(
            "\"Square\"",
            "unknown variant `Square`, expected one of `Dot`, `Circle`, `Pair`",
        );
        check::<char>(
            "\"ab\"",
            "invalid value: string \"ab\", expected a character",
        );
    }

    #[test]
    fn text_of_the_peer_is_shortened_and_not_interpreted() {
        check::<u8>(
            "\"a, expected struct B\"",
            "invalid type: string \"a, expected struct B\", expected an integer from 0 to 255",
        );
        let long = format!("{:?}", "é".repeat(1000));
        let error = serde_json::from_str::<bool>(&long).expect_err("not a boolean");
        let message = decode_message(&error);
        assert!(message.ends_with("é…, expected a boolean"), "{message}");
        assert!(message.chars().count() < SHOWN_CHARS + 60, "{message}");
        // The word `string` and the quotes are part of the shown value.
        let longest = "é".repeat(SHOWN_CHARS - "string \"\"".len());
        check::<bool>(
            &format!("\"{longest}\""),
            &format!("invalid type: string \"{longest}\", expected a boolean"),
        );
        check::<bool>(
            &format!("\"{longest}é\""),
            &format!("invalid type: string \"{longest}é…, expected a boolean"),
        );
    }
}
