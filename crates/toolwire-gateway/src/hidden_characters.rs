//! Finds characters that a reader does not see, but a model reads.

use serde_json::Value;
use toolwire::RawJson;

/// A kind of characters that a reader does not see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum HiddenCharacter {
    /// Tag characters, which can spell any text.
    Tag,
    /// Characters that change the direction of text.
    Bidirectional,
    /// Characters without a width.
    ZeroWidth,
}

impl HiddenCharacter {
    /// Returns the kind of a character. `None` if it is visible.
    #[must_use]
    pub fn of(character: char) -> Option<Self> {
        match character {
            '\u{e0000}'..='\u{e007f}' => Some(Self::Tag),
            '\u{61c}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' => Some(Self::Bidirectional),
            '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2064}' | '\u{feff}' => Some(Self::ZeroWidth),
            _ => None,
        }
    }

    /// Returns the kind in words.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tag => "tag characters",
            Self::Bidirectional => "bidirectional controls",
            Self::ZeroWidth => "zero-width characters",
        }
    }
}

/// Returns the kinds of hidden characters in the texts of a descriptor, each one once.
pub(crate) fn hidden_characters(descriptor: &RawJson) -> Vec<HiddenCharacter> {
    let mut kinds = Vec::new();
    if let Ok(value) = descriptor.to_value() {
        collect(&value, &mut kinds);
    }
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

fn collect(value: &Value, kinds: &mut Vec<HiddenCharacter>) {
    match value {
        Value::String(text) => kinds.extend(text.chars().filter_map(HiddenCharacter::of)),
        Value::Array(elements) => elements.iter().for_each(|element| collect(element, kinds)),
        Value::Object(members) => {
            for (name, value) in members {
                kinds.extend(name.chars().filter_map(HiddenCharacter::of));
                collect(value, kinds);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_found_in_all_texts() {
        let check = |text: &str, expected: &[HiddenCharacter]| {
            let json = RawJson::from_string(text.to_owned()).unwrap();
            assert_eq!(hidden_characters(&json), expected, "{text}");
        };
        check(r#"{"description":"plain \u00e9"}"#, &[]);
        check(
            r#"{"description":"a\u200bb"}"#,
            &[HiddenCharacter::ZeroWidth],
        );
        check(
            "{\"inputSchema\":{\"x\":[\"\u{202e}\"]},\"d\":\"\u{e0041}\"}",
            &[HiddenCharacter::Tag, HiddenCharacter::Bidirectional],
        );
        check(r#"{"a\ufeff":1}"#, &[HiddenCharacter::ZeroWidth]);
    }
}
