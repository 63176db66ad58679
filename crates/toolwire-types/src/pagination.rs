//! The parameters of paginated list requests.

use serde::Serialize;

use crate::meta::Meta;
use crate::object::object;
use crate::setters::setters;

/// The parameters of every list request.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PaginatedRequestParams {
    /// The opaque cursor from the previous page. Absent for the first page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// The `_meta` object.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

object!(PaginatedRequestParams = PaginatedRequestParams::default();
    "cursor" => cursor,
    "_meta" => meta;
    others ignored
);

impl PaginatedRequestParams {
    /// Creates the parameters for the first page.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        with_cursor(cursor: into String);
        with_meta(meta: some Meta);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::round_trip::check;

    #[test]
    fn cursor_is_any_string() {
        check::<PaginatedRequestParams>(json!({}));
        check::<PaginatedRequestParams>(json!({"cursor": ""}));
        check::<PaginatedRequestParams>(json!({"cursor": "a=", "_meta": {"progressToken": 1}}));
        assert!(serde_json::from_str::<PaginatedRequestParams>(r#"{"cursor":1}"#).is_err());
    }
}
