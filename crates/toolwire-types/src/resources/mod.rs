//! Resources: what a server lets clients read, by address or by template.
//!
//! Whether an address is well formed and how templates expand is decided in `toolwire-proto`.

mod contents;
mod descriptor;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

pub use contents::{BlobResourceContents, ResourceContents, TextResourceContents};
pub use descriptor::{Resource, ResourceTemplate};

use crate::input::{InputRequiredResult, InputResponses};
use crate::meta::Meta;
use crate::raw::RawJson;
use crate::response;
use crate::result::{CacheScope, Extra, ResultType, lenient_optional_integer};
use crate::setters::setters;

/// The result of `resources/list`: one page of resources.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListResourcesResult {
    /// The kind of result (since 2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The resources of this page.
    pub resources: Vec<Resource>,
    /// Where the next page starts; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// How long it stays fresh, in milliseconds (since 2026-07-28).
    #[serde(
        default,
        deserialize_with = "lenient_optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub ttl_ms: Option<u64>,
    /// Who may share a cached copy (since 2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ListResourcesResult {
    /// One page, the last unless a cursor is added.
    #[must_use]
    pub fn new(resources: Vec<Resource>) -> Self {
        Self {
            resources,
            ..Self::default()
        }
    }

    setters! {
        with_next_cursor(next_cursor: into String);
    }
}

/// The result of `resources/templates/list`: one page of templates.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListResourceTemplatesResult {
    /// The kind of result (since 2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The templates of this page.
    pub resource_templates: Vec<ResourceTemplate>,
    /// Where the next page starts; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// How long it stays fresh, in milliseconds (since 2026-07-28).
    #[serde(
        default,
        deserialize_with = "lenient_optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub ttl_ms: Option<u64>,
    /// Who may share a cached copy (since 2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ListResourceTemplatesResult {
    /// One page, the last unless a cursor is added.
    #[must_use]
    pub fn new(resource_templates: Vec<ResourceTemplate>) -> Self {
        Self {
            resource_templates,
            ..Self::default()
        }
    }

    setters! {
        with_next_cursor(next_cursor: into String);
    }
}

/// The parameters of `resources/read`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ReadResourceRequestParams {
    /// Which resource.
    pub uri: String,
    /// Answers to what an earlier attempt asked for (since 2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_responses: Option<InputResponses>,
    /// The state an earlier attempt handed out, unchanged (since 2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_state: Option<String>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ReadResourceRequestParams {
    /// Asks for a resource.
    #[must_use]
    pub fn new(uri: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            input_responses: None,
            request_state: None,
            meta: None,
        }
    }

    setters! {
        with_meta(meta: some Meta);
    }
}

/// The result of `resources/read`: the contents of one resource, or of several parts of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ReadResourceResult {
    /// The kind of result (since 2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The contents.
    pub contents: Vec<ResourceContents>,
    /// How long it stays fresh, in milliseconds (since 2026-07-28).
    #[serde(
        default,
        deserialize_with = "lenient_optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub ttl_ms: Option<u64>,
    /// Who may share a cached copy (since 2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ReadResourceResult {
    /// A result with these contents.
    #[must_use]
    pub fn new(contents: Vec<ResourceContents>) -> Self {
        Self {
            contents,
            ..Self::default()
        }
    }

    /// The contents of a text resource.
    #[must_use]
    pub fn text(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(vec![ResourceContents::text(uri, text)])
    }

    setters! {
        with_meta(meta: some Meta);
    }
}

/// Everything `resources/read` may answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum ReadResourceResponse {
    /// The contents.
    Complete(ReadResourceResult),
    /// The server needs input first (since 2026-07-28).
    InputRequired(InputRequiredResult),
}

