//! The characters of a URI: their sets, their escapes, and the normalization of equal spellings.

/// A set of ASCII characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AsciiSet(u128);

/// RFC 3986 section 2.3: characters that never need escaping.
pub(super) const UNRESERVED: AsciiSet =
    AsciiSet::of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~");
/// RFC 3986 section 2.2: characters that may be delimiters.
pub(super) const RESERVED: AsciiSet = AsciiSet::of(":/?#[]@!$&'()*+,;=");
/// All characters that occur in a URI without escaping.
pub(super) const URI: AsciiSet = UNRESERVED.union(RESERVED);

impl AsciiSet {
    pub(super) const EMPTY: Self = Self(0);

    pub(super) const fn of(characters: &str) -> Self {
        let bytes = characters.as_bytes();
        let mut bits = 0;
        let mut index = 0;
        while index < bytes.len() {
            assert!(bytes[index].is_ascii(), "the set contains ASCII only");
            bits |= 1 << bytes[index];
            index += 1;
        }
        Self(bits)
    }

    pub(super) const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns the set with one more character, which must be ASCII.
    pub(super) const fn with(self, character: char) -> Self {
        assert!(character.is_ascii(), "the set contains ASCII only");
        Self(self.0 | 1 << character as u32)
    }

    pub(super) const fn contains(self, character: char) -> bool {
        character.is_ascii() && self.0 >> character as u32 & 1 == 1
    }
}

/// One character of a URI, in the spelling that equal URIs share (RFC 3986 section 6.2.2).
///
/// Unreserved characters are always `Plain` and characters beyond ASCII always `Escaped`, in any original spelling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token {
    Plain(char),
    Escaped(char),
    /// An escaped byte that is not part of any UTF-8 character.
    Octet(u8),
}

/// Splits text into characters.
///
/// Returns the position of a malformed escape as the error.
pub(super) fn tokenize(text: &str) -> Result<Vec<Token>, usize> {
    let mut tokens = Vec::with_capacity(text.len());
    let mut octets = Vec::new();
    let mut position = 0;
    while let Some(character) = text[position..].chars().next() {
        if character != '%' {
            tokens.push(if character.is_ascii() {
                Token::Plain(character)
            } else {
                Token::Escaped(character)
            });
            position += character.len_utf8();
            continue;
        }
        // Adjacent escapes are decoded together, since one character may need several.
        octets.clear();
        while text.as_bytes().get(position) == Some(&b'%') {
            octets.push(escaped_octet(&text.as_bytes()[position..]).ok_or(position)?);
            position += 3;
        }
        for chunk in octets.utf8_chunks() {
            tokens.extend(chunk.valid().chars().map(|character| {
                if UNRESERVED.contains(character) {
                    Token::Plain(character)
                } else {
                    Token::Escaped(character)
                }
            }));
            tokens.extend(chunk.invalid().iter().copied().map(Token::Octet));
        }
    }
    Ok(tokens)
}

/// Appends text and escapes the characters that are not in `keep`. If `keep_escapes` is set, existing escapes stay.
pub(super) fn escape_into(output: &mut String, text: &str, keep: AsciiSet, keep_escapes: bool) {
    for (position, character) in text.char_indices() {
        let is_escape = keep_escapes && escaped_octet(&text.as_bytes()[position..]).is_some();
        if is_escape || keep.contains(character) {
            // The two digits after the percent sign are unreserved, so they are copied, too.
            output.push(character);
        } else {
            for octet in character.encode_utf8(&mut [0; 4]).bytes() {
                output.push('%');
                output.push(hexadecimal_digit(octet >> 4));
                output.push(hexadecimal_digit(octet & 0x0F));
            }
        }
    }
}

/// Returns the byte of an escape at the start of `bytes`.
pub(super) fn escaped_octet(bytes: &[u8]) -> Option<u8> {
    let [b'%', high, low, ..] = bytes else {
        return None;
    };
    let high = char::from(*high).to_digit(16)?;
    let low = char::from(*low).to_digit(16)?;
    u8::try_from(high << 4 | low).ok()
}

fn hexadecimal_digit(value: u8) -> char {
    char::from(b"0123456789ABCDEF"[usize::from(value & 0x0F)])
}
