//! Lists and parameters of header values, in which a quoted string hides its separators (RFC 9110, section 5.6).

use crate::header_value::trimmed;

/// The parts between separators, without the white space around them.
pub(super) fn split(text: &str, separator: u8) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    let has_quotes = memchr::memchr(b'"', text.as_bytes()).is_some();
    std::iter::from_fn(move || {
        let text = rest?;
        let at = match has_quotes {
            true => find_unquoted(text, separator),
            false => memchr::memchr(separator, text.as_bytes()),
        };
        let part = match at {
            Some(at) => {
                rest = Some(&text[at + 1..]);
                &text[..at]
            }
            None => {
                rest = None;
                text
            }
        };
        Some(trimmed(part))
    })
}

/// A parameter's name and value, the quotes around the value removed.
pub(super) fn parameter(text: &str) -> Option<(&str, &str)> {
    let (name, value) = text.split_once('=')?;
    let value = trimmed(value);
    let unquoted = value
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
        .unwrap_or(value);
    Some((trimmed(name), unquoted))
}

/// Separators are ASCII, so what is found is a character of its own.
fn find_unquoted(text: &str, separator: u8) -> Option<usize> {
    let mut is_quoted = false;
    let mut is_escaped = false;
    text.bytes().position(|byte| {
        let was_escaped = std::mem::take(&mut is_escaped);
        match byte {
            _ if was_escaped => {}
            b'\\' => is_escaped = is_quoted,
            b'"' => is_quoted = !is_quoted,
            _ => return byte == separator && !is_quoted,
        }
        false
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quoted_separators_separate_nothing() {
        #[track_caller]
        fn check(text: &str, expected: &[&str]) {
            let parts: Vec<&str> = split(text, b',').collect();
            assert_eq!(parts, expected);
        }
        check("", &[""]);
        check("a", &["a"]);
        check(" a ,\tb,", &["a", "b", ""]);
        check("a=\"1,2\",b", &["a=\"1,2\"", "b"]);
        check("a=\"1\\\",2\",b", &["a=\"1\\\",2\"", "b"]);
        check("a=\"1\\\\\",b", &["a=\"1\\\\\"", "b"]);
        check("a\\,b", &["a\\", "b"]);
        check("\"open,b", &["\"open,b"]);
        check("ü,ö", &["ü", "ö"]);
    }

    #[test]
    fn parameters_lose_their_quotes() {
        assert_eq!(parameter("a=b"), Some(("a", "b")));
        assert_eq!(parameter("a = \"b c\""), Some(("a", "b c")));
        assert_eq!(parameter("a=\"b"), Some(("a", "\"b")));
        assert_eq!(parameter("a=\""), Some(("a", "\"")));
        assert_eq!(parameter("a="), Some(("a", "")));
        assert_eq!(parameter("a"), None);
    }

    proptest! {
        #[test]
        fn splitting_anything_does_not_panic(text in any::<String>()) {
            prop_assert!(split(&text, b';').count() >= 1);
        }
    }
}
