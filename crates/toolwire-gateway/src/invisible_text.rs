//! Finds and removes characters in the descriptors of upstreams that a reader does not see, but a model reads.

use std::borrow::Cow;

use serde_json::Value;
use toolwire::RawJson;
use toolwire_proto::invisible_characters::{
    InvisibleCharacter, invisible_kinds, without_invisible,
};

/// The members whose texts programs compare. A text without its invisible characters would be another name or value.
const COMPARED: [&str; 14] = [
    "name",
    "uri",
    "uriTemplate",
    "mimeType",
    "enum",
    "const",
    "default",
    "pattern",
    "required",
    "type",
    "$id",
    "$ref",
    "$anchor",
    "$schema",
];

/// Returns the kinds of invisible characters in the texts and the names of members of a descriptor, each one once.
pub(crate) fn kinds_in(descriptor: &RawJson) -> Vec<InvisibleCharacter> {
    let mut kinds = Vec::new();
    if let Ok(value) = descriptor.to_value() {
        collect(&value, &mut kinds);
    }
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

fn collect(value: &Value, kinds: &mut Vec<InvisibleCharacter>) {
    match value {
        Value::String(text) => kinds.extend(invisible_kinds(text)),
        Value::Array(elements) => elements.iter().for_each(|element| collect(element, kinds)),
        Value::Object(members) => {
            for (name, value) in members {
                kinds.extend(invisible_kinds(name));
                collect(value, kinds);
            }
        }
        _ => {}
    }
}

/// Returns `true` if a descriptor cannot be searched for invisible characters, for example because of half a surrogate pair.
pub(crate) fn is_unreadable(descriptor: &RawJson) -> bool {
    !is_plain(descriptor) && descriptor.to_value().is_err()
}

/// Returns `true` if a descriptor surely has no invisible characters. An escape can stand for every character.
fn is_plain(descriptor: &RawJson) -> bool {
    descriptor.get().is_ascii() && !descriptor.get().contains("\\u")
}

/// Returns a descriptor without the invisible characters in its texts. Names, URIs and values that programs compare stay.
/// Returns `None` if nothing changes, and if the descriptor [is unreadable](is_unreadable).
pub(crate) fn stripped(descriptor: &RawJson) -> Option<RawJson> {
    if is_plain(descriptor) {
        return None;
    }
    let mut value = descriptor.to_value().ok()?;
    strip(&mut value).then(|| RawJson::from(value))
}

/// Removes the invisible characters from the texts of a value. Returns `true` if there were any.
fn strip(value: &mut Value) -> bool {
    match value {
        Value::String(text) => {
            let Cow::Owned(visible) = without_invisible(text) else {
                return false;
            };
            let is_changed = visible != *text;
            *text = visible;
            is_changed
        }
        Value::Array(elements) => {
            let changes = elements.iter_mut().map(strip);
            changes.fold(false, |one, other| one | other)
        }
        Value::Object(members) => {
            // The name of a property can be that of such a member. Its value is then a schema.
            let is_text = |name: &String, value: &Value| {
                value.is_object() || !COMPARED.contains(&name.as_str())
            };
            let changes = members.iter_mut();
            let changes = changes.map(|(name, value)| is_text(name, value) && strip(value));
            changes.fold(false, |one, other| one | other)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> RawJson {
        RawJson::from_string(text.to_owned()).unwrap()
    }

    #[test]
    fn invisible_characters_are_found_in_all_texts() {
        let check = |text: &str, expected: &[InvisibleCharacter]| {
            assert_eq!(kinds_in(&json(text)), expected, "{text}");
        };
        check(r#"{"description":"plain \u00e9 \u2764\ufe0f"}"#, &[]);
        check(
            r#"{"description":"a\u200bb"}"#,
            &[InvisibleCharacter::ZeroWidth],
        );
        check(
            "{\"inputSchema\":{\"x\":[\"\u{202e}\"]},\"d\":\"\u{e0041}\"}",
            &[InvisibleCharacter::Tag, InvisibleCharacter::Bidirectional],
        );
        check(r#"{"a\ufeff":1}"#, &[InvisibleCharacter::ZeroWidth]);
    }

    #[test]
    fn descriptor_with_half_a_surrogate_pair_is_unreadable() {
        assert!(is_unreadable(&json(r#"{"description":"\ud800 a\u200b"}"#)));
        assert!(!is_unreadable(&json(r#"{"description":"a\u200b"}"#)));
        assert!(!is_unreadable(&json(r#"{"description":"a"}"#)));
    }

    #[test]
    fn texts_are_stripped_and_compared_values_stay() {
        let check = |text: &str, expected: Option<&str>| {
            let stripped = stripped(&json(text));
            assert_eq!(stripped.as_ref().map(RawJson::get), expected, "{text}");
        };
        check(r#"{"name":"a","description":"plain \u00e9","n":1.0}"#, None);
        check(r#"{"name":"a\u200b","uri":"x:\u200b"}"#, None);
        check(
            r#"{"name":"a","description":"b\u200b\udb40\udc41c","title":"\u202ed"}"#,
            Some(r#"{"name":"a","description":"bc","title":"d"}"#),
        );
        check(
            "{\"inputSchema\":{\"properties\":{\"default\":{\"description\":\"a\u{200b}\"}}}}",
            Some(r#"{"inputSchema":{"properties":{"default":{"description":"a"}}}}"#),
        );
        check(
            "{\"inputSchema\":{\"enum\":[\"a\u{200b}\"],\"default\":\"a\u{200b}\"}}",
            None,
        );
        check(
            "{\"x\":[\"a\u{feff}\",[\"\u{feff}\"]]}",
            Some(r#"{"x":["a",[""]]}"#),
        );
    }
}
