//! String literals of Rust, TypeScript and Python.

use std::fmt::Write;

use crate::snippets::hidden_characters::{escape_hidden, has_hidden};
use crate::snippets::json_text::quoted;

/// Returns a string literal of Rust.
pub(super) fn rust(text: &str) -> String {
    if has_hidden(text) {
        // Hidden characters need escape sequences, so the others do too.
        let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
        return format!("\"{}\"", escape_hidden(&escaped, rust_escape));
    }
    if !text.contains(['"', '\\']) {
        return format!("\"{text}\"");
    }
    // A raw string needs more marks than the text contains in a row after a quotation mark.
    let runs = text.split('"').skip(1);
    let longest = runs.map(|rest| rest.len() - rest.trim_start_matches('#').len());
    let marks = match longest.max() {
        Some(longest) => "#".repeat(longest + 1),
        None => String::new(),
    };
    format!("r{marks}\"{text}\"{marks}")
}

/// Returns a string literal of TypeScript.
pub(super) fn typescript(text: &str) -> String {
    ascii(text, json_escape)
}

/// Returns a string literal of Python, which does not combine two halves of a character.
pub(super) fn python(text: &str) -> String {
    ascii(text, |character| match u32::from(character) {
        code @ 0x1_0000.. => format!("\\U{code:08x}"),
        _ => json_escape(character),
    })
}

/// Returns each part of a character as an escape sequence of JSON.
pub(super) fn json_escape(character: char) -> String {
    let mut text = String::new();
    for unit in character.encode_utf16(&mut [0; 2]) {
        let _ = write!(text, "\\u{unit:04x}");
    }
    text
}

fn rust_escape(character: char) -> String {
    format!("\\u{{{:x}}}", u32::from(character))
}

/// Returns a JSON string in which all characters after those of ASCII are escaped.
fn ascii(text: &str, escape: impl Fn(char) -> String) -> String {
    let mut literal = String::new();
    for character in quoted(text).chars() {
        if character < '\u{7f}' {
            literal.push(character);
        } else {
            literal.push_str(&escape(character));
        }
    }
    literal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rust_string_is_raw_if_it_has_quotation_marks() {
        for (text, literal) in [
            ("plain", r#""plain""#),
            (r"a\b", r#"r"a\b""#),
            (r#"a "b""#, r##"r#"a "b""#"##),
            (r##"a "# b"##, r###"r##"a "# b"##"###),
            ("a \u{202e}\"\\", r#""a \u{202e}\"\\""#),
            ("a\r", r#""a\u{d}""#),
        ] {
            assert_eq!(rust(text), literal);
        }
    }

    #[test]
    fn other_literals_are_ascii() {
        let text = "é 𝒳 \u{7f}\n\"";
        assert_eq!(typescript(text), r#""\u00e9 \ud835\udcb3 \u007f\n\"""#);
        assert_eq!(python(text), r#""\u00e9 \U0001d4b3 \u007f\n\"""#);
    }
}
