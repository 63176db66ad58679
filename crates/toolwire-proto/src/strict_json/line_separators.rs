//! Escapes the characters that JSON allows raw but real peers take for the end of a line.

use std::borrow::Cow;

/// Writes U+2028, U+2029 and U+0085 as `\uXXXX`.
///
/// In valid JSON they only occur inside strings, where the escape means the same. Text without them is returned as is.
///
/// ```
/// use toolwire_proto::strict_json::escape_line_separators;
///
/// assert_eq!(escape_line_separators("\"a\u{2028}b\""), r#""a\u2028b""#);
/// ```
#[must_use]
pub fn escape_line_separators(json: &str) -> Cow<'_, str> {
    let mut escaped = String::new();
    let mut copied = 0;
    // All three begin with one of two bytes that are rare in most text: C2 85, E2 80 A8 and E2 80 A9.
    for at in memchr::memchr2_iter(0xC2, 0xE2, json.as_bytes()) {
        let (escape, length) = match &json.as_bytes()[at..] {
            [0xC2, 0x85, ..] => (r"\u0085", 2),
            [0xE2, 0x80, 0xA8, ..] => (r"\u2028", 3),
            [0xE2, 0x80, 0xA9, ..] => (r"\u2029", 3),
            _ => continue,
        };
        escaped.push_str(&json[copied..at]);
        escaped.push_str(escape);
        copied = at + length;
    }
    if copied == 0 {
        return Cow::Borrowed(json);
    }
    escaped.push_str(&json[copied..]);
    Cow::Owned(escaped)
}
