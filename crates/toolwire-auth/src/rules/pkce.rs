//! PKCE (RFC 7636): a secret that binds the code to the client that requested it.
//!
//! Only `S256` is supported. `plain` protects nothing once the authorization request has been seen (OAuth 2.1, section
//! 7.5.1; spec 2026-07-28, authorization/security-considerations, "Authorization Code Protection").

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

use crate::documents::Secret;

/// The name of the only supported method.
pub const METHOD: &str = "S256";

/// The permitted lengths of a verifier (RFC 7636, section 4.1).
const LENGTHS: std::ops::RangeInclusive<usize> = 43..=128;

/// The secret that a client stores until it redeems the code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verifier(Secret);

impl Verifier {
    /// Creates a verifier from 256 bits of a secure random source.
    #[must_use]
    pub fn from_random(bytes: [u8; 32]) -> Self {
        Self(Secret::new(URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// Restores a stored verifier. Returns `None` if it is invalid.
    #[must_use]
    pub fn from_stored(text: Secret) -> Option<Self> {
        is_verifier(text.expose()).then_some(Self(text))
    }

    /// Returns the challenge for the authorization request.
    #[must_use]
    pub fn challenge(&self) -> String {
        challenge_of(self.0.expose())
    }

    /// Returns the verifier for the token request.
    #[must_use]
    pub fn as_secret(&self) -> &Secret {
        &self.0
    }
}

/// Compares a verifier with its challenge, for an authorization server.
///
/// # Errors
/// Returns an error if the method is not `S256` (an absent one means `plain`), or if the verifier is malformed or does
/// not match.
pub fn verify(verifier: &str, challenge: &str, method: Option<&str>) -> Result<(), PkceError> {
    if method != Some(METHOD) {
        return Err(PkceError::Method);
    }
    if !is_verifier(verifier) {
        return Err(PkceError::Malformed);
    }
    // Secrets compare in constant time.
    if Secret::new(challenge_of(verifier)) == Secret::new(challenge) {
        Ok(())
    } else {
        Err(PkceError::Mismatch)
    }
}

fn challenge_of(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier))
}

fn is_verifier(text: &str) -> bool {
    LENGTHS.contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~'))
}

/// The reason why a code is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PkceError {
    /// The method is not `S256`.
    Method,
    /// The verifier is malformed.
    Malformed,
    /// The verifier does not match the challenge.
    Mismatch,
}

impl fmt::Display for PkceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Method => "the code challenge method must be S256",
            Self::Malformed => "the code verifier must be 43 to 128 unreserved characters",
            Self::Mismatch => "the code verifier does not match the code challenge",
        })
    }
}

impl std::error::Error for PkceError {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// RFC 7636, appendix B.
    const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

    #[test]
    fn rfc_example_matches() {
        let bytes = [
            116, 24, 223, 180, 151, 153, 224, 37, 79, 250, 96, 125, 216, 173, 187, 186, 22, 212,
            37, 77, 105, 214, 191, 240, 91, 88, 5, 88, 83, 132, 141, 121,
        ];
        let verifier = Verifier::from_random(bytes);
        assert_eq!(verifier.as_secret().expose(), VERIFIER);
        assert_eq!(verifier.challenge(), CHALLENGE);
        assert_eq!(verify(VERIFIER, CHALLENGE, Some("S256")), Ok(()));
    }

    #[test]
    fn other_verifiers_and_methods_are_rejected() {
        let check = |verifier: &str, challenge: &str, method, expected| {
            assert_eq!(verify(verifier, challenge, method), Err(expected));
        };
        check(VERIFIER, VERIFIER, Some("plain"), PkceError::Method);
        check(VERIFIER, CHALLENGE, None, PkceError::Method);
        check(VERIFIER, CHALLENGE, Some("s256"), PkceError::Method);
        check(VERIFIER, VERIFIER, Some(METHOD), PkceError::Mismatch);
        check(VERIFIER, "", Some(METHOD), PkceError::Mismatch);
        check(
            &VERIFIER.replace('d', "e"),
            CHALLENGE,
            Some(METHOD),
            PkceError::Mismatch,
        );
        check("", CHALLENGE, Some(METHOD), PkceError::Malformed);
        check(
            &VERIFIER.replace('d', "ü"),
            CHALLENGE,
            Some(METHOD),
            PkceError::Malformed,
        );
        check(
            &VERIFIER.replace('d', "+"),
            CHALLENGE,
            Some(METHOD),
            PkceError::Malformed,
        );
    }

    #[test]
    fn verifiers_have_43_to_128_characters() {
        for (length, expected) in [(42, false), (43, true), (128, true), (129, false)] {
            let text = Secret::new("a".repeat(length));
            assert_eq!(Verifier::from_stored(text).is_some(), expected, "{length}");
        }
    }

    #[test]
    fn debug_output_contains_no_verifier() {
        let printed = format!("{:?}", Verifier::from_random([1; 32]));
        assert!(!printed.contains("AQEB"), "{printed}");
    }

    proptest! {
        #[test]
        fn verifier_matches_only_its_own_challenge(one: [u8; 32], other: [u8; 32]) {
            let (first, second) = (Verifier::from_random(one), Verifier::from_random(other));
            let fits = verify(first.as_secret().expose(), &second.challenge(), Some(METHOD));
            prop_assert_eq!(fits.is_ok(), one == other);
            prop_assert_eq!(Verifier::from_stored(first.as_secret().clone()), Some(first));
        }
    }
}
