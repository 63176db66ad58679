//! The capabilities of a server.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::capabilities::TasksCapability;
use crate::raw::RawJson;
use crate::result::Extra;
use crate::setters::setters;

/// The capabilities of a server.
///
/// ```
/// use toolwire_types::{ServerCapabilities, ToolsCapability};
///
/// let capabilities = ServerCapabilities::new()
///     .with_tools(ToolsCapability::new().with_list_changed())
///     .with_completions();
/// assert_eq!(
///     serde_json::to_string(&capabilities).unwrap(),
///     r#"{"tools":{"listChanged":true},"completions":{}}"#
/// );
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ServerCapabilities {
    /// Support for tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<ToolsCapability>,
    /// Support for resources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourcesCapability>,
    /// Support for prompts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompts: Option<PromptsCapability>,
    /// Support for argument completion (since 2025-03-26). Earlier, completion needed no capability.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completions: Option<Extra>,
    /// Support for log messages. Deprecated by MCP 2026-07-28 (SEP-2577).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logging: Option<Extra>,
    /// Support for running requests of the client as tasks (2025-11-25 only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks: Option<TasksCapability>,
    /// The supported extensions by id, each with its settings object (since 2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extensions: Option<IndexMap<String, RawJson>>,
    /// Experimental capabilities outside the specification.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experimental: Option<IndexMap<String, RawJson>>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ServerCapabilities {
    /// Creates an empty set of capabilities.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        with_tools(tools: some ToolsCapability);
        with_resources(resources: some ResourcesCapability);
        with_prompts(prompts: some PromptsCapability);
        /// Declares support for argument completion.
        with_completions(completions = Extra::new());
        /// Declares that the server sends log messages.
        with_logging(logging = Extra::new());
        with_tasks(tasks: some TasksCapability);
    }

    /// Declares an extension with its settings object.
    #[must_use]
    pub fn with_extension(mut self, id: impl Into<String>, settings: impl Into<RawJson>) -> Self {
        self.extensions
            .get_or_insert_default()
            .insert(id.into(), settings.into());
        self
    }

    /// Returns the settings of an extension, or `None` if the extension is not declared.
    #[must_use]
    pub fn extension(&self, id: &str) -> Option<&RawJson> {
        self.extensions.as_ref()?.get(id)
    }
}

/// The support of a server for tools.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolsCapability {
    /// Whether the server sends a notification when the list changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list_changed: Option<bool>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ToolsCapability {
    /// Creates a capability without change notifications.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Declares that the server sends a notification when the list changes.
        with_list_changed(list_changed = true);
    }
}

/// The support of a server for prompts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PromptsCapability {
    /// Whether the server sends a notification when the list changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list_changed: Option<bool>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl PromptsCapability {
    /// Creates a capability without change notifications.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Declares that the server sends a notification when the list changes.
        with_list_changed(list_changed = true);
    }
}

/// The support of a server for resources.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResourcesCapability {
    /// Whether clients can subscribe to a resource: with `resources/subscribe` up to 2025-11-25, with
    /// `subscriptions/listen` since 2026-07-28.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscribe: Option<bool>,
    /// Whether the server sends a notification when the list changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list_changed: Option<bool>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ResourcesCapability {
    /// Creates a capability without subscriptions and change notifications.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Declares that clients can subscribe to resources.
        with_subscribe(subscribe = true);
        /// Declares that the server sends a notification when the list changes.
        with_list_changed(list_changed = true);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::round_trip::check;

    #[test]
    fn capabilities_of_every_revision_round_trip() {
        check::<ServerCapabilities>(json!({}));
        check::<ServerCapabilities>(json!({
            "tools": {"listChanged": true}, "prompts": {"listChanged": false}, "resources": {"subscribe": true},
            "logging": {}, "completions": {}, "experimental": {"a": {}},
        }));
        check::<ServerCapabilities>(
            json!({"tasks": {"list": {}, "requests": {"tools": {"call": {}}}}}),
        );
        check::<ServerCapabilities>(json!({"extensions": {"io.modelcontextprotocol/tasks": {}}}));
    }

    #[test]
    fn unknown_capabilities_round_trip_at_every_level() {
        check::<ServerCapabilities>(json!({
            "later": {"a": [1]}, "tools": {"b": 1}, "prompts": {"c": 1}, "resources": {"d": 1}, "logging": {"e": 1},
        }));
    }

    #[test]
    fn built_capabilities_serialize_to_wire_format() {
        let capabilities = ServerCapabilities::new()
            .with_prompts(PromptsCapability::new().with_list_changed())
            .with_resources(
                ResourcesCapability::new()
                    .with_subscribe()
                    .with_list_changed(),
            )
            .with_logging()
            .with_tasks(TasksCapability::new().with_request("tools/call"))
            .with_extension("com.example/a", json!({"b": 1}));
        assert_eq!(
            capabilities.extension("com.example/a"),
            Some(&json!({"b": 1}).into())
        );
        assert_eq!(
            serde_json::to_value(capabilities).unwrap(),
            json!({
                "prompts": {"listChanged": true},
                "resources": {"subscribe": true, "listChanged": true},
                "logging": {},
                "tasks": {"requests": {"tools": {"call": {}}}},
                "extensions": {"com.example/a": {"b": 1}},
            })
        );
    }
}
