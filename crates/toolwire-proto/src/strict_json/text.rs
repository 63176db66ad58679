//! The value of a checked JSON string after its escapes are resolved.

use std::borrow::Cow;
use std::str::Chars;

/// Returns the value of a JSON string. Returns `None` if the value is not a string.
pub(crate) fn string_value(value: &str) -> Option<Cow<'_, str>> {
    let inside = value.strip_prefix('"')?.strip_suffix('"')?;
    Some(unescape(inside))
}

/// Resolves the escapes of the text between two quotes. Text without escapes is borrowed.
pub(super) fn unescape(text: &str) -> Cow<'_, str> {
    // Most strings are short, so a vectorized search would not pay off.
    if text.as_bytes().contains(&b'\\') {
        Cow::Owned(characters(text).collect())
    } else {
        Cow::Borrowed(text)
    }
}

/// Returns the unescaped characters of a checked string.
pub(super) fn characters(text: &str) -> Characters<'_> {
    Characters { rest: text.chars() }
}

#[derive(Debug)]
pub(super) struct Characters<'a> {
    rest: Chars<'a>,
}

impl Iterator for Characters<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        match self.rest.next()? {
            '\\' => self.escape(),
            plain => Some(plain),
        }
    }
}

impl Characters<'_> {
    fn escape(&mut self) -> Option<char> {
        Some(match self.rest.next()? {
            'b' => '\u{8}',
            'f' => '\u{C}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => self.unicode_escape(),
            itself => itself,
        })
    }

    fn unicode_escape(&mut self) -> char {
        let unit = self.four_hex_digits();
        let scalar = if (0xD800..0xDC00).contains(&unit) {
            let _backslash_and_u = self.rest.nth(1);
            let low = self.four_hex_digits();
            0x1_0000 + ((unit & 0x3FF) << 10) + (low & 0x3FF)
        } else {
            unit
        };
        char::from_u32(scalar).unwrap_or(char::REPLACEMENT_CHARACTER)
    }

    fn four_hex_digits(&mut self) -> u32 {
        let digits = self.rest.by_ref().take(4);
        digits.fold(0, |unit, digit| unit * 16 + digit.to_digit(16).unwrap_or(0))
    }
}
