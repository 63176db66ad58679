//! What a sampled conversation is made of: messages, and the blocks inside them.
//!
//! Since 2025-11-25 a message holds one block or an array of blocks; which of the two it was is kept.

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
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub content: SamplingContent,
    /// Metadata (since 2025-11-25).
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl SamplingMessage {
    /// Something somebody says.
    #[must_use]
    pub fn new(role: Role, content: impl Into<SamplingContent>) -> Self {
        Self {
            role,
            content: content.into(),
            meta: None,
            extra: Extra::new(),
        }
    }

    /// Something the user says.
    #[must_use]
    pub fn user(content: impl Into<SamplingContent>) -> Self {
        Self::new(Role::User, content)
    }

    /// Something the model says.
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
    reason = "these are the two forms the wire has"
)]
#[expect(
    clippy::large_enum_variant,
    reason = "the large variant is the usual one"
)]
pub enum SamplingContent {
    /// A block on its own.
    One(SamplingMessageContentBlock),
    /// An array of blocks, possibly of just one.
    Many(Vec<SamplingMessageContentBlock>),
}

impl SamplingContent {
    /// The blocks, however many there are.
    #[must_use]
    pub fn blocks(&self) -> &[SamplingMessageContentBlock] {
        match self {
            Self::One(block) => slice::from_ref(block),
            Self::Many(blocks) => blocks,
        }
    }

    /// All the text in it, one block after the other.
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
    /// Text.
    Text(TextContent),
    /// A picture.
    Image(ImageContent),
    /// Sound (since 2025-03-26).
    Audio(AudioContent),
    /// The model wants to use a tool (since 2025-11-25).
    ToolUse(ToolUseContent),
    /// What a tool the model used gave back (since 2025-11-25).
    ToolResult(ToolResultContent),
    /// A kind this crate does not know: an object with some other `type`, unchanged.
    Unknown(RawJson),
}

impl SamplingMessageContentBlock {
    /// A text block.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        TextContent::new(text).into()
    }

    /// The text, when this is a text block.
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

/// The model wants to use a tool (since 2025-11-25).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolUseContent {
    #[serde(rename = "type")]
    kind: ToolUseKind,
    /// The id that the result will repeat.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments, an object.
    pub input: RawJson,
    /// Metadata; goes back to the model's provider with the next request.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ToolUseContent {
    /// The wish to use a tool.
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

/// What a tool the model used gave back (since 2025-11-25).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolResultContent {
    #[serde(rename = "type")]
    kind: ToolResultKind,
    /// The id of the wish that is answered.
    pub tool_use_id: String,
    /// The result, for the model.
    pub content: Vec<ContentBlock>,
    /// The result as data: an object in 2025-11-25, any value, even `null`, since 2026-07-28.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub structured_content: Option<RawJson>,
    /// True when the tool failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// Metadata; goes back to the model's provider with the next request.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ToolResultContent {
    /// The result of the tool use with this id.
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
    fn one_block_and_an_array_of_one_stay_apart() {
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
    fn every_kind_of_block_survives() {
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
    fn unknown_kinds_survive_byte_for_byte() {
        let text = r#"{ "type":"hologram", "n":1.00 }"#;
        let block: SamplingMessageContentBlock = serde_json::from_str(text).unwrap();
        assert!(matches!(block, SamplingMessageContentBlock::Unknown(_)));
        assert_eq!(serde_json::to_string(&block).unwrap(), text);
    }

    #[test]
    fn content_that_is_no_block_is_refused() {
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
    fn builders_write_the_wire_form() {
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
