//! Characters that must not be in a snippet as they are.

use toolwire_proto::invisible_characters::InvisibleCharacter;

/// Returns `true` for a character that could hide or reorder text, or control a terminal. Line breaks and tabs do not.
pub(super) fn is_hidden(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        '\u{fffe}' | '\u{ffff}' => true,
        _ => character.is_control() || InvisibleCharacter::of(character).is_some(),
    }
}

/// Returns the text with each hidden character replaced.
pub(super) fn escape_hidden(text: &str, escape: impl Fn(char) -> String) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if is_hidden(character) {
            escaped.push_str(&escape(character));
        } else {
            escaped.push(character);
        }
    }
    escaped
}

/// Returns `true` if a character is hidden.
pub(super) fn has_hidden(text: &str) -> bool {
    text.chars().any(is_hidden)
}
