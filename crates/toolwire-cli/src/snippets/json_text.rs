//! JSON as text that keeps the text of numbers, because a conversion could change them.

use indexmap::IndexMap;
use serde_json::Value;
use toolwire::RawJson;

/// Returns the JSON in one line.
pub(super) fn compact(json: &RawJson) -> String {
    let mut text = String::new();
    write(json, None, &mut text);
    text
}

/// Returns the JSON with one member or item per line.
pub(super) fn pretty(json: &RawJson) -> String {
    let mut text = String::new();
    write(json, Some(0), &mut text);
    text
}

/// Returns an object with these members.
pub(super) fn object<'n>(members: impl IntoIterator<Item = (&'n str, RawJson)>) -> RawJson {
    let members: IndexMap<&str, RawJson> = members.into_iter().collect();
    RawJson::from_serialize(&members).unwrap_or_else(|_| Value::Null.into())
}

/// A value whose parts are read on demand.
enum Parts {
    Object(IndexMap<String, RawJson>),
    Array(Vec<RawJson>),
    /// A string, as it is written in JSON.
    String(String),
    /// A number, `true`, `false` or `null`, or a string that is no Unicode.
    Other(String),
}

impl Parts {
    fn of(json: &RawJson) -> Self {
        let text = json.get().trim();
        let parsed = match text.as_bytes().first() {
            Some(b'{') => json.parse().map(Self::Object),
            Some(b'[') => json.parse().map(Self::Array),
            Some(b'"') => json.parse().map(|text: String| Self::String(quoted(&text))),
            _ => return Self::Other(text.to_owned()),
        };
        parsed.unwrap_or_else(|_| Self::Other(text.to_owned()))
    }
}

/// Returns a JSON string.
pub(super) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Writes a value. With `depth`, each member is on a line that is indented by this depth and one more.
fn write(json: &RawJson, depth: Option<usize>, text: &mut String) {
    let inner = depth.map(|depth| depth + 1);
    let separate = |depth: Option<usize>, text: &mut String| {
        if let Some(depth) = depth {
            text.push('\n');
            text.push_str(&"  ".repeat(depth));
        }
    };
    match Parts::of(json) {
        Parts::String(part) | Parts::Other(part) => text.push_str(&part),
        Parts::Object(members) if members.is_empty() => text.push_str("{}"),
        Parts::Array(items) if items.is_empty() => text.push_str("[]"),
        Parts::Object(members) => {
            let mut open = '{';
            for (name, member) in &members {
                text.push(open);
                open = ',';
                separate(inner, text);
                text.push_str(&quoted(name));
                text.push_str(if depth.is_some() { ": " } else { ":" });
                write(member, inner, text);
            }
            separate(depth, text);
            text.push('}');
        }
        Parts::Array(items) => {
            let mut open = '[';
            for item in &items {
                text.push(open);
                open = ',';
                separate(inner, text);
                write(item, inner, text);
            }
            separate(depth, text);
            text.push(']');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> RawJson {
        RawJson::from_string(text.to_owned()).expect("JSON")
    }

    #[test]
    fn text_of_numbers_does_not_change() {
        let json =
            raw(r#" { "a" : [ 1.0, 123456789012345678901234567890, -0, {} ] , "b":"\u0041\n" } "#);
        assert_eq!(
            compact(&json),
            r#"{"a":[1.0,123456789012345678901234567890,-0,{}],"b":"A\n"}"#
        );
        let expected = "{\n  \"a\": [\n    1.0,\n    123456789012345678901234567890,\n    -0,\n    {}\n  ],\n  \"b\": \"A\\n\"\n}";
        assert_eq!(pretty(&json), expected);
    }

    #[test]
    fn empty_values_have_no_lines() {
        for text in ["{}", "[]", "null", "\"\""] {
            assert_eq!(pretty(&raw(text)), text);
        }
    }

    #[test]
    fn string_that_is_no_unicode_does_not_change() {
        let text = r#"["\ud800"]"#;
        assert_eq!(compact(&raw(text)), text);
    }
}
