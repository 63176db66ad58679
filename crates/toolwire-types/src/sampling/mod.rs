//! Sampling: a server requests a message from the client's model.
//!
//! MCP 2026-07-28 deprecates sampling (SEP-2577), and a revision of 2027-07-28 or later may remove it. Servers should
//! call the API of a model provider instead.
//!
//! Sampling is a JSON-RPC request up to 2025-11-25 and an [`InputRequest`](crate::InputRequest) since 2026-07-28.
//! `toolwire-proto` checks the tools of a conversation and the order of tool uses and tool results.

mod content;

use serde::{Deserialize, Serialize};

use crate::implementation::Role;
use crate::meta::Meta;
use crate::number;
use crate::raw::RawJson;
use crate::result::{Extra, lenient_integer};
use crate::setters::setters;
use crate::tasks::core::TaskMetadata;
use crate::tools::Tool;

pub use content::{
    SamplingContent, SamplingMessage, SamplingMessageContentBlock, ToolResultContent,
    ToolUseContent,
};

/// The parameters of `sampling/createMessage`.
///
/// # Deprecated
/// MCP 2026-07-28 deprecates sampling (SEP-2577), and a revision of 2027-07-28 or later may remove it. Call the API of
/// a model provider instead.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CreateMessageRequestParams {
    /// The messages of the conversation so far.
    pub messages: Vec<SamplingMessage>,
    /// The model preferences of the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_preferences: Option<ModelPreferences>,
    /// The system prompt. The client may change or omit it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// The context of MCP servers to include in the prompt.
    ///
    /// Values other than `none` are deprecated (SEP-2596). Since 2025-11-25 they require the client capability
    /// `sampling.context`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include_context: Option<IncludeContext>,
    /// The sampling temperature.
    #[serde(
        default,
        serialize_with = "number::shortest_option",
        skip_serializing_if = "Option::is_none"
    )]
    pub temperature: Option<f64>,
    /// The maximum number of tokens to sample. The client must not exceed it.
    #[serde(deserialize_with = "lenient_integer")]
    pub max_tokens: u64,
    /// The sequences at which the model stops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_sequences: Option<Vec<String>>,
    /// A JSON object for the model provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<RawJson>,
    /// The tools that the model may use (since 2025-11-25).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Tool>>,
    /// How the model uses the tools (since 2025-11-25).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// Requests that the client runs this as a task (2025-11-25 only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskMetadata>,
    /// The `_meta` object (up to 2025-11-25).
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl CreateMessageRequestParams {
    /// Creates the parameters of a request for the next message.
    #[must_use]
    pub fn new(messages: impl IntoIterator<Item = SamplingMessage>, max_tokens: u64) -> Self {
        Self {
            messages: messages.into_iter().collect(),
            model_preferences: None,
            system_prompt: None,
            include_context: None,
            temperature: None,
            max_tokens,
            stop_sequences: None,
            metadata: None,
            tools: None,
            tool_choice: None,
            task: None,
            meta: None,
            extra: Extra::new(),
        }
    }

    setters! {
        with_model_preferences(model_preferences: some ModelPreferences);
        with_system_prompt(system_prompt: into String);
        with_temperature(temperature: some f64);
        /// Sets the context of MCP servers to include in the prompt.
        ///
        /// Values other than `none` are deprecated (SEP-2596), and clients may ignore them.
        with_include_context(include_context: some IncludeContext);
        with_metadata(metadata: into RawJson);
    }

    /// Sets the sequences at which the model stops.
    #[must_use]
    pub fn with_stop_sequences<S: Into<String>>(
        mut self,
        sequences: impl IntoIterator<Item = S>,
    ) -> Self {
        self.stop_sequences = Some(sequences.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the tools that the model may use.
    #[must_use]
    pub fn with_tools(mut self, tools: impl IntoIterator<Item = Tool>) -> Self {
        self.tools = Some(tools.into_iter().collect());
        self
    }

    /// Sets how the model uses the tools.
    #[must_use]
    pub fn with_tool_choice(mut self, mode: ToolChoiceMode) -> Self {
        self.tool_choice = Some(ToolChoice::new(mode));
        self
    }
}

/// The context of MCP servers to include in a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum IncludeContext {
    /// No context.
    None,
    /// The context of the requesting server. Deprecated since 2025-11-25 (SEP-2596).
    ThisServer,
    /// The context of all connected servers. Deprecated since 2025-11-25 (SEP-2596).
    AllServers,
    /// A value that this crate does not define.
    #[serde(untagged)]
    Other(String),
}

/// The model preferences of a server. The client may ignore them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ModelPreferences {
    /// Hints at models or model families, in order of preference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hints: Option<Vec<ModelHint>>,
    /// The importance of low cost, from 0 to 1.
    #[serde(
        default,
        serialize_with = "number::shortest_option",
        skip_serializing_if = "Option::is_none"
    )]
    pub cost_priority: Option<f64>,
    /// The importance of speed, from 0 to 1.
    #[serde(
        default,
        serialize_with = "number::shortest_option",
        skip_serializing_if = "Option::is_none"
    )]
    pub speed_priority: Option<f64>,
    /// The importance of intelligence, from 0 to 1.
    #[serde(
        default,
        serialize_with = "number::shortest_option",
        skip_serializing_if = "Option::is_none"
    )]
    pub intelligence_priority: Option<f64>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ModelPreferences {
    /// Creates empty preferences.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a hint at a model or model family, after the existing hints.
    #[must_use]
    pub fn with_hint(mut self, name: impl Into<String>) -> Self {
        self.hints.get_or_insert_default().push(ModelHint {
            name: Some(name.into()),
            extra: Extra::new(),
        });
        self
    }

    /// Sets the importance of low cost, speed and intelligence, each from 0 to 1.
    #[must_use]
    pub fn with_priorities(mut self, cost: f64, speed: f64, intelligence: f64) -> Self {
        self.cost_priority = Some(cost);
        self.speed_priority = Some(speed);
        self.intelligence_priority = Some(intelligence);
        self
    }
}

