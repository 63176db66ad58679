//! Tools: listing them and calling them.
//!
//! Schemas, arguments and structured content stay raw: this crate neither reads nor validates them. A call may be
//! answered in several ways, which [`CallToolResponse`] tells apart.

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

impl ListToolsResult {
    /// One page, the last unless a cursor is added.
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
    /// Which tool.
    pub name: String,
    /// The arguments, an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<RawJson>,
    /// Answers to what an earlier attempt asked for (since 2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_responses: Option<InputResponses>,
    /// The state an earlier attempt handed out, unchanged (since 2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_state: Option<String>,
    /// Asks for the call to become a task (2025-11-25 only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<core::TaskMetadata>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl CallToolRequestParams {
    /// Calls a tool without arguments.
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
/// A tool that fails says so here, with `is_error`, where the model can see it; errors of the protocol are JSON-RPC
/// errors.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CallToolResult {
    /// The kind of result (since 2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// What the model reads. Servers that send only structured content leave it out, so it may be missing.
    #[serde(default, deserialize_with = "content::blocks")]
    pub content: Vec<ContentBlock>,
    /// The result as data (since 2025-06-18, an object; any value, even `null`, since 2026-07-28).
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub structured_content: Option<RawJson>,
    /// The tool failed. Absent means false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl CallToolResult {
    /// A success with these blocks.
    #[must_use]
    pub fn new(content: Vec<ContentBlock>) -> Self {
        Self {
            content,
            ..Self::default()
        }
    }

    /// A success that is one text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(vec![ContentBlock::text(text)])
    }

    /// A failure of the tool, explained to the model.
    #[must_use]
    pub fn error(message: impl Into<String>) -> Self {
        Self {
            is_error: Some(true),
            ..Self::text(message)
        }
    }

    /// A success that is data, with the same JSON as text for clients that read only text.
    ///
    /// # Errors
    /// When the value refuses to serialise.
    pub fn structured<T: Serialize + ?Sized>(value: &T) -> serde_json::Result<Self> {
        let json = RawJson::from_serialize(value)?;
        Ok(Self {
            structured_content: Some(json.clone()),
            ..Self::text(json.get())
        })
    }

    /// Reads the result as data into a type.
    ///
    /// ```
    /// use toolwire_types::CallToolResult;
    ///
    /// let result = CallToolResult::structured(&[1, 2]).unwrap();
    /// assert_eq!(result.structured_content_as::<Vec<u8>>().unwrap(), [1, 2]);
    /// ```
    ///
    /// # Errors
    /// When there is no structured content, or it does not have the shape of `T`.
    pub fn structured_content_as<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        match &self.structured_content {
            Some(content) => content.parse(),
            None => Err(serde_json::Error::custom(
                "the result has no structured content; read `content` instead",
            )),
        }
    }

    /// All text blocks, one per line; other blocks are left out.
    #[must_use]
    pub fn all_text(&self) -> String {
        let texts: Vec<&str> = self
            .content
            .iter()
            .filter_map(ContentBlock::as_text)
            .collect();
        texts.join("\n")
    }

    /// Adds one block.
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

/// Reads a member that is there, so that `null` is a value and not an absence.
pub(crate) fn present<'de, D>(deserializer: D) -> Result<Option<RawJson>, D::Error>
where
    D: Deserializer<'de>,
{
    RawJson::deserialize(deserializer).map(Some)
}

/// Everything `tools/call` may answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum CallToolResponse {
    /// The tool has run.
    Complete(CallToolResult),
    /// The server needs input first (since 2026-07-28).
    InputRequired(InputRequiredResult),
    /// The call became a task of the extension `io.modelcontextprotocol/tasks` (since 2026-07-28).
    Task(extension::CreateTaskResult),
    /// The call became a task, as the client asked (2025-11-25 only).
    LegacyTask(core::CreateTaskResult),
}

impl<'de> Deserialize<'de> for CallToolResponse {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawJson::deserialize(deserializer)?;
        let answer = match response::result_type(&raw).map_err(D::Error::custom)? {
            ResultType::Complete if is_legacy_task(&raw) => raw.parse().map(Self::LegacyTask),
            ResultType::Complete => raw.parse().map(Self::Complete),
            ResultType::InputRequired => raw.parse().map(Self::InputRequired),
            ResultType::Task => raw.parse().map(Self::Task),
            unexpected => Err(response::unexpected(&unexpected)),
        };
        answer.map_err(D::Error::custom)
    }
}

/// In 2025-11-25 a created task has no discriminator: it is a result with `task` instead of `content`.
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
