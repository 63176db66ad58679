//! Sampling: a server asks the client's model for a message.
//!
//! Deprecated as of 2026-07-28, and may be gone from revisions released on or after 2027-07-28: servers should call a
//! model of their own instead.
//!
//! A request of its own up to 2025-11-25, an [`InputRequest`](crate::InputRequest) since. What tools a conversation may
//! use and how tool results must follow tool uses is checked in `toolwire-proto`.

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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CreateMessageRequestParams {
    /// The conversation so far.
    pub messages: Vec<SamplingMessage>,
    /// What kind of model the server would like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_preferences: Option<ModelPreferences>,
    /// A system prompt; the client may change or drop it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// Which context of MCP servers to add. Anything but `none` is deprecated, and from 2025-11-25 on only for clients that
    /// declared `sampling.context`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include_context: Option<IncludeContext>,
    /// How freely the model chooses its words.
    #[serde(
        default,
        serialize_with = "number::shortest_option",
        skip_serializing_if = "Option::is_none"
    )]
    pub temperature: Option<f64>,
    /// The most tokens the answer may have; the client must keep to it.
    #[serde(deserialize_with = "lenient_integer")]
    pub max_tokens: u64,
    /// Words that end the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_sequences: Option<Vec<String>>,
    /// An object for the model's provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<RawJson>,
    /// Tools the model may use (since 2025-11-25).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Tool>>,
    /// How the model uses the tools (since 2025-11-25).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// The wish to run this as a task (2025-11-25 only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskMetadata>,
    /// Metadata (up to 2025-11-25).
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl CreateMessageRequestParams {
    /// Asks for the next message of a conversation.
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
        /// Values other than `none` are deprecated, and clients may ignore them.
        with_include_context(include_context: some IncludeContext);
        with_metadata(metadata: into RawJson);
    }

    /// Sets the words that end the answer.
    #[must_use]
    pub fn with_stop_sequences<S: Into<String>>(
        mut self,
        words: impl IntoIterator<Item = S>,
    ) -> Self {
        self.stop_sequences = Some(words.into_iter().map(Into::into).collect());
        self
    }

    /// Offers tools to the model.
    #[must_use]
    pub fn with_tools(mut self, tools: impl IntoIterator<Item = Tool>) -> Self {
        self.tools = Some(tools.into_iter().collect());
        self
    }

    /// Says how the model uses the tools.
    #[must_use]
    pub fn with_tool_choice(mut self, mode: ToolChoiceMode) -> Self {
        self.tool_choice = Some(ToolChoice::new(mode));
        self
    }
}

/// Which context of MCP servers goes into the prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum IncludeContext {
    /// None.
    None,
    /// That of the server that asks. Deprecated.
    ThisServer,
    /// That of every server. Deprecated.
    AllServers,
    /// A word of some later revision.
    #[serde(untagged)]
    Other(String),
}

/// What kind of model a server would like; hints, not orders.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ModelPreferences {
    /// Models or families of models, best first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hints: Option<Vec<ModelHint>>,
    /// How much a low price matters, from 0 to 1.
    #[serde(
        default,
        serialize_with = "number::shortest_option",
        skip_serializing_if = "Option::is_none"
    )]
    pub cost_priority: Option<f64>,
    /// How much speed matters, from 0 to 1.
    #[serde(
        default,
        serialize_with = "number::shortest_option",
        skip_serializing_if = "Option::is_none"
    )]
    pub speed_priority: Option<f64>,
    /// How much ability matters, from 0 to 1.
    #[serde(
        default,
        serialize_with = "number::shortest_option",
        skip_serializing_if = "Option::is_none"
    )]
    pub intelligence_priority: Option<f64>,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ModelPreferences {
    /// No preferences.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a model or a family of models, after those already named.
    #[must_use]
    pub fn with_hint(mut self, name: impl Into<String>) -> Self {
        self.hints.get_or_insert_default().push(ModelHint {
            name: Some(name.into()),
            extra: Extra::new(),
        });
        self
    }

    /// Says how much a low price, speed and ability matter, each from 0 to 1.
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
    /// Part of a model's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// How the model uses the tools it is offered (since 2025-11-25).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolChoice {
    /// The rule; absent means `auto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<ToolChoiceMode>,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ToolChoice {
    /// A choice with this rule.
    #[must_use]
    pub fn new(mode: ToolChoiceMode) -> Self {
        Self {
            mode: Some(mode),
            extra: Extra::new(),
        }
    }
}

/// The rules by which a model uses tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum ToolChoiceMode {
    /// The model decides.
    Auto,
    /// The model must use at least one tool.
    Required,
    /// The model must not use any.
    None,
    /// A rule of some later revision.
    #[serde(untagged)]
    Other(String),
}

/// The answer to `sampling/createMessage`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CreateMessageResult {
    /// Who speaks, normally the assistant.
    pub role: Role,
    /// What the model said.
    pub content: SamplingContent,
    /// The model that said it.
    pub model: String,
    /// Why it stopped, when that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<StopReason>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl CreateMessageResult {
    /// What a model said, as the assistant.
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

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum StopReason {
    /// It had finished.
    EndTurn,
    /// It came to a stop sequence.
    StopSequence,
    /// It reached the token limit.
    MaxTokens,
    /// It wants to use tools (since 2025-11-25).
    ToolUse,
    /// A reason of the provider's own.
    #[serde(untagged)]
    Other(String),
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::round_trip::check;

    #[test]
    fn requests_of_every_revision_survive() {
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
    fn the_token_limit_is_required_and_may_be_a_float() {
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
    fn words_nobody_knows_yet_survive() {
        for word in ["none", "thisServer", "allServers", "galaxy"] {
            check::<IncludeContext>(json!(word));
        }
        for word in ["auto", "required", "none", "once"] {
            check::<ToolChoice>(json!({"mode": word}));
        }
        for word in [
            "endTurn",
            "stopSequence",
            "maxTokens",
            "toolUse",
            "content_filter",
        ] {
            check::<StopReason>(json!(word));
        }
        assert_eq!(check::<StopReason>(json!("toolUse")), StopReason::ToolUse);
        check::<ToolChoice>(json!({}));
    }

    #[test]
    fn results_survive_with_one_block_or_several() {
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
    fn builders_write_the_wire_form() {
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