/// A hint at a model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ModelHint {
    /// A substring of a model name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

/// How a model uses tools (since 2025-11-25).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolChoice {
    /// The mode. Absent means `auto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<ToolChoiceMode>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ToolChoice {
    /// Creates a choice with a mode.
    #[must_use]
    pub fn new(mode: ToolChoiceMode) -> Self {
        Self {
            mode: Some(mode),
            extra: Extra::new(),
        }
    }
}

/// The mode in which a model uses tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum ToolChoiceMode {
    /// The model decides.
    Auto,
    /// The model must use at least one tool.
    Required,
    /// The model must not use tools.
    None,
    /// A mode that this crate does not define.
    #[serde(untagged)]
    Other(String),
}

/// The result of `sampling/createMessage`.
///
/// # Deprecated
/// MCP 2026-07-28 deprecates sampling (SEP-2577), and a revision of 2027-07-28 or later may remove it. Call the API of
/// a model provider instead.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CreateMessageResult {
    /// The sender of the message, usually the assistant.
    pub role: Role,
    /// The content of the message.
    pub content: SamplingContent,
    /// The name of the model that generated the message.
    pub model: String,
    /// The reason why the model stopped, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<StopReason>,
    /// The `_meta` object.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl CreateMessageResult {
    /// Creates a message of a model, with the role `assistant`.
    #[must_use]
    pub fn new(model: impl Into<String>, content: impl Into<SamplingContent>) -> Self {
        Self {
            role: Role::Assistant,
            content: content.into(),
            model: model.into(),
            stop_reason: None,
            meta: None,
            extra: Extra::new(),
        }
    }

    setters! {
        with_stop_reason(stop_reason: some StopReason);
    }
}

