//! Tools: the messages that list and call them.
//!
//! Schemas, arguments and structured content stay raw: this crate neither parses nor validates them.
//! [`CallToolResponse`] distinguishes the kinds of results that a call can have.

mod descriptor;

use serde::de::{DeserializeOwned, Error as _, IgnoredAny};
use serde::{Deserialize, Deserializer, Serialize};

pub use descriptor::{TaskSupport, Tool, ToolAnnotations, ToolExecution};

use crate::content::{self, ContentBlock};
use crate::input::{InputRequiredResult, InputResponses};
use crate::meta::Meta;
use crate::raw::RawJson;
use crate::response;
use crate::result::{CacheScope, Extra, ResultType, lenient_optional_integer};
use crate::setters::setters;
use crate::tasks::{core, extension};

/// The result of `tools/list`: one page of tools.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListToolsResult {
    /// The kind of result (since 2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The tools of this page.
    pub tools: Vec<Tool>,
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

impl ListToolsResult {
    /// Creates a page. Without a cursor, it is the last page.
    #[must_use]
    pub fn new(tools: Vec<Tool>) -> Self {
        Self {
            tools,
            ..Self::default()
        }
    }

    setters! {
        with_next_cursor(next_cursor: into String);
    }
}

/// The parameters of `tools/call`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CallToolRequestParams {
    /// The name of the tool.
    pub name: String,
    /// The arguments, a JSON object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<RawJson>,
    /// The responses to the input requests of an earlier attempt (since 2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_responses: Option<InputResponses>,
    /// The `requestState` that an earlier attempt returned, unchanged (since 2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_state: Option<String>,
    /// Requests that the call runs as a task (2025-11-25 only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<core::TaskMetadata>,
    /// The `_meta` object.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl CallToolRequestParams {
    /// Creates the parameters of a call without arguments.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            arguments: None,
            input_responses: None,
            request_state: None,
            task: None,
            meta: None,
        }
    }

    setters! {
        with_arguments(arguments: into RawJson);
        with_meta(meta: some Meta);
    }
}

/// The result of a tool call.
///
/// A tool reports its own failure here, with `is_error`, so that the model can see it. Protocol errors are JSON-RPC
/// errors instead.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CallToolResult {
    /// The kind of result (since 2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The content for the model. Parsed as empty if absent, because some servers send only structured content.
    #[serde(default, deserialize_with = "content::blocks")]
    pub content: Vec<ContentBlock>,
    /// The result as JSON: an object since 2025-06-18, any value including `null` since 2026-07-28.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub structured_content: Option<RawJson>,
    /// Whether the tool failed. Absent means `false`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// The `_meta` object.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl CallToolResult {
    /// Creates a successful result with content blocks.
    #[must_use]
    pub fn new(content: Vec<ContentBlock>) -> Self {
        Self {
            content,
            ..Self::default()
        }
    }

    /// Creates a successful result with one text block.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(vec![ContentBlock::text(text)])
    }

    /// Creates a failed result. The model can read the message.
    #[must_use]
    pub fn error(message: impl Into<String>) -> Self {
        Self {
            is_error: Some(true),
            ..Self::text(message)
        }
    }

    /// Creates a successful result with structured content, and the same JSON as a text block for older clients.
    ///
    /// # Errors
    /// Returns an error if the value cannot be serialized.
    pub fn structured<T: Serialize + ?Sized>(value: &T) -> serde_json::Result<Self> {
        let json = RawJson::from_serialize(value)?;
        Ok(Self {
            structured_content: Some(json.clone()),
            ..Self::text(json.get())
        })
    }

    /// Parses the structured content into a type.
    ///
    /// ```
    /// use toolwire_types::CallToolResult;
    ///
    /// let result = CallToolResult::structured(&[1, 2]).unwrap();
    /// assert_eq!(result.structured_content_as::<Vec<u8>>().unwrap(), [1, 2]);
    /// ```
    ///
    /// # Errors
    /// Returns an error if there is no structured content or it does not parse as `T`.
    pub fn structured_content_as<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        match &self.structured_content {
            Some(content) => content.parse(),
            None => Err(serde_json::Error::custom(
                "the result has no structured content; read `content` instead",
            )),
        }
    }

    /// Returns the text of all text blocks, joined by newlines. Other blocks are skipped.
    #[must_use]
    pub fn all_text(&self) -> String {
        let texts: Vec<&str> = self
            .content
            .iter()
            .filter_map(ContentBlock::as_text)
            .collect();
        texts.join("\n")
    }

    /// Adds one content block.
    #[must_use]
    pub fn with_content(mut self, block: impl Into<ContentBlock>) -> Self {
        self.content.push(block.into());
        self
    }

    setters! {
        with_structured_content(structured_content: into RawJson);
        with_meta(meta: some Meta);
    }
}

/// Parses a member that is present, so that `null` becomes a value instead of `None`.
pub(crate) fn present<'de, D>(deserializer: D) -> Result<Option<RawJson>, D::Error>
where
    D: Deserializer<'de>,
{
    RawJson::deserialize(deserializer).map(Some)
}

/// The result of `tools/call`, of any kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum CallToolResponse {
    /// The call is complete.
    Complete(CallToolResult),
    /// The server requires input from the client (since 2026-07-28).
    InputRequired(InputRequiredResult),
    /// The call runs as a task of the extension `io.modelcontextprotocol/tasks` (since 2026-07-28).
    Task(extension::CreateTaskResult),
    /// The call runs as a task, as the client requested (2025-11-25 only).
    LegacyTask(core::CreateTaskResult),
}

impl<'de> Deserialize<'de> for CallToolResponse {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawJson::deserialize(deserializer)?;
        let result = match response::result_type(&raw).map_err(D::Error::custom)? {
            ResultType::Complete if is_legacy_task(&raw) => raw.parse().map(Self::LegacyTask),
            ResultType::Complete => raw.parse().map(Self::Complete),
            ResultType::InputRequired => raw.parse().map(Self::InputRequired),
            ResultType::Task => raw.parse().map(Self::Task),
            unexpected => Err(response::unexpected(&unexpected)),
        };
        result.map_err(D::Error::custom)
    }
}

/// Returns `true` for a created task of 2025-11-25: a result with `task` instead of `content`, without a `resultType`.
fn is_legacy_task(raw: &RawJson) -> bool {
    #[derive(Deserialize)]
    struct Shape {
        task: Option<IgnoredAny>,
        content: Option<IgnoredAny>,
    }

    let shape = raw.parse::<Shape>();
    shape.is_ok_and(|shape| shape.task.is_some() && shape.content.is_none())
}

impl From<CallToolResult> for CallToolResponse {
    fn from(result: CallToolResult) -> Self {
        Self::Complete(result)
    }
}

impl From<InputRequiredResult> for CallToolResponse {
    fn from(result: InputRequiredResult) -> Self {
        Self::InputRequired(result)
    }
}

#[cfg(test)]
mod tests;
