//! Roots: the directories and files that a client exposes to a server. Deprecated by MCP 2026-07-28 (SEP-2577).
//!
//! The request `roots/list` has the parameters [`RequestParams`](crate::RequestParams).

use serde::{Deserialize, Serialize};

use crate::meta::Meta;
use crate::result::Extra;
use crate::setters::setters;

/// A directory or file that the server may use.
///
/// # Deprecated
/// MCP 2026-07-28 deprecates roots (SEP-2577), and a revision of 2027-07-28 or later may remove them. Pass paths as
/// tool arguments, resource URIs or configuration instead.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Root {
    /// The URI, which starts with `file://`.
    pub uri: String,
    /// The display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The `_meta` object (since 2025-06-18).
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Root {
    /// Creates a root from its URI.
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

/// The result of `roots/list`.
///
/// # Deprecated
/// MCP 2026-07-28 deprecates roots (SEP-2577), and a revision of 2027-07-28 or later may remove them. Pass paths as
/// tool arguments, resource URIs or configuration instead.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ListRootsResult {
    /// The roots.
    pub roots: Vec<Root>,
    /// The `_meta` object (up to 2025-11-25).
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ListRootsResult {
    /// Creates a result with roots.
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
    fn roots_round_trip() {
        check::<ListRootsResult>(json!({"roots": []}));
        check::<ListRootsResult>(json!({
            "roots": [{"uri": "file:///a"}, {"uri": "file:///b", "name": "B", "_meta": {"x": 1}, "later": 2}],
            "_meta": {}, "later": 3,
        }));
        assert!(serde_json::from_str::<ListRootsResult>("{}").is_err());
    }

    #[test]
    fn built_roots_serialize_to_wire_format() {
        let result = ListRootsResult::new([Root::new("file:///a").with_name("A")]);
        assert_eq!(
            serde_json::to_value(result).unwrap(),
            json!({"roots": [{"uri": "file:///a", "name": "A"}]})
        );
    }
}
