//! The digests of files.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

/// The text before the digits of a digest.
const PREFIX: &str = "sha256:";

/// The number of hexadecimal digits.
const DIGITS: usize = 64;

/// Returns the digest of the bytes of a file: `sha256:` and 64 lowercase hexadecimal digits.
///
/// ```
/// use toolwire_proto::skills::digest;
///
/// assert!(digest(b"").starts_with("sha256:e3b0c44298fc1c14"));
/// ```
#[must_use]
pub fn digest(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// Returns `true` if a text has the form of a digest.
#[must_use]
pub fn is_digest(text: &str) -> bool {
    let digits = text.strip_prefix(PREFIX).unwrap_or_default().as_bytes();
    digits.len() == DIGITS
        && digits
            .iter()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Returns the bytes of a hash in the form of a digest.
pub(super) fn hexadecimal(hash: &[u8]) -> String {
    let mut text = String::with_capacity(PREFIX.len() + DIGITS);
    text.push_str(PREFIX);
    for byte in hash {
        write!(text, "{byte:02x}").expect("writing to a string cannot fail");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_is_sha256_in_lowercase() {
        let check = |bytes: &[u8], expected: &str| assert_eq!(digest(bytes), expected);
        check(
            b"",
            "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        );
        check(
            b"abc",
            "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        );
    }

    #[test]
    fn form_of_a_digest_is_exact() {
        let valid = digest(b"a");
        assert!(is_digest(&valid));
        let digits = &valid[PREFIX.len()..];
        for text in [
            "",
            "sha256:",
            digits,
            &format!("SHA256:{digits}"),
            &format!("sha512:{digits}"),
            &valid.to_uppercase(),
            &valid[..valid.len() - 1],
            &format!("{valid}0"),
            &format!("{PREFIX}{}", "g".repeat(DIGITS)),
        ] {
            assert!(!is_digest(text), "{text}");
        }
    }
}