impl<'de> Deserialize<'de> for ReadResourceResponse {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawJson::deserialize(deserializer)?;
        let answer = match response::result_type(&raw).map_err(D::Error::custom)? {
            ResultType::Complete => raw.parse().map(Self::Complete),
            ResultType::InputRequired => raw.parse().map(Self::InputRequired),
            unexpected => Err(response::unexpected(&unexpected)),
        };
        answer.map_err(D::Error::custom)
    }
}

impl From<ReadResourceResult> for ReadResourceResponse {
    fn from(result: ReadResourceResult) -> Self {
        Self::Complete(result)
    }
}

impl From<InputRequiredResult> for ReadResourceResponse {
    fn from(result: InputRequiredResult) -> Self {
        Self::InputRequired(result)
    }
}

/// The parameters of `resources/subscribe` (up to 2025-11-25).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SubscribeRequestParams {
    /// Which resource to watch.
    pub uri: String,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl SubscribeRequestParams {
    /// Watches a resource.
    #[must_use]
    pub fn new(uri: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            meta: None,
        }
    }
}

/// The parameters of `resources/unsubscribe` (up to 2025-11-25).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UnsubscribeRequestParams {
    /// Which resource to watch no longer.
    pub uri: String,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl UnsubscribeRequestParams {
    /// Watches a resource no longer.
    #[must_use]
    pub fn new(uri: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            meta: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::round_trip::check;

    #[test]
    fn descriptors_keep_every_member() {
        check::<Resource>(json!({"uri": "file:///a", "name": "a"}));
        check::<Resource>(json!({
            "uri": "file:///a", "name": "a", "title": "A", "description": "d", "mimeType": "text/plain", "size": 3,
            "icons": [{"src": "data:,"}], "annotations": {"priority": 0.5}, "_meta": {"k": 1}, "later": true,
        }));
        check::<ResourceTemplate>(json!({"uriTemplate": "file:///{path}", "name": "files"}));
        check::<ResourceTemplate>(json!({
            "uriTemplate": "file:///{path}", "name": "files", "title": "F", "description": "d", "mimeType": "a/b",
            "icons": [], "annotations": {}, "_meta": {}, "later": null,
        }));
    }

    #[test]
    fn results_read_in_every_era() {
        check::<ListResourcesResult>(json!({"resources": []}));
        check::<ListResourcesResult>(json!({
            "resultType": "complete", "resources": [{"uri": "a:b", "name": "b"}], "nextCursor": "2",
            "ttlMs": 5, "cacheScope": "public", "_meta": {"a": {}}, "later": {"x": 1},
        }));
        check::<ListResourceTemplatesResult>(json!({
            "resourceTemplates": [{"uriTemplate": "a:{b}", "name": "b"}], "ttlMs": 0, "cacheScope": "private",
        }));
        check::<ReadResourceResult>(json!({"contents": [{"uri": "a:b", "text": ""}]}));
    }

    #[test]
    fn params_read_in_every_era() {
        check::<ReadResourceRequestParams>(json!({"uri": "a:b"}));
        check::<ReadResourceRequestParams>(json!({
            "uri": "a:b", "requestState": "s", "inputResponses": {"q": {"action": "accept"}}, "_meta": {"progressToken": "1"},
        }));
        check::<SubscribeRequestParams>(json!({"uri": "a:b", "_meta": {"progressToken": 1}}));
        check::<UnsubscribeRequestParams>(json!({"uri": "a:b"}));
    }

    #[test]
    fn a_read_is_decoded_by_its_result_type() {
        let complete = json!({"contents": []});
        assert!(matches!(check(complete), ReadResourceResponse::Complete(_)));
        let asking = json!({"resultType": "input_required", "requestState": "s"});
        assert!(matches!(
            check(asking),
            ReadResourceResponse::InputRequired(_)
        ));
        for refused in [
            r#"{"resultType":"task","contents":[]}"#,
            r#"{"resultType":"later","contents":[]}"#,
            r#"{"resultType":1,"contents":[]}"#,
            "[]",
            "{}",
        ] {
            assert!(serde_json::from_str::<ReadResourceResponse>(refused).is_err());
        }
    }
}
