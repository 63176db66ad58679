//! A text or a list of texts, which is how JSON Web Tokens name audiences and scopes.

use serde::{Deserialize, Serialize};

/// One text, or a list of them; written back as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
#[expect(
    clippy::exhaustive_enums,
    reason = "there is no third way to write it (RFC 7519, section 4.1.3)"
)]
pub enum OneOrMany {
    /// A text.
    One(String),
    /// A list.
    Many(Vec<String>),
}

impl OneOrMany {
    /// The texts.
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
    use crate::round_trip::check;

    #[test]
    fn texts_and_lists_survive_and_nothing_else_is_read() {
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
