//! The capabilities of a client.

use indexmap::IndexMap;
use serde::Serialize;

use crate::capabilities::TasksCapability;
use crate::object::object;
use crate::raw::RawJson;
use crate::result::Extra;
use crate::setters::setters;

/// The capabilities of a client.
///
/// ```
/// use toolwire_types::{ClientCapabilities, ElicitationCapability};
///
/// let capabilities = ClientCapabilities::new()
///     .with_elicitation(ElicitationCapability::new().with_form().with_url());
/// assert_eq!(
///     serde_json::to_string(&capabilities).unwrap(),
///     r#"{"elicitation":{"form":{},"url":{}}}"#
/// );
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ClientCapabilities {
    /// Support for `roots/list`. Deprecated by MCP 2026-07-28 (SEP-2577).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roots: Option<RootsCapability>,
    /// Support for sampling from a model. Deprecated by MCP 2026-07-28 (SEP-2577).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling: Option<SamplingCapability>,
    /// Support for elicitation from the user (since 2025-06-18).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elicitation: Option<ElicitationCapability>,
    /// Support for running requests of the server as tasks (2025-11-25 only).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<TasksCapability>,
    /// The supported extensions by id, each with its settings object (since 2026-07-28).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<IndexMap<String, RawJson>>,
    /// Experimental capabilities outside the specification.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experimental: Option<IndexMap<String, RawJson>>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

object!(ClientCapabilities = ClientCapabilities::default();
    "roots" => roots,
    "sampling" => sampling,
    "elicitation" => elicitation,
    "tasks" => tasks,
    "extensions" => extensions,
    "experimental" => experimental;
    others stored
);

impl ClientCapabilities {
    /// Creates an empty set of capabilities.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        with_roots(roots: some RootsCapability);
        with_sampling(sampling: some SamplingCapability);
        with_elicitation(elicitation: some ElicitationCapability);
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

/// The support of a client for `roots/list`.
///
/// # Deprecated
/// MCP 2026-07-28 deprecates roots (SEP-2577), and a revision of 2027-07-28 or later may remove them. Pass paths as
/// tool arguments, resource URIs or configuration instead.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RootsCapability {
    /// Whether the client sends a notification when the roots change (up to 2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list_changed: Option<bool>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

object!(RootsCapability = RootsCapability::default();
    "listChanged" => list_changed;
    others stored
);

impl RootsCapability {
    /// Creates a capability without change notifications.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Declares that the client sends a notification when the roots change (up to 2025-11-25).
        with_list_changed(list_changed = true);
    }
}

/// The support of a client for `sampling/createMessage`.
///
/// # Deprecated
/// MCP 2026-07-28 deprecates sampling (SEP-2577), and a revision of 2027-07-28 or later may remove it. Call the API of
/// a model provider instead.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SamplingCapability {
    /// Support for `includeContext` (since 2025-11-25, deprecated by SEP-2596).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Extra>,
    /// Support for `tools` and `toolChoice` (since 2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Extra>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

object!(SamplingCapability = SamplingCapability::default();
    "context" => context,
    "tools" => tools;
    others stored
);

impl SamplingCapability {
    /// Creates a capability without support for tools and context.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Declares support for `includeContext`.
        with_context(context = Extra::new());
        /// Declares support for `tools` and `toolChoice`.
        with_tools(tools = Extra::new());
    }
}

/// The support of a client for `elicitation/create`.
///
/// The empty object means form mode only, which is the only mode of 2025-06-18. Use
/// [`supports_form`](Self::supports_form) and [`supports_url`](Self::supports_url) instead of the fields.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ElicitationCapability {
    /// Support for form mode (since 2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub form: Option<Extra>,
    /// Support for URL mode (since 2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<Extra>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

object!(ElicitationCapability = ElicitationCapability::default();
    "form" => form,
    "url" => url;
    others stored
);

impl ElicitationCapability {
    /// Creates the empty object, which means form mode only.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Declares form mode.
        with_form(form = Extra::new());
        /// Declares URL mode. Without [`with_form`](Self::with_form), forms are then not supported.
        with_url(url = Extra::new());
    }

    /// Returns `true` if the client supports form mode.
    #[must_use]
    pub fn supports_form(&self) -> bool {
        self.form.is_some() || self.url.is_none()
    }

    /// Returns `true` if the client supports URL mode.
    #[must_use]
    pub fn supports_url(&self) -> bool {
        self.url.is_some()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::round_trip::check;

    #[test]
    fn capabilities_of_every_revision_round_trip() {
        check::<ClientCapabilities>(json!({}));
        check::<ClientCapabilities>(json!({"roots": {"listChanged": true}, "sampling": {}}));
        check::<ClientCapabilities>(
            json!({"roots": {"listChanged": false}, "experimental": {"a": {"b": 1}}}),
        );
        check::<ClientCapabilities>(json!({
            "sampling": {"tools": {}, "context": {}},
            "elicitation": {"form": {}, "url": {"later": true}},
            "tasks": {"list": {}, "cancel": {}, "requests": {"sampling": {"createMessage": {}}}},
        }));
        check::<ClientCapabilities>(json!({"extensions": {"com.example/a": {"x": [1.5, null]}}}));
    }

    #[test]
    fn unknown_capabilities_round_trip_at_every_level() {
        check::<ClientCapabilities>(json!({
            "later": {"a": 1}, "roots": {"b": 2}, "sampling": {"c": 3}, "elicitation": {"d": 4}, "tasks": {"e": 5},
        }));
    }

    #[test]
    fn empty_elicitation_capability_means_form_mode_only() {
        let check = |wire: serde_json::Value, form, url| {
            let capability: ElicitationCapability = serde_json::from_value(wire).unwrap();
            assert_eq!(capability.supports_form(), form);
            assert_eq!(capability.supports_url(), url);
        };
        check(json!({}), true, false);
        check(json!({"form": {}}), true, false);
        check(json!({"url": {}}), false, true);
        check(json!({"form": {}, "url": {}}), true, true);
    }

    #[test]
    fn null_capability_is_not_declared() {
        let capabilities: ClientCapabilities =
            serde_json::from_value(json!({"sampling": null, "elicitation": null})).unwrap();
        assert_eq!(capabilities, ClientCapabilities::new());
    }

    #[test]
    fn built_capabilities_serialize_to_wire_format() {
        let capabilities = ClientCapabilities::new()
            .with_roots(RootsCapability::new().with_list_changed())
            .with_sampling(SamplingCapability::new().with_tools().with_context())
            .with_tasks(TasksCapability::new().with_request("elicitation/create"))
            .with_extension("io.modelcontextprotocol/tasks", json!({}));
        assert!(
            capabilities
                .extension("io.modelcontextprotocol/tasks")
                .is_some()
        );
        assert!(capabilities.extension("com.example/other").is_none());
        assert_eq!(
            serde_json::to_value(capabilities).unwrap(),
            json!({
                "roots": {"listChanged": true},
                "sampling": {"tools": {}, "context": {}},
                "tasks": {"requests": {"elicitation": {"create": {}}}},
                "extensions": {"io.modelcontextprotocol/tasks": {}},
            })
        );
    }
}
