//! A type for secret text: tokens, codes and client secrets.

use std::fmt;
use std::hint::black_box;

use serde::{Deserialize, Serialize};

/// Secret text with redacted `Debug` output.
///
/// Its JSON form is the plain text, because stores and token endpoints need it. The time of a comparison does not
/// depend on where two secrets differ.
///
/// ```
/// use toolwire_auth::documents::Secret;
///
/// let secret = Secret::new("open sesame");
/// assert_eq!(format!("{secret:?}"), "Secret(redacted)");
/// assert_eq!(secret.expose(), "open sesame");
/// ```
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Creates a secret from text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text. Do not log it, and send it only to the intended recipient.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(redacted)")
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        let (one, other) = (self.0.as_bytes(), other.0.as_bytes());
        let difference = one.iter().zip(other).fold(0, |difference, (one, other)| {
            black_box(difference | (one ^ other))
        });
        one.len() == other.len() && difference == 0
    }
}

impl Eq for Secret {}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_equal_if_their_texts_are_equal() {
        let check = |one: &str, other: &str, expected: bool| {
            assert_eq!(
                Secret::new(one) == Secret::new(other),
                expected,
                "{one} {other}"
            );
        };
        check("", "", true);
        check("abc", "abc", true);
        check("abc", "abd", false);
        check("abc", "Abc", false);
        check("abc", "ab", false);
        check("", "a", false);
    }

    #[test]
    fn debug_output_is_redacted() {
        assert!(!format!("{:#?}", Some(Secret::new("hidden"))).contains("hidden"));
    }
}
