//! Replaces secrets in messages, headers and texts.
//!
//! A secret is the value of a member with a telling name, or a text with the form of a token or a key. This is a help, not
//! a guarantee: a secret that looks like ordinary text stays. The replacement has the length and the first two bytes of
//! the digest, so that equal secrets stay equal and `toolwire replay` can compare them.

mod json;
mod patterns;

use sha2::{Digest as _, Sha256};

pub(crate) use json::redact_json;
pub(super) use patterns::{redact_log_line, redact_text};

/// The start of every replacement, followed by the length of the secret.
const START: &str = "[redacted ";

/// What follows the length, before the digest.
const AFTER_LENGTH: &str = " bytes sha256:";

/// The number of digits of the digest.
const DIGEST_DIGITS: usize = 4;

/// What a redacted record lists in its header.
pub(super) const REDACTED: [&str; 9] = [
    "authorization",
    "cookie",
    "set-cookie",
    "dpop",
    "mcp-session-id",
    "mcp-param-*",
    "members: password, secret, token, api_key, credential, requestState",
    "texts: JWT, keys of known services, private keys, passwords in URLs",
    "headers given by the user",
];

/// Returns the text that replaces a secret.
pub(super) fn replacement(secret: &str) -> String {
    let digest = Sha256::digest(secret.as_bytes());
    let (first, second) = (digest[0], digest[1]);
    let length = secret.len();
    format!("{START}{length}{AFTER_LENGTH}{first:02x}{second:02x}]")
}

/// Returns `true` if a text is or contains a replacement.
pub(crate) fn is_redacted(text: &str) -> bool {
    text.match_indices(START)
        .any(|(start, _)| replacement_len(&text[start..]).is_some())
}

/// Returns the length of the replacement that a text begins with.
fn replacement_len(text: &str) -> Option<usize> {
    let rest = text.strip_prefix(START)?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let rest = rest[digits..].strip_prefix(AFTER_LENGTH)?;
    let digest = rest.as_bytes().get(..DIGEST_DIGITS)?;
    let is_digest = digest.iter().all(u8::is_ascii_hexdigit);
    let is_complete = digits > 0 && is_digest && rest.as_bytes().get(DIGEST_DIGITS) == Some(&b']');
    is_complete.then_some(START.len() + digits + AFTER_LENGTH.len() + DIGEST_DIGITS + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_form_is_a_replacement() {
        let replaced = replacement("hunter2");
        assert_eq!(replacement_len(&replaced), Some(replaced.len()));
        assert!(is_redacted(&format!("a [redacted {replaced} b")));
        for text in [
            "[redacted ",
            "[redacted by hand]",
            "[redacted  bytes sha256:f52f]",
            "[redacted 7 bytes sha256:f52]",
            "[redacted 7 bytes sha256:f52fa]",
            "[redacted 7 bytes sha256:f52é]",
        ] {
            assert!(!is_redacted(text), "{text}");
        }
    }
}
