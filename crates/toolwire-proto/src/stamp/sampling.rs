//! Sampling: requests of a server for a model, and the answers of the client.

use std::mem;

use toolwire_types::{
    CreateMessageRequestParams, CreateMessageResult, ProtocolVersion, SamplingContent,
    SamplingMessage, SamplingMessageContentBlock, ToolResultContent, ToolUseContent,
};

use super::content::describe_audio;
use super::results::stamp_structured;
use super::{Stamp, Target, keep_if, stamp_meta};
use crate::features::VersionFeatures;

impl Stamp for CreateMessageRequestParams {
    fn stamp(&mut self, target: &Target<'_>) {
        let version = target.version;
        if !version.has_sampling_tools() {
            let messages = mem::take(&mut self.messages);
            self.messages = messages.into_iter().flat_map(split).collect();
        }
        self.messages.stamp(target);
        keep_if(version.has_sampling_tools(), &mut self.tools);
        keep_if(version.has_sampling_tools(), &mut self.tool_choice);
        for tool in self.tools.iter_mut().flatten() {
            tool.stamp(target);
        }
        keep_if(version.has_core_tasks(), &mut self.task);
        stamp_meta(&mut self.meta, target);
    }
}

/// Several blocks in one message are several messages of one block each; a single block stays what it was.
fn split(message: SamplingMessage) -> Vec<SamplingMessage> {
    match message.content {
        SamplingContent::One(_) => vec![message],
        SamplingContent::Many(blocks) => {
            let alone = |block| SamplingMessage::new(message.role, SamplingContent::One(block));
            blocks.into_iter().map(alone).collect()
        }
    }
}

impl Stamp for SamplingMessage {
    fn stamp(&mut self, target: &Target<'_>) {
        self.content.stamp(target);
        keep_if(target.version.has_sampling_tools(), &mut self.meta);
    }
}

/// Before 2025-11-25 content is one block; of several the first is kept.
impl Stamp for SamplingContent {
    fn stamp(&mut self, target: &Target<'_>) {
        if let Self::Many(blocks) = self
            && !target.version.has_sampling_tools()
        {
            let first = mem::take(blocks).into_iter().next();
            *self = Self::One(first.unwrap_or_else(|| SamplingMessageContentBlock::text("")));
        }
        match self {
            Self::One(block) => block.stamp(target),
            Self::Many(blocks) => blocks.stamp(target),
        }
    }
}

impl Stamp for SamplingMessageContentBlock {
    fn stamp(&mut self, target: &Target<'_>) {
        if let Some(text) = replacement(self, target.version) {
            *self = Self::text(text);
        }
        match self {
            Self::Text(content) => content.stamp(target),
            Self::Image(content) => content.stamp(target),
            Self::Audio(content) => content.stamp(target),
            Self::ToolResult(content) => content.stamp(target),
            _ => {}
        }
    }
}

/// The text that stands for a block in a revision that does not know its kind.
fn replacement(block: &SamplingMessageContentBlock, version: ProtocolVersion) -> Option<String> {
    use SamplingMessageContentBlock as Block;

    match block {
        Block::Audio(audio) if !version.has_audio() => Some(describe_audio(audio)),
        Block::ToolUse(wish) if !version.has_sampling_tools() => Some(describe_wish(wish)),
        Block::ToolResult(result) if !version.has_sampling_tools() => Some(describe_result(result)),
        _ => None,
    }
}

fn describe_wish(wish: &ToolUseContent) -> String {
    format!("[tool call: {} {}]", wish.name, wish.input)
}

fn describe_result(result: &ToolResultContent) -> String {
    let texts = result.content.iter().filter_map(|block| block.as_text());
    let texts: Vec<&str> = texts.collect();
    format!("[tool result: {}]", texts.join("\n"))
}

impl Stamp for ToolResultContent {
    fn stamp(&mut self, target: &Target<'_>) {
        stamp_structured(&mut self.structured_content, &mut self.content, target);
        self.content.stamp(target);
    }
}

impl Stamp for CreateMessageResult {
    fn stamp(&mut self, target: &Target<'_>) {
        self.content.stamp(target);
        stamp_meta(&mut self.meta, target);
    }
}
