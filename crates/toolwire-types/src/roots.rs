//! Roots: the places in a file system that a client lets a server work in. Deprecated in 2026-07-28.
//!
//! The request `roots/list` has no parameters of its own, see [`RequestParams`](crate::RequestParams).

use serde::{Deserialize, Serialize};

use crate::meta::Meta;
use crate::result::Extra;
use crate::setters::setters;

/// A place the server may work in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Root {
    /// Where it is, a `file://` address.
    pub uri: String,
    /// A name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Metadata (since 2025-06-18).
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Root {
    /// A place at an address.
    #[must_use]
    pub fn new(uri: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            name: None,
            meta: None,
            extra: Extra::new(),
        }
    }

    setters! {
        with_name(name: into String);
    }
}

/// The answer to `roots/list`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ListRootsResult {
    /// The places.
    pub roots: Vec<Root>,
    /// Metadata (up to 2025-11-25).
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ListRootsResult {
    /// An answer with these places.
    #[must_use]
    pub fn new(roots: impl IntoIterator<Item = Root>) -> Self {
        Self {
            roots: roots.into_iter().collect(),
            meta: None,
            extra: Extra::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::round_trip::check;

    #[test]
    fn roots_survive() {
        check::<ListRootsResult>(json!({"roots": []}));
        check::<ListRootsResult>(json!({
            "roots": [{"uri": "file:///a"}, {"uri": "file:///b", "name": "B", "_meta": {"x": 1}, "later": 2}],
            "_meta": {}, "later": 3,
        }));
        assert!(serde_json::from_str::<ListRootsResult>("{}").is_err());
    }

    #[test]
    fn builders_write_the_wire_form() {
        let result = ListRootsResult::new([Root::new("file:///a").with_name("A")]);
        assert_eq!(
            serde_json::to_value(result).unwrap(),
            json!({"roots": [{"uri": "file:///a", "name": "A"}]})
        );
    }
}
