//! What logs, metrics and traces may contain of a request: texts without secrets and of limited length.

use std::borrow::Cow;

use sha2::{Digest as _, Sha256};

/// The maximum number of bytes of a name or a URI that is recorded.
pub const MAX_NAME_BYTES: usize = 256;

/// Returns the digest by which a session is recorded: the first 16 hexadecimal digits of its SHA-256.
///
/// The id of a session is a credential, because it identifies the client of a legacy revision.
#[must_use]
pub fn session_digest(id: &str) -> String {
    let digest = Sha256::digest(id);
    digest[..8].iter().fold(String::new(), |mut text, byte| {
        let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or('0');
        text.push(digit(byte >> 4));
        text.push(digit(byte & 0xF));
        text
    })
}

/// Returns a URI without its user info, query and fragment, which may contain secrets, and of limited length.
#[must_use]
pub fn recorded_uri(uri: &str) -> Cow<'_, str> {
    let end = uri.find(['?', '#']).unwrap_or(uri.len());
    let uri = &uri[..end];
    let Some((scheme, rest)) = uri.split_once("://") else {
        return Cow::Borrowed(recorded_name(uri));
    };
    let authority_end = rest.find('/').unwrap_or(rest.len());
    match rest[..authority_end].rfind('@') {
        Some(at) => {
            let shown = format!("{scheme}://{}", &rest[at + 1..]);
            Cow::Owned(recorded_name(&shown).to_owned())
        }
        None => Cow::Borrowed(recorded_name(uri)),
    }
}

/// Returns the start of an error message, with each URI in it as [`recorded_uri`] returns it.
#[must_use]
pub fn recorded_message(message: &str) -> String {
    let is_delimiter = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>');
    let mut recorded = String::with_capacity(message.len().min(MAX_NAME_BYTES));
    for word in message.split_inclusive(is_delimiter) {
        let text = word.trim_end_matches(is_delimiter);
        let delimiter = &word[text.len()..];
        if has_scheme(text) {
            recorded.push_str(&recorded_uri(text));
        } else {
            recorded.push_str(text);
        }
        recorded.push_str(delimiter);
        if recorded.len() > MAX_NAME_BYTES {
            break;
        }
    }
    recorded.truncate(recorded_name(&recorded).len());
    recorded
}

/// Returns `true` if a word begins like a URI.
fn has_scheme(word: &str) -> bool {
    word.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    })
}

/// Returns the start of a name that a peer chose.
#[must_use]
pub fn recorded_name(name: &str) -> &str {
    let mut end = name.len().min(MAX_NAME_BYTES);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_digest_is_the_start_of_its_hash() {
        // echo -n abc | sha256sum
        assert_eq!(session_digest("abc"), "ba7816bf8f01cfea");
    }

    #[test]
    fn recorded_uri_has_no_user_info_and_no_query() {
        let check = |uri: &str, expected: &str| assert_eq!(recorded_uri(uri), expected, "{uri}");
        check("file:///notes/today", "file:///notes/today");
        check(
            "https://me:secret@a.test/x?key=secret#y",
            "https://a.test/x",
        );
        check("https://a@b@a.test", "https://a.test");
        check("https://a.test/me@home", "https://a.test/me@home");
        check("note:today?key=secret", "note:today");
        check("urn:a#b?c", "urn:a");
        check("", "");
    }

    #[test]
    fn recorded_message_has_no_secrets_of_uris() {
        let check = |message: &str, expected: &str| {
            assert_eq!(recorded_message(message), expected, "{message}");
        };
        check("no tool \"a\"; is it #1?", "no tool \"a\"; is it #1?");
        check(
            "resource not found: note:a?key=secret",
            "resource not found: note:a",
        );
        check(
            "cannot read \"https://me:secret@a.test/x?y#z\" now",
            "cannot read \"https://a.test/x\" now",
        );
        let longest = "a".repeat(MAX_NAME_BYTES);
        check(&format!("{longest} b"), &longest);
        let uri = format!("{} https://me:secret@a.test", &longest[..240]);
        check(&uri, &format!("{} https://a.test", &longest[..240]));
    }

    #[test]
    fn recorded_text_ends_at_a_character_within_the_limit() {
        let longest = "a".repeat(MAX_NAME_BYTES);
        assert_eq!(recorded_name(&longest), longest);
        assert_eq!(recorded_name(&format!("{longest}b")), longest);
        let wide = "ü".repeat(MAX_NAME_BYTES);
        assert_eq!(recorded_name(&wide).len(), MAX_NAME_BYTES);
        let odd = format!("a{wide}");
        assert_eq!(recorded_name(&odd).len(), MAX_NAME_BYTES - 1);
        let uri = format!("file:///{longest}");
        assert_eq!(recorded_uri(&uri).len(), MAX_NAME_BYTES);
    }
}
