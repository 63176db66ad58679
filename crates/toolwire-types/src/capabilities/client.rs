//! What a client can do for a server.

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
    /// It can list its roots. Deprecated in 2026-07-28.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roots: Option<RootsCapability>,
    /// It can ask a model. Deprecated in 2026-07-28.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling: Option<SamplingCapability>,
    /// It can ask the user (since 2025-06-18).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elicitation: Option<ElicitationCapability>,
    /// It can run requests of the server as tasks (2025-11-25 only).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<TasksCapability>,
    /// Extensions it supports, by id, each with its settings object (since 2026-07-28).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<IndexMap<String, RawJson>>,
    /// Things outside the specification.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experimental: Option<IndexMap<String, RawJson>>,
    /// Members this crate does not know.
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
    others kept
);

impl ClientCapabilities {
    /// No capabilities.
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

    /// The settings of an extension, when it is declared.
    #[must_use]
    pub fn extension(&self, id: &str) -> Option<&RawJson> {
        self.extensions.as_ref()?.get(id)
    }
}

/// How a client serves `roots/list`.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RootsCapability {
    /// It says when they change (up to 2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list_changed: Option<bool>,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

object!(RootsCapability = RootsCapability::default();
    "listChanged" => list_changed;
    others kept
);

impl RootsCapability {
    /// Roots, without notice of changes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Declares that the client sends a notification when the roots change (up to 2025-11-25).
        with_list_changed(list_changed = true);
    }
}

/// How a client serves `sampling/createMessage`.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SamplingCapability {
    /// It honours `includeContext` (since 2025-11-25; deprecated in 2026-07-28).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Extra>,
    /// It honours `tools` and `toolChoice` (since 2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Extra>,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

object!(SamplingCapability = SamplingCapability::default();
    "context" => context,
    "tools" => tools;
    others kept
);

impl SamplingCapability {
    /// Plain sampling: no tools, no context.
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

/// How a client serves `elicitation/create`.
///
/// The empty object means forms only: that is how 2025-06-18, which knew nothing else, declared it. Ask
/// [`supports_form`](Self::supports_form) and [`supports_url`](Self::supports_url) rather than the fields.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ElicitationCapability {
    /// It shows forms (since 2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub form: Option<Extra>,
    /// It sends the user to addresses (since 2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<Extra>,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

object!(ElicitationCapability = ElicitationCapability::default();
    "form" => form,
    "url" => url;
    others kept
);

impl ElicitationCapability {
    /// The empty object: forms only.
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

    /// True when the client shows forms.
    #[must_use]
    pub fn supports_form(&self) -> bool {
        self.form.is_some() || self.url.is_none()
    }

    /// True when the client sends the user to addresses.
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
    fn capabilities_of_every_revision_survive() {
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
    fn unknown_capabilities_survive_at_every_level() {
        check::<ClientCapabilities>(json!({
            "later": {"a": 1}, "roots": {"b": 2}, "sampling": {"c": 3}, "elicitation": {"d": 4}, "tasks": {"e": 5},
        }));
    }

    #[test]
    fn an_empty_elicitation_capability_means_forms_only() {
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
    fn null_declares_nothing() {
        let capabilities: ClientCapabilities =
            serde_json::from_value(json!({"sampling": null, "elicitation": null})).unwrap();
        assert_eq!(capabilities, ClientCapabilities::new());
    }

    #[test]
    fn builders_write_the_wire_form() {
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
