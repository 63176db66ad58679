//! Sampling: a server's requests for a model, and the client's responses.
//!
//! Content that a revision does not permit is an error and is not omitted: a model without the complete input responds
//! differently.

use std::mem;

use toolwire_types::{
    CreateMessageRequestParams, CreateMessageResult, ErrorObject, ProtocolVersion, SamplingContent,
    SamplingMessage, SamplingMessageContentBlock, TextContent, ToolResultContent,
};

use crate::features::VersionFeatures;
use crate::stamp::results::stamp_structured;
use crate::stamp::{Stamp, Target, keep_if, stamp_meta};

/// Converts the parameters of `sampling/createMessage` to a revision.
///
/// Before 2025-11-25 a message has one block, so several blocks are sent as several messages.
///
/// # Errors
/// Returns an error if the revision has no tools in sampling and the request has tools, tool uses or tool results. The
/// same holds for audio before 2025-03-26.
pub fn project_sampling(
    mut params: CreateMessageRequestParams,
    version: ProtocolVersion,
) -> Result<CreateMessageRequestParams, ErrorObject> {
    let offers_tools = params.tools.is_some() || params.tool_choice.is_some();
    if offers_tools && !version.has_sampling_tools() {
        return Err(unsupported(NO_TOOLS, version));
    }
    for message in &params.messages {
        check_blocks(message.content.blocks(), version)?;
    }
    params.stamp(&Target::new(version));
    Ok(params)
}

/// Converts a model's response to the revision of the server.
///
/// Before 2025-11-25 a response has one block, so several texts become one.
///
/// # Errors
/// Returns an error if several blocks are not all text in such a revision, and for blocks that the revision does not
/// define.
pub fn project_sampling_result(
    mut result: CreateMessageResult,
    version: ProtocolVersion,
) -> Result<CreateMessageResult, ErrorObject> {
    check_blocks(result.content.blocks(), version)?;
    if !version.has_sampling_tools()
        && let SamplingContent::Many(blocks) = &mut result.content
    {
        result.content = SamplingContent::One(one_block(mem::take(blocks), version)?);
    }
    result.stamp(&Target::new(version));
    Ok(result)
}

const NO_TOOLS: &str = "sampling has no tools";

fn unsupported(reason: &str, version: ProtocolVersion) -> ErrorObject {
    ErrorObject::invalid_request(format!("{reason} (protocol version {version})"))
}

/// Rejects blocks of kinds that the revision does not define.
fn check_blocks(
    blocks: &[SamplingMessageContentBlock],
    version: ProtocolVersion,
) -> Result<(), ErrorObject> {
    use SamplingMessageContentBlock as Block;

    let reason = blocks.iter().find_map(|block| match block {
        Block::Audio(_) if !version.has_audio() => Some("sampling has no audio"),
        Block::ToolUse(_) | Block::ToolResult(_) if !version.has_sampling_tools() => Some(NO_TOOLS),
        _ => None,
    });
    match reason {
        Some(reason) => Err(unsupported(reason, version)),
        None => Ok(()),
    }
}

/// Returns one block with the content of all.
fn one_block(
    mut blocks: Vec<SamplingMessageContentBlock>,
    version: ProtocolVersion,
) -> Result<SamplingMessageContentBlock, ErrorObject> {
    if blocks.len() == 1
        && let Some(only) = blocks.pop()
    {
        return Ok(only);
    }
    let texts: Option<String> = blocks.iter().map(|block| block.as_text()).collect();
    match texts {
        Some(text) => Ok(TextContent::new(text).into()),
        None => Err(unsupported(
            "the response of a model must be one block, and this one has several that are not all text",
            version,
        )),
    }
}

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

/// Splits a message into messages of one block each. A message with one block is unchanged.
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

impl Stamp for SamplingContent {
    fn stamp(&mut self, target: &Target<'_>) {
        match self {
            Self::One(block) => block.stamp(target),
            Self::Many(blocks) => blocks.stamp(target),
        }
    }
}

impl Stamp for SamplingMessageContentBlock {
    fn stamp(&mut self, target: &Target<'_>) {
        match self {
            Self::Text(content) => content.stamp(target),
            Self::Image(content) => content.stamp(target),
            Self::Audio(content) => content.stamp(target),
            Self::ToolResult(content) => content.stamp(target),
            _ => {}
        }
    }
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

#[cfg(test)]
mod tests {
    use ProtocolVersion::{V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28};
    use serde_json::{Value, json};

