//! Text of a peer in log messages.

use std::fmt::{self, Write as _};

use toolwire_proto::invisible_characters::InvisibleCharacter;

/// The maximum characters of a peer's text in a span or log message.
const MAX_CHARS: usize = 128;

/// Text that a peer chose, for a log message. It is shortened, and control and invisible characters are escaped, so that
/// it cannot look like another log message or control a terminal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PeerText<'a>(&'a str);

impl<'a> PeerText<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        match text.char_indices().nth(MAX_CHARS) {
            Some((end, _)) => Self(&text[..end]),
            None => Self(text),
        }
    }

    /// Returns the shortened text without escapes, for a field, which subscribers write as a quoted string.
    pub(crate) fn as_str(self) -> &'a str {
        self.0
    }
}

impl fmt::Display for PeerText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|character| match character {
            '\'' | '"' => f.write_char(character),
            _ if InvisibleCharacter::of(character).is_some() => {
                write!(f, "{}", character.escape_unicode())
            }
            _ => write!(f, "{}", character.escape_debug()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_and_invisible_characters_are_escaped() {
        let check = |text: &str, expected: &str| {
            assert_eq!(PeerText::new(text).to_string(), expected);
        };
        check("file:///a b/'c\"", "file:///a b/'c\"");
        check("größe 世界", "größe 世界");
        check("a\r\nb\tc\0", r"a\r\nb\tc\0");
        check("\u{1b}[2J\u{9b}2J", r"\u{1b}[2J\u{9b}2J");
        check("\u{202e}\u{200b}\u{2028}", r"\u{202e}\u{200b}\u{2028}");
        // An escape of the peer differs from one of this type.
        check(r"a\nb", r"a\\nb");
    }

    #[test]
    fn long_text_is_shortened() {
        let longest = "é".repeat(MAX_CHARS);
        assert_eq!(PeerText::new(&longest).as_str(), longest);
        let longer = format!("{longest}x");
        assert_eq!(PeerText::new(&longer).as_str(), longest);
        assert_eq!(PeerText::new(&longer).to_string(), longest);
    }
}
