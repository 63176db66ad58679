//! `application/x-www-form-urlencoded`: the bodies of token requests and the queries of redirects.

use std::fmt::Write as _;

/// Encodes pairs as `name=value&…`.
///
/// A space becomes `%20` and not `+`, because all parsers understand it, including those that decode URLs.
#[must_use]
pub fn encode<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut text = String::new();
    for (name, value) in pairs {
        if !text.is_empty() {
            text.push('&');
        }
        encode_into(&mut text, name);
        text.push('=');
        encode_into(&mut text, value);
    }
    text
}

/// Appends one part of a form. All characters are escaped except letters, digits and `-._~`.
pub(super) fn encode_into(text: &mut String, part: &str) {
    for byte in part.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            text.push(char::from(byte));
        } else {
            write!(text, "%{byte:02X}").expect("writing to a string does not fail");
        }
    }
}

/// Parses pairs in order. Returns `None` if an escape is incomplete or the decoded bytes are not UTF-8.
#[must_use]
pub fn decode(text: &str) -> Option<Vec<(String, String)>> {
    text.split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((decode_part(name)?, decode_part(value)?))
        })
        .collect()
}

pub(super) fn decode_part(part: &str) -> Option<String> {
    let mut decoded = Vec::with_capacity(part.len());
    let mut bytes = part.bytes();
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'+' => b' ',
            b'%' => 16 * hexadecimal(bytes.next()?)? + hexadecimal(bytes.next()?)?,
            _ => byte,
        });
    }
    String::from_utf8(decoded).ok()
}

fn hexadecimal(digit: u8) -> Option<u8> {
    let value = char::from(digit).to_digit(16)?;
    u8::try_from(value).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn forms_of_browsers_are_parsed() {
        #[track_caller]
        fn check(text: &str, expected: Option<&[(&str, &str)]>) {
            let pairs = decode(text);
            let pairs: Option<Vec<_>> = pairs.as_ref().map(|pairs| {
                let pairs = pairs.iter();
                pairs
                    .map(|(name, value)| (name.as_str(), value.as_str()))
                    .collect()
            });
            assert_eq!(pairs.as_deref(), expected, "{text:?}");
        }
        check("", Some(&[]));
        check("a=b", Some(&[("a", "b")]));
        check("a=b&&c", Some(&[("a", "b"), ("c", "")]));
        check("a=b=c&=d", Some(&[("a", "b=c"), ("", "d")]));
        check("a+b=%2B+%c3%BC", Some(&[("a b", "+ ü")]));
        check("a=%", None);
        check("a=%4", None);
        check("a=%+4", None);
        check("%zz=a", None);
        check("a=%ff", None);
    }

    proptest! {
        #[test]
        fn form_round_trips(pairs in prop::collection::vec(any::<(String, String)>(), 0..4)) {
            let borrowed = pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()));
            let text = encode(borrowed);
            prop_assert!(text.bytes().all(|byte| byte.is_ascii_graphic()));
            prop_assert_eq!(decode(&text), Some(pairs));
        }

        #[test]
        fn parsing_never_panics(text in any::<String>()) {
            let _ = decode(&text);
        }
    }
}