/// The reason why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum StopReason {
    /// The model finished its turn.
    EndTurn,
    /// The model generated a stop sequence.
    StopSequence,
    /// The model reached the token limit.
    MaxTokens,
    /// The model requests tool calls (since 2025-11-25).
    ToolUse,
    /// A provider-specific reason.
    #[serde(untagged)]
    Other(String),
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::round_trip::check;

    #[test]
    fn requests_of_every_revision_round_trip() {
        check::<CreateMessageRequestParams>(json!({"messages": [], "maxTokens": 1}));
        check::<CreateMessageRequestParams>(json!({
            "messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}],
            "modelPreferences": {
                "hints": [{"name": "a"}, {"later": 1}], "costPriority": 0, "speedPriority": 0.5, "intelligencePriority": 1,
            },
            "systemPrompt": "s", "includeContext": "thisServer", "temperature": 0.7, "maxTokens": 100,
            "stopSequences": ["x"], "metadata": {"a": [1.0]}, "_meta": {"progressToken": "p"}, "later": true,
        }));
        check::<CreateMessageRequestParams>(json!({
            "messages": [], "maxTokens": 5, "task": {"ttl": 9}, "toolChoice": {"mode": "required"},
            "tools": [{"name": "t", "inputSchema": {"type": "object"}}],
        }));
    }

    #[test]
    fn max_tokens_is_required_and_may_be_a_float() {
        let read = |text: &str| serde_json::from_str::<CreateMessageRequestParams>(text);
        assert_eq!(
            read(r#"{"messages":[],"maxTokens":10.0}"#)
                .unwrap()
                .max_tokens,
            10
        );
        assert!(read(r#"{"messages":[]}"#).is_err());
        assert!(read(r#"{"messages":[],"maxTokens":null}"#).is_err());
    }

    #[test]
    fn unknown_enum_values_round_trip() {
        for value in ["none", "thisServer", "allServers", "galaxy"] {
            check::<IncludeContext>(json!(value));
        }
        for value in ["auto", "required", "none", "once"] {
            check::<ToolChoice>(json!({"mode": value}));
        }
        for value in [
            "endTurn",
            "stopSequence",
            "maxTokens",
            "toolUse",
            "content_filter",
        ] {
            check::<StopReason>(json!(value));
        }
        assert_eq!(check::<StopReason>(json!("toolUse")), StopReason::ToolUse);
        check::<ToolChoice>(json!({}));
    }

    #[test]
    fn results_with_one_or_several_blocks_round_trip() {
        check::<CreateMessageResult>(json!({
            "role": "assistant", "content": {"type": "text", "text": "a"}, "model": "m", "stopReason": "endTurn",
            "_meta": {"x": 1}, "later": {},
        }));
        check::<CreateMessageResult>(json!({
            "role": "assistant", "model": "m", "stopReason": "toolUse",
            "content": [{"type": "tool_use", "id": "1", "name": "n", "input": {}}],
        }));
    }

    #[test]
    fn built_values_serialize_to_wire_format() {
        let params = CreateMessageRequestParams::new([SamplingMessage::user("hi")], 10)
            .with_system_prompt("s")
            .with_temperature(1.0)
            .with_tools([])
            .with_tool_choice(ToolChoiceMode::None)
            .with_model_preferences(
                ModelPreferences::new()
                    .with_hint("a")
                    .with_priorities(0.0, 1.0, 0.5),
            );
        assert_eq!(
            serde_json::to_value(params).unwrap(),
            json!({
                "messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}],
                "modelPreferences": {
                    "hints": [{"name": "a"}], "costPriority": 0, "speedPriority": 1, "intelligencePriority": 0.5,
                },
                "systemPrompt": "s", "temperature": 1, "maxTokens": 10, "tools": [], "toolChoice": {"mode": "none"},
            })
        );
        let result = CreateMessageResult::new("m", "hello").with_stop_reason(StopReason::EndTurn);
        assert_eq!(
            serde_json::to_value(result).unwrap(),
            json!({
                "role": "assistant", "content": {"type": "text", "text": "hello"}, "model": "m", "stopReason": "endTurn",
            })
        );
    }
}
