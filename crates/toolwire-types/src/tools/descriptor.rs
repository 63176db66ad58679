//! What a server says about a tool before anybody calls it.

use serde::{Deserialize, Serialize};

use crate::implementation::{Icon, Icons};
use crate::meta::Meta;
use crate::raw::RawJson;
use crate::result::Extra;
use crate::setters::setters;

/// A tool: something a model can ask the server to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Tool {
    /// The name for programs, by which it is called.
    pub name: String,
    /// The name for people (since 2025-06-18).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it does and when to use it, for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The JSON Schema of its arguments; the root is always an object.
    pub input_schema: RawJson,
    /// The JSON Schema of its structured content (since 2025-06-18; any root type since 2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<RawJson>,
    /// Hints about its behaviour (since 2025-03-26).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<ToolAnnotations>,
    /// How it may be run (2025-11-25 only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<ToolExecution>,
    /// Its pictures (since 2025-11-25).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icons: Option<Icons>,
    /// Metadata (since 2025-06-18).
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Tool {
    /// A tool with the schema of its arguments.
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

/// Hints about how a tool behaves (since 2025-03-26). They come from the server: do not trust them for safety.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolAnnotations {
    /// A name for people; [`Tool::title`] comes before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// It changes nothing. Absent means false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// It may delete or overwrite. Absent means true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// Calling it twice does no more than calling it once. Absent means false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// It reaches out to things the server does not own. Absent means true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ToolAnnotations {
    /// No hints yet.
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

/// How a tool may be run (2025-11-25 only).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolExecution {
    /// Whether a call may become a task. Absent means forbidden.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_support: Option<TaskSupport>,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ToolExecution {
    /// Says whether a call may become a task.
    #[must_use]
    pub fn new(task_support: TaskSupport) -> Self {
        Self {
            task_support: Some(task_support),
            extra: Extra::new(),
        }
    }
}

/// Whether a tool call may become a task (2025-11-25 only).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum TaskSupport {
    /// It must not.
    Forbidden,
    /// The client may choose.
    Optional,
    /// It must.
    Required,
    /// A word this crate does not know.
    #[serde(untagged)]
    Other(String),
}
