//! The description of a tool, as a server lists it.

use serde::{Deserialize, Serialize};

use crate::implementation::Icon;
use crate::meta::Meta;
use crate::raw::RawJson;
use crate::result::Extra;
use crate::setters::setters;

/// A tool: an operation of the server that a model can call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Tool {
    /// The name that calls use.
    pub name: String,
    /// The title, a display name for users (since 2025-06-18).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description for the model: what the tool does and when to use it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The JSON Schema of the arguments. The root is always an object.
    pub input_schema: RawJson,
    /// The JSON Schema of the structured content (since 2025-06-18). Any root type since 2026-07-28.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<RawJson>,
    /// Hints about the behavior of the tool (since 2025-03-26).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<ToolAnnotations>,
    /// How calls may be executed (2025-11-25 only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<ToolExecution>,
    /// The icons (since 2025-11-25).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icons: Option<Vec<Icon>>,
    /// The `_meta` object (since 2025-06-18).
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Tool {
    /// Creates a tool from its name and the schema of its arguments.
    ///
    /// ```
    /// use serde_json::json;
    /// use toolwire_types::Tool;
    ///
    /// let tool = Tool::new("add", json!({"type": "object", "properties": {"a": {"type": "integer"}}}))
    ///     .with_description("Adds numbers.");
    /// assert_eq!(tool.name, "add");
    /// ```
    #[must_use]
    pub fn new(name: impl Into<String>, input_schema: impl Into<RawJson>) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: None,
            input_schema: input_schema.into(),
            output_schema: None,
            annotations: None,
            execution: None,
            icons: None,
            meta: None,
            extra: Extra::new(),
        }
    }

    setters! {
        with_title(title: into String);
        with_description(description: into String);
        with_output_schema(output_schema: into RawJson);
        with_annotations(annotations: some ToolAnnotations);
        with_execution(execution: some ToolExecution);
        with_icon(icons: push Icon);
        with_meta(meta: some Meta);
    }
}

/// Hints about the behavior of a tool (since 2025-03-26).
///
/// The hints come from the server. Do not base security decisions on hints of an untrusted server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolAnnotations {
    /// A display name for users. [`Tool::title`] takes precedence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Whether the tool leaves its environment unchanged. Absent means `false`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// Whether the tool may delete or overwrite. Absent means `true`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// Whether a repeated call with the same arguments has no further effect. Absent means `false`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// Whether the tool interacts with external entities. Absent means `true`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ToolAnnotations {
    /// Creates annotations without any hint.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        with_title(title: into String);
        with_read_only(read_only_hint: some bool);
        with_destructive(destructive_hint: some bool);
        with_idempotent(idempotent_hint: some bool);
        with_open_world(open_world_hint: some bool);
    }
}

/// The execution options of a tool (2025-11-25 only).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolExecution {
    /// Whether a call may run as a task. Absent means `forbidden`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_support: Option<TaskSupport>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ToolExecution {
    /// Creates options that state whether a call may run as a task.
    #[must_use]
    pub fn new(task_support: TaskSupport) -> Self {
        Self {
            task_support: Some(task_support),
            extra: Extra::new(),
        }
    }
}

/// The task support of a tool (2025-11-25 only).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum TaskSupport {
    /// A call must not run as a task.
    Forbidden,
    /// The client decides for each call.
    Optional,
    /// A call must run as a task.
    Required,
    /// A value that this crate does not define.
    #[serde(untagged)]
    Other(String),
}
