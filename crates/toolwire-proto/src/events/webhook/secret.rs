//! The secret that signs the deliveries of a subscription.

use std::fmt;
use std::ops::RangeInclusive;

use base64::Engine as _;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use subtle::ConstantTimeEq as _;

const PREFIX: &str = "whsec_";

/// Padding is optional: some programs omit it.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The permitted number of decoded bytes (SEP-3415, "Webhook").
const LENGTHS: RangeInclusive<usize> = 24..=64;

/// A secret in the format of Standard Webhooks: `whsec_` and the base64 of the key.
#[derive(Clone)]
pub struct WebhookSecret(Vec<u8>);

impl WebhookSecret {
    /// Creates a secret from 32 random bytes.
    #[must_use]
    pub fn new(random: [u8; 32]) -> Self {
        Self(random.to_vec())
    }

    /// Parses a secret.
    ///
    /// # Errors
    /// Returns an error without the prefix `whsec_`, if the rest is not base64, and if the key has fewer than 24 or more
    /// than 64 bytes.
    pub fn parse(text: &str) -> Result<Self, InvalidSecret> {
        let encoded = text.strip_prefix(PREFIX).ok_or(InvalidSecret::Prefix)?;
        // The longest valid text, so that a larger one is not decoded.
        if encoded.len() > LENGTHS.end().div_ceil(3) * 4 {
            return Err(InvalidSecret::Length);
        }
        let key = BASE64
            .decode(encoded)
            .map_err(|_| InvalidSecret::Encoding)?;
        if LENGTHS.contains(&key.len()) {
            Ok(Self(key))
        } else {
            Err(InvalidSecret::Length)
        }
    }

    /// Returns the secret as text, for the subscribe request and for stores.
    #[must_use]
    pub fn expose(&self) -> String {
        format!("{PREFIX}{}", STANDARD.encode(&self.0))
    }

    /// Returns the key: the decoded bytes.
    pub(super) fn key(&self) -> &[u8] {
        &self.0
    }
}

impl PartialEq for WebhookSecret {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for WebhookSecret {}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookSecret(redacted)")
    }
}

/// The reason why a text is not a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidSecret {
    /// The text does not start with `whsec_`.
    Prefix,
    /// The rest of the text is not base64.
    Encoding,
    /// The key is too short or too long.
    Length,
}

impl fmt::Display for InvalidSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the secret is invalid: ")?;
        f.write_str(match self {
            Self::Prefix => "it must start with `whsec_`",
            Self::Encoding => "the text after `whsec_` must be base64",
            Self::Length => "the decoded key must have 24 to 64 bytes",
        })
    }
}

impl std::error::Error for InvalidSecret {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_has_24_to_64_bytes() {
        let check = |bytes: usize, is_valid: bool| {
            let text = format!("{PREFIX}{}", STANDARD.encode(vec![7; bytes]));
            let outcome = WebhookSecret::parse(&text);
            assert_eq!(outcome.is_ok(), is_valid, "{bytes}");
            match outcome {
                Ok(secret) => assert_eq!(secret.expose(), text),
                Err(error) => assert_eq!(error, InvalidSecret::Length, "{bytes}"),
            }
        };
        check(0, false);
        check(23, false);
        check(24, true);
        check(32, true);
        check(64, true);
        check(65, false);
        check(100_000, false);
    }

    #[test]
    fn prefix_and_base64_are_required() {
        let check = |text: &str, expected: InvalidSecret| {
            assert_eq!(WebhookSecret::parse(text), Err(expected), "{text}");
        };
        let encoded = STANDARD.encode([7; 25]);
        check("", InvalidSecret::Prefix);
        check(&encoded, InvalidSecret::Prefix);
        check(&format!("WHSEC_{encoded}"), InvalidSecret::Prefix);
        check(&format!("whsec_{encoded} "), InvalidSecret::Encoding);
        check(
            "whsec_not base64 at all, but long enough",
            InvalidSecret::Encoding,
        );
        let unpadded = format!("whsec_{}", encoded.trim_end_matches('='));
        assert!(WebhookSecret::parse(&unpadded).is_ok());
    }

    #[test]
    fn secret_is_not_printed() {
        let secret = WebhookSecret::new([7; 32]);
        assert_eq!(format!("{secret:?}"), "WebhookSecret(redacted)");
        assert_eq!(WebhookSecret::parse(&secret.expose()).unwrap(), secret);
        assert_ne!(WebhookSecret::new([8; 32]), secret);
    }
}
