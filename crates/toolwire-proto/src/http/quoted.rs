//! Lists and parameters in header values, in which a quoted string may contain separators (RFC 9110, section 5.6).

use crate::header_value::trimmed;

/// Returns the parts between separators, without surrounding white space.
pub(super) fn split(text: &str, separator: u8) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    let has_quotes = memchr::memchr(b'"', text.as_bytes()).is_some();
    std::iter::from_fn(move || {
        let text = rest?;
        let at = if has_quotes {
            find_unquoted(text, separator)
        } else {
            memchr::memchr(separator, text.as_bytes())
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

/// Returns the name and the value of a parameter, without the quotes around the value.
pub(super) fn parameter(text: &str) -> Option<(&str, &str)> {
    let (name, value) = text.split_once('=')?;
    let value = trimmed(value);
    let unquoted = value
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
        .unwrap_or(value);
    Some((trimmed(name), unquoted))
}

/// Returns the position of the first separator outside of quotes. Separators are ASCII, so the position is a character
/// boundary.
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
    fn quoted_separators_are_ignored() {
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
        fn splitting_any_text_does_not_panic(text in any::<String>()) {
            prop_assert!(split(&text, b';').count() >= 1);
        }
    }
}
