//! Resources: data that clients read by URI or by URI template.
//!
//! `toolwire-proto` validates URIs and expands templates.

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
    /// The cursor of the next page. Absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// How long a client may cache the result, in milliseconds (since 2026-07-28).
    #[serde(
        default,
        deserialize_with = "lenient_optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub ttl_ms: Option<u64>,
    /// Whether caches may share the result between users (since 2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
    /// The `_meta` object.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ListResourcesResult {
    /// Creates a page. Without a cursor, it is the last page.
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
    /// The cursor of the next page. Absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// How long a client may cache the result, in milliseconds (since 2026-07-28).
    #[serde(
        default,
        deserialize_with = "lenient_optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub ttl_ms: Option<u64>,
    /// Whether caches may share the result between users (since 2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
    /// The `_meta` object.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ListResourceTemplatesResult {
    /// Creates a page. Without a cursor, it is the last page.
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
    /// The URI of the resource.
    pub uri: String,
    /// The responses to the input requests of an earlier attempt (since 2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_responses: Option<InputResponses>,
    /// The `requestState` that an earlier attempt returned, unchanged (since 2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_state: Option<String>,
    /// The `_meta` object.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ReadResourceRequestParams {
    /// Creates the parameters of a read.
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

/// The result of `resources/read`: the contents of one resource or of its parts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ReadResourceResult {
    /// The kind of result (since 2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The contents, one entry per part.
    pub contents: Vec<ResourceContents>,
    /// How long a client may cache the result, in milliseconds (since 2026-07-28).
    #[serde(
        default,
        deserialize_with = "lenient_optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub ttl_ms: Option<u64>,
    /// Whether caches may share the result between users (since 2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
    /// The `_meta` object.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ReadResourceResult {
    /// Creates a result with contents.
    #[must_use]
    pub fn new(contents: Vec<ResourceContents>) -> Self {
        Self {
            contents,
            ..Self::default()
        }
    }

    /// Creates a result with the contents of a text resource.
    #[must_use]
    pub fn text(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(vec![ResourceContents::text(uri, text)])
    }

    setters! {
        with_meta(meta: some Meta);
    }
}

/// The result of `resources/read`, of any kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum ReadResourceResponse {
    /// The request is complete.
    Complete(ReadResourceResult),
    /// The server requires input from the client (since 2026-07-28).
    InputRequired(InputRequiredResult),
}

impl<'de> Deserialize<'de> for ReadResourceResponse {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawJson::deserialize(deserializer)?;
        let result = match response::result_type(&raw).map_err(D::Error::custom)? {
            ResultType::Complete => raw.parse().map(Self::Complete),
            ResultType::InputRequired => raw.parse().map(Self::InputRequired),
            unexpected => Err(response::unexpected(&unexpected)),
        };
        result.map_err(D::Error::custom)
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
    /// The URI of the resource.
    pub uri: String,
    /// The `_meta` object.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl SubscribeRequestParams {
    /// Creates the parameters of a subscription to a resource.
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
    /// The URI of the resource.
    pub uri: String,
    /// The `_meta` object.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl UnsubscribeRequestParams {
    /// Creates the parameters that end a subscription to a resource.
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
    fn descriptors_round_trip_with_every_member() {
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
    fn results_of_every_revision_round_trip() {
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
    fn params_of_every_revision_round_trip() {
        check::<ReadResourceRequestParams>(json!({"uri": "a:b"}));
        check::<ReadResourceRequestParams>(json!({
            "uri": "a:b", "requestState": "s", "inputResponses": {"q": {"action": "accept"}}, "_meta": {"progressToken": "1"},
        }));
        check::<SubscribeRequestParams>(json!({"uri": "a:b", "_meta": {"progressToken": 1}}));
        check::<UnsubscribeRequestParams>(json!({"uri": "a:b"}));
    }

    #[test]
    fn read_response_is_parsed_by_result_type() {
        let complete = json!({"contents": []});
        assert!(matches!(check(complete), ReadResourceResponse::Complete(_)));
        let input_required = json!({"resultType": "input_required", "requestState": "s"});
        assert!(matches!(
            check(input_required),
            ReadResourceResponse::InputRequired(_)
        ));
        for invalid in [
            r#"{"resultType":"task","contents":[]}"#,
            r#"{"resultType":"later","contents":[]}"#,
            r#"{"resultType":1,"contents":[]}"#,
            "[]",
            "{}",
        ] {
            assert!(serde_json::from_str::<ReadResourceResponse>(invalid).is_err());
        }
    }
}
