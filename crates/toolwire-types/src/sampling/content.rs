//! The messages of a sampling conversation and their content blocks.
//!
//! Since 2025-11-25 the content of a message is one block or an array of blocks. Both forms round-trip.

use std::slice;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::content::{self, AudioContent, ContentBlock, ImageContent, TextContent};
use crate::implementation::Role;
use crate::meta::Meta;
use crate::raw::RawJson;
use crate::result::Extra;
use crate::setters::setters;
use crate::tools::present;

/// One message of a conversation with a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SamplingMessage {
    /// The sender of the message.
    pub role: Role,
    /// The content of the message.
    pub content: SamplingContent,
    /// The `_meta` object (since 2025-11-25).
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl SamplingMessage {
    /// Creates a message.
    #[must_use]
    pub fn new(role: Role, content: impl Into<SamplingContent>) -> Self {
        Self {
            role,
            content: content.into(),
            meta: None,
            extra: Extra::new(),
        }
    }

    /// Creates a message of the user.
    #[must_use]
    pub fn user(content: impl Into<SamplingContent>) -> Self {
        Self::new(Role::User, content)
    }

    /// Creates a message of the model.
    #[must_use]
    pub fn assistant(content: impl Into<SamplingContent>) -> Self {
        Self::new(Role::Assistant, content)
    }
}

/// The content of a message: one block, or an array of blocks (since 2025-11-25).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the wire format has exactly these two forms"
)]
#[expect(
    clippy::large_enum_variant,
    reason = "the large variant is the most common one"
)]
pub enum SamplingContent {
    /// A single block, not in an array.
    One(SamplingMessageContentBlock),
    /// An array of blocks. It may contain a single block.
    Many(Vec<SamplingMessageContentBlock>),
}

impl SamplingContent {
    /// Returns the blocks of both forms as a slice.
    #[must_use]
    pub fn blocks(&self) -> &[SamplingMessageContentBlock] {
        match self {
            Self::One(block) => slice::from_ref(block),
            Self::Many(blocks) => blocks,
        }
    }

    /// Returns the concatenated text of all text blocks.
    #[must_use]
    pub fn text(&self) -> String {
        let texts = self.blocks().iter().filter_map(|block| match block {
            SamplingMessageContentBlock::Text(text) => Some(text.text.as_str()),
            _ => None,
        });
        texts.collect()
    }
}

impl<'de> Deserialize<'de> for SamplingContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawJson::deserialize(deserializer)?;
        let content = if raw.get().trim_start().starts_with('[') {
            raw.parse().map(Self::Many)
        } else {
            SamplingMessageContentBlock::from_raw(&raw).map(Self::One)
        };
        content.map_err(D::Error::custom)
    }
}

impl<B: Into<SamplingMessageContentBlock>> From<B> for SamplingContent {
    fn from(block: B) -> Self {
        Self::One(block.into())
    }
}

impl From<Vec<SamplingMessageContentBlock>> for SamplingContent {
    fn from(blocks: Vec<SamplingMessageContentBlock>) -> Self {
        Self::Many(blocks)
    }
}

/// One block of a message.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum SamplingMessageContentBlock {
    /// A text block.
    Text(TextContent),
    /// An image.
    Image(ImageContent),
    /// Audio (since 2025-03-26).
    Audio(AudioContent),
    /// A request of the model to call a tool (since 2025-11-25).
    ToolUse(ToolUseContent),
    /// The result of a tool call of the model (since 2025-11-25).
    ToolResult(ToolResultContent),
    /// An object with another `type`, stored unchanged.
    Unknown(RawJson),
}

impl SamplingMessageContentBlock {
    /// Creates a text block.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        TextContent::new(text).into()
    }

    /// Returns the text, or `None` if this is not a text block.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(content) => Some(&content.text),
            _ => None,
        }
    }

    fn from_raw(raw: &RawJson) -> serde_json::Result<Self> {
        match content::kind(raw)?.as_ref() {
            "text" => raw.parse().map(Self::Text),
            "image" => raw.parse().map(Self::Image),
            "audio" => raw.parse().map(Self::Audio),
            "tool_use" => raw.parse().map(Self::ToolUse),
            "tool_result" => raw.parse().map(Self::ToolResult),
            _ => Ok(Self::Unknown(raw.clone())),
        }
    }
}

