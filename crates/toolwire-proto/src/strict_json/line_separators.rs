//! Escapes for the characters that JSON permits raw but that some peers treat as line ends.

use std::borrow::Cow;

/// Writes U+2028, U+2029 and U+0085 as `\uXXXX`.
///
/// In valid JSON they occur only inside strings, where the escape means the same. Text without them is returned
/// unchanged.
///
/// ```
/// use toolwire_proto::strict_json::escape_line_separators;
///
/// assert_eq!(*escape_line_separators("\"a\u{2028}b\"".as_bytes()), *br#""a\u2028b""#);
/// ```
#[must_use]
pub fn escape_line_separators(json: &[u8]) -> Cow<'_, [u8]> {
    if json.is_ascii() {
        Cow::Borrowed(json)
    } else {
        escape_in_text(json)
    }
}

#[inline(never)]
fn escape_in_text(json: &[u8]) -> Cow<'_, [u8]> {
    let mut escaped = Vec::new();
    let mut copied = 0;
    // All three begin with one of two bytes that are rare in most text: C2 85, E2 80 A8 and E2 80 A9.
    for at in memchr::memchr2_iter(0xC2, 0xE2, json) {
        let (escape, length) = match &json[at..] {
            [0xC2, 0x85, ..] => (br"\u0085", 2),
            [0xE2, 0x80, 0xA8, ..] => (br"\u2028", 3),
            [0xE2, 0x80, 0xA9, ..] => (br"\u2029", 3),
            _ => continue,
        };
        escaped.extend_from_slice(&json[copied..at]);
        escaped.extend_from_slice(escape);
        copied = at + length;
    }
    if copied == 0 {
        return Cow::Borrowed(json);
    }
    escaped.extend_from_slice(&json[copied..]);
    Cow::Owned(escaped)
}
