//! A string or a list of strings, the form of audiences and scopes in JSON Web Tokens.

use serde::{Deserialize, Serialize};

/// A string or a list of strings. Both forms round-trip.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
#[expect(
    clippy::exhaustive_enums,
    reason = "RFC 7519, section 4.1.3, defines only these two forms"
)]
pub enum OneOrMany {
    /// A single string.
    One(String),
    /// A list of strings.
    Many(Vec<String>),
}

impl OneOrMany {
    /// Iterates over the strings.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        match self {
            Self::One(text) => std::slice::from_ref(text),
            Self::Many(texts) => texts.as_slice(),
        }
        .iter()
        .map(String::as_str)
    }
}

impl From<&str> for OneOrMany {
    fn from(text: &str) -> Self {
        Self::One(text.to_owned())
    }
}

impl From<Vec<String>> for OneOrMany {
    fn from(texts: Vec<String>) -> Self {
        Self::Many(texts)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::documents::round_trip::check;

    #[test]
    fn strings_and_lists_round_trip_and_other_values_are_rejected() {
        assert_eq!(
            check::<OneOrMany>(json!("a")).iter().collect::<Vec<_>>(),
            ["a"]
        );
        let many: OneOrMany = check(json!(["a", "b"]));
        assert_eq!(many.iter().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(check::<OneOrMany>(json!([])).iter().count(), 0);
        for text in ["1", "null", "{}", "[1]", "[[\"a\"]]"] {
            assert!(serde_json::from_str::<OneOrMany>(text).is_err(), "{text}");
        }
    }
}