impl<'de> Deserialize<'de> for SamplingMessageContentBlock {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_raw(&RawJson::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl From<&str> for SamplingMessageContentBlock {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for SamplingMessageContentBlock {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<TextContent> for SamplingMessageContentBlock {
    fn from(content: TextContent) -> Self {
        Self::Text(content)
    }
}

impl From<ImageContent> for SamplingMessageContentBlock {
    fn from(content: ImageContent) -> Self {
        Self::Image(content)
    }
}

impl From<AudioContent> for SamplingMessageContentBlock {
    fn from(content: AudioContent) -> Self {
        Self::Audio(content)
    }
}

impl From<ToolUseContent> for SamplingMessageContentBlock {
    fn from(content: ToolUseContent) -> Self {
        Self::ToolUse(content)
    }
}

impl From<ToolResultContent> for SamplingMessageContentBlock {
    fn from(content: ToolResultContent) -> Self {
        Self::ToolResult(content)
    }
}

/// A request of the model to call a tool (since 2025-11-25).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolUseContent {
    #[serde(rename = "type")]
    kind: ToolUseKind,
    /// The id that the tool result refers to.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The arguments, a JSON object.
    pub input: RawJson,
    /// The `_meta` object. The client sends it to the model provider with the next request.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ToolUseContent {
    /// Creates a request to call a tool.
    #[must_use]
    pub fn new(id: impl Into<String>, name: impl Into<String>, input: impl Into<RawJson>) -> Self {
        Self {
            kind: ToolUseKind::ToolUse,
            id: id.into(),
            name: name.into(),
            input: input.into(),
            meta: None,
            extra: Extra::new(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ToolUseKind {
    ToolUse,
}

/// The result of a tool call of the model (since 2025-11-25).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolResultContent {
    #[serde(rename = "type")]
    kind: ToolResultKind,
    /// The id of the [`ToolUseContent`] that this is the result of.
    pub tool_use_id: String,
    /// The content for the model.
    pub content: Vec<ContentBlock>,
    /// The result as JSON: an object in 2025-11-25, any value including `null` since 2026-07-28.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub structured_content: Option<RawJson>,
    /// Whether the tool failed. Absent means `false`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// The `_meta` object. The client sends it to the model provider with the next request.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ToolResultContent {
    /// Creates the result of the tool use with this id.
    #[must_use]
    pub fn new(
        tool_use_id: impl Into<String>,
        content: impl IntoIterator<Item = ContentBlock>,
    ) -> Self {
        Self {
            kind: ToolResultKind::ToolResult,
            tool_use_id: tool_use_id.into(),
            content: content.into_iter().collect(),
            structured_content: None,
            is_error: None,
            meta: None,
            extra: Extra::new(),
        }
    }

    setters! {
        with_structured_content(structured_content: into RawJson);
        with_is_error(is_error: some bool);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ToolResultKind {
    ToolResult,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::round_trip::check;

    #[test]
    fn single_block_and_array_of_one_block_both_round_trip() {
        let block = json!({"type": "text", "text": "a"});
        let one = check::<SamplingMessage>(json!({"role": "user", "content": block}));
        let many = check::<SamplingMessage>(json!({"role": "user", "content": [block]}));
        assert_ne!(one, many);
        assert_eq!(one.content.blocks(), many.content.blocks());
        assert_eq!(one.content.blocks()[0].as_text(), Some("a"));
        check::<SamplingMessage>(
            json!({"role": "assistant", "content": [], "_meta": {"a": 1}, "b": 2}),
        );
    }

    #[test]
    fn every_type_of_block_round_trips() {
        for block in [
            json!({"type": "text", "text": "t", "annotations": {"priority": 1}}),
            json!({"type": "image", "data": "AA==", "mimeType": "image/png"}),
            json!({"type": "audio", "data": "AA==", "mimeType": "audio/wav", "later": 1}),
            json!({"type": "tool_use", "id": "1", "name": "n", "input": {"a": 1.0}, "_meta": {"b": 2}, "c": 3}),
            json!({
                "type": "tool_result", "toolUseId": "1", "isError": false, "structuredContent": null, "x": {},
                "content": [{"type": "text", "text": "t"}, {"type": "later", "y": 1}], "_meta": {"z": 1},
            }),
            json!({"type": "tool_result", "toolUseId": "1", "content": [], "structuredContent": {"a": 1}}),
        ] {
            let block = check::<SamplingMessageContentBlock>(block);
            assert!(!matches!(block, SamplingMessageContentBlock::Unknown(_)));
        }
    }

    #[test]
    fn block_of_unknown_type_round_trips_byte_for_byte() {
        let text = r#"{ "type":"hologram", "n":1.00 }"#;
        let block: SamplingMessageContentBlock = serde_json::from_str(text).unwrap();
        assert!(matches!(block, SamplingMessageContentBlock::Unknown(_)));
        assert_eq!(serde_json::to_string(&block).unwrap(), text);
    }

    #[test]
    fn malformed_content_is_rejected() {
        for text in [
            "1",
            "null",
            "\"text\"",
            "{}",
            "[[]]",
            r#"{"type":"text"}"#,
            r#"[{"type":1}]"#,
        ] {
            assert!(
                serde_json::from_str::<SamplingContent>(text).is_err(),
                "{text}"
            );
        }
    }

    #[test]
    fn built_messages_serialize_to_wire_format() {
        let uses = ToolUseContent::new("1", "n", json!({"a": 1}));
        let result = ToolResultContent::new("1", [ContentBlock::text("t")])
            .with_structured_content(json!(null))
            .with_is_error(true);
        let messages = [
            SamplingMessage::assistant(uses),
            SamplingMessage::user(vec![result.into()]),
        ];
        assert_eq!(
            serde_json::to_value(messages).unwrap(),
            json!([
                {"role": "assistant", "content": {"type": "tool_use", "id": "1", "name": "n", "input": {"a": 1}}},
                {"role": "user", "content": [{
                    "type": "tool_result", "toolUseId": "1", "content": [{"type": "text", "text": "t"}],
                    "structuredContent": null, "isError": true,
                }]},
            ])
        );
    }
}