    use super::*;

    const OLD: [ProtocolVersion; 3] = [V2024_11_05, V2025_03_26, V2025_06_18];
    const NEW: [ProtocolVersion; 2] = [V2025_11_25, V2026_07_28];

    fn request_messages(mut request: Value, version: ProtocolVersion) -> Result<Value, String> {
        request["maxTokens"] = json!(1);
        let request = serde_json::from_value(request).expect("a request");
        match project_sampling(request, version) {
            Ok(request) => Ok(serde_json::to_value(request).expect("JSON")["messages"].clone()),
            Err(error) => Err(error.message.to_string()),
        }
    }

    fn response_content(content: &Value, version: ProtocolVersion) -> Result<Value, String> {
        let result = json!({"role": "assistant", "model": "m", "content": content});
        let result = serde_json::from_value(result).expect("a sampling result");
        match project_sampling_result(result, version) {
            Ok(result) => Ok(serde_json::to_value(result).expect("JSON")["content"].clone()),
            Err(error) => Err(error.message.to_string()),
        }
    }

    fn text(text: &str) -> Value {
        json!({"type": "text", "text": text})
    }

    fn user(content: Value) -> Value {
        json!({"role": "user", "content": content})
    }

    #[test]
    fn several_blocks_are_several_messages_before_2025_11_25() {
        let messages = json!([user(json!([text("a"), text("b")])), user(text("c"))]);
        for version in OLD {
            let split = json!([user(text("a")), user(text("b")), user(text("c"))]);
            assert_eq!(
                request_messages(json!({"messages": messages}), version),
                Ok(split)
            );
        }
        for version in NEW {
            assert_eq!(
                request_messages(json!({"messages": messages}), version),
                Ok(messages.clone())
            );
        }
    }

    #[test]
    fn unsupported_content_is_an_error() {
        let check = |request: Value, supporting: &[ProtocolVersion], reason: &str| {
            for version in OLD.into_iter().chain(NEW) {
                match request_messages(request.clone(), version) {
                    Ok(_) => assert!(supporting.contains(&version), "{version}"),
                    Err(error) => {
                        assert!(!supporting.contains(&version), "{version}: {error}");
                        assert_eq!(error, format!("{reason} (protocol version {version})"));
                    }
                }
            }
        };
        let audio = json!({"type": "audio", "data": "AA==", "mimeType": "audio/wav"});
        let uses = json!({"type": "tool_use", "id": "1", "name": "n", "input": {}});
        let result = json!({"type": "tool_result", "toolUseId": "1", "content": []});
        let since_audio = [V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28];
        check(
            json!({"messages": [user(json!([text("a"), audio]))]}),
            &since_audio,
            "sampling has no audio",
        );
        for block in [uses, result] {
            check(json!({"messages": [user(block)]}), &NEW, NO_TOOLS);
        }
        check(json!({"messages": [], "tools": []}), &NEW, NO_TOOLS);
        check(json!({"messages": [], "toolChoice": {}}), &NEW, NO_TOOLS);
    }

    #[test]
    fn response_is_one_block_without_loss_before_2025_11_25() {
        let image = json!({"type": "image", "data": "AA==", "mimeType": "image/png"});
        let uses = json!({"type": "tool_use", "id": "1", "name": "n", "input": {}});
        for version in OLD {
            assert_eq!(
                response_content(&json!([text("a"), text("b")]), version),
                Ok(text("ab"))
            );
            assert_eq!(
                response_content(&json!([image]), version),
                Ok(image.clone())
            );
            assert_eq!(response_content(&json!([]), version), Ok(text("")));
            assert_eq!(response_content(&text("a"), version), Ok(text("a")));
            let error = response_content(&json!([text("a"), image]), version).unwrap_err();
            assert!(error.contains("several"), "{error}");
            assert!(response_content(&uses, version).is_err());
        }
        for version in NEW {
            let several = json!([text("a"), image, uses]);
            assert_eq!(response_content(&several, version), Ok(several.clone()));
        }
    }
}
