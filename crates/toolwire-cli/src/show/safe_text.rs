//! Makes untrusted text safe for a terminal.
//!
//! Two kinds of characters never reach a terminal. Control characters start escape sequences, which change colours, the
//! title, the clipboard or what was printed before. Format characters are invisible or change the order of the text, so
//! that a reader sees something other than what is there: bidirectional controls, zero-width characters, fillers, tags,
//! and variation selectors that carry hidden data.
//!
//! Text gets a replacement character (U+FFFD) instead. JSON gets an escape (`\u202e`), which keeps its value.
//!
//! Invisible characters of ordinary writing stay in text; see `toolwire_proto::invisible_characters`, which has the table.

use std::borrow::Cow;
use std::fmt::Write;

use toolwire_proto::invisible_characters::{InvisibleCharacter, replace_invisible};

const REPLACEMENT: char = '\u{fffd}';

/// Returns the text without characters that control a terminal or are invisible. Newlines and tabs stay, carriage
/// returns are removed.
pub(crate) fn plain_text(text: &str) -> Cow<'_, str> {
    let shown = replace_invisible(text, |_| Some(REPLACEMENT));
    if !shown.chars().any(controls_terminal) {
        return shown;
    }
    let characters = shown.chars().filter(|character| *character != '\r');
    let replaced = characters.map(|character| {
        if controls_terminal(character) {
            REPLACEMENT
        } else {
            character
        }
    });
    Cow::Owned(replaced.collect())
}

/// Returns the text as [`plain_text`] does, in one line.
pub(crate) fn one_line(text: &str) -> String {
    plain_text(text).replace(['\n', '\r'], "\u{fffd}")
}

/// Returns the same JSON with every such character escaped. They can only be in strings, where escapes are possible.
pub(crate) fn escaped_json(json: &str) -> Cow<'_, str> {
    let must_escape =
        |c: char| (controls_terminal(c) && c != '\r') || InvisibleCharacter::of(c).is_some();
    if !json.chars().any(must_escape) {
        return Cow::Borrowed(json);
    }
    let mut escaped = String::with_capacity(json.len());
    for character in json.chars() {
        if !must_escape(character) {
            escaped.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            let _ = write!(escaped, "\\u{unit:04x}");
        }
    }
    Cow::Owned(escaped)
}

/// Returns `true` for control characters except newlines and tabs.
fn controls_terminal(character: char) -> bool {
    character.is_control() && !matches!(character, '\n' | '\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_are_replaced() {
        assert_eq!(
            plain_text("a\u{1b}[31mb\r\n\tc\u{9b}\u{7f}"),
            "a\u{fffd}[31mb\n\tc\u{fffd}\u{fffd}"
        );
        assert!(matches!(plain_text("ordinary\n\ttext"), Cow::Borrowed(_)));
        assert!(matches!(plain_text("Größe → 漢字 🎉"), Cow::Borrowed(_)));
    }

    #[test]
    fn every_hidden_character_is_replaced_and_escaped() {
        let named = "\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}\u{200e}\u{200f}\u{61c}\
                     \u{200b}\u{200c}\u{200d}\u{2060}\u{2061}\u{2062}\u{2063}\u{2064}\u{feff}\u{ad}\u{fe0f}\u{2028}";
        let tags = '\u{e0000}'..='\u{e007f}';
        let selectors = '\u{e0100}'..='\u{e01ef}';
        for character in named.chars().chain(tags).chain(selectors) {
            let text = format!("a{character}b");
            assert_eq!(plain_text(&text), "a\u{fffd}b", "{text:?}");
            let json = serde_json::Value::from(text.as_str()).to_string();
            let escaped = escaped_json(&json);
            assert!(escaped.is_ascii(), "{escaped:?}");
            let read: String = serde_json::from_str(&escaped).unwrap();
            assert_eq!(read, text);
        }
    }

    #[test]
    fn json_keeps_its_value() {
        let json = "{\n  \"a\": \"b\\u001b \u{9b}\u{202e}\u{e0041}c\"\n}";
        let escaped = escaped_json(json);
        assert_eq!(
            escaped,
            "{\n  \"a\": \"b\\u001b \\u009b\\u202e\\udb40\\udc41c\"\n}"
        );
        let value = |json: &str| serde_json::from_str::<serde_json::Value>(json).unwrap();
        assert_eq!(value(&escaped), value(json));
        assert!(matches!(escaped_json("{\"a\": \"é\"}"), Cow::Borrowed(_)));
    }
}
