//! Formats results: text unchanged, binary content as a summary.

use std::fmt::Write;

use serde_json::Value;
use toolwire::types::{CallToolResult, GetPromptResult, ReadResourceResult, Role};
use toolwire::{ContentBlock, ResourceContents};

use crate::show::{Style, plain_text, pretty_json, size};

/// Content that can be saved as a file.
#[derive(Debug, PartialEq)]
pub(crate) enum Attachment<'a> {
    Text(&'a str),
    /// Bytes in base64.
    Bytes(&'a str),
}

/// Formats the result of a tool. Structured content is shown once, even if a text block repeats it.
pub(crate) fn call_result(result: &CallToolResult, style: Style) -> String {
    let mut text = String::new();
    let data = result
        .structured_content
        .as_ref()
        .and_then(|data| data.to_value().ok());
    for content in &result.content {
        let repeats = |shown: &str| {
            let value: Option<Value> = serde_json::from_str(shown).ok();
            value.is_some() && value == data
        };
        if content.as_text().is_some_and(repeats) {
            continue;
        }
        match result.is_error {
            Some(true) => line(&mut text, &style.paint.red(&block(content, style))),
            _ => line(&mut text, &block(content, style)),
        }
    }
    if let Some(data) = data {
        line(&mut text, &pretty_json(&data));
    }
    text
}

pub(crate) fn contents(result: &ReadResourceResult, style: Style) -> String {
    let mut text = String::new();
    let several = result.contents.len() > 1;
    for contents in &result.contents {
        if several {
            let uri = match contents {
                ResourceContents::Text(contents) => contents.uri.as_str(),
                ResourceContents::Blob(contents) => contents.uri.as_str(),
                _ => "",
            };
            line(
                &mut text,
                &style.paint.dim(&format!("── {}", plain_text(uri))),
            );
        }
        line(&mut text, &resource(contents, style));
    }
    text
}

pub(crate) fn prompt_result(result: &GetPromptResult, style: Style) -> String {
    let mut text = String::new();
    for message in &result.messages {
        let role = match message.role {
            Role::User => style.paint.cyan("user"),
            _ => style.paint.green("assistant"),
        };
        let _ = writeln!(text, "{role}: {}", block(&message.content, style));
    }
    text
}

/// Returns the blocks that can be saved as bytes.
pub(crate) fn attachments(content: &[ContentBlock]) -> Vec<Attachment<'_>> {
    content
        .iter()
        .filter_map(|content| match content {
            ContentBlock::Image(image) => Some(Attachment::Bytes(&image.data)),
            ContentBlock::Audio(audio) => Some(Attachment::Bytes(&audio.data)),
            ContentBlock::Resource(embedded) => of_resource(&embedded.resource),
            _ => None,
        })
        .collect()
}

pub(crate) fn of_resource(contents: &ResourceContents) -> Option<Attachment<'_>> {
    match contents {
        ResourceContents::Text(contents) => Some(Attachment::Text(&contents.text)),
        ResourceContents::Blob(contents) => Some(Attachment::Bytes(&contents.blob)),
        _ => None,
    }
}

fn block(content: &ContentBlock, style: Style) -> String {
    match content {
        ContentBlock::Text(content) => style.content(&content.text).into_owned(),
        ContentBlock::Image(image) => bytes("image", Some(&image.mime_type), &image.data, style),
        ContentBlock::Audio(audio) => bytes("audio", Some(&audio.mime_type), &audio.data, style),
        ContentBlock::ResourceLink(link) => {
            let name = link.title.as_deref().unwrap_or(&link.name);
            let text = format!("[{name}: {}; `toolwire read` shows it]", link.uri);
            style.paint.dim(&plain_text(&text))
        }
        ContentBlock::Resource(embedded) => resource(&embedded.resource, style),
        ContentBlock::Unknown(raw) => pretty_json(&raw.to_value().unwrap_or_default()),
        _ => String::new(),
    }
}

fn resource(contents: &ResourceContents, style: Style) -> String {
    match contents {
        ResourceContents::Text(contents) => style.content(&contents.text).into_owned(),
        ResourceContents::Blob(contents) => bytes(
            "bytes",
            contents.mime_type.as_deref(),
            &contents.blob,
            style,
        ),
        _ => String::new(),
    }
}

fn bytes(what: &str, mime_type: Option<&str>, base64: &str, style: Style) -> String {
    let padding = base64
        .bytes()
        .rev()
        .take_while(|byte| *byte == b'=')
        .count();
    let length = size((base64.len() / 4 * 3).saturating_sub(padding));
    let mime_type = mime_type
        .map(|kind| format!(" {kind},"))
        .unwrap_or_default();
    let text = format!("[{what}:{mime_type} {length}; --output FILE saves it]");
    style.paint.dim(&plain_text(&text))
}

fn line(text: &mut String, content: &str) {
    text.push_str(content);
    if !content.ends_with('\n') {
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(result: Value) -> String {
        call_result(&serde_json::from_value(result).unwrap(), Style::default())
    }

    #[test]
    fn structured_content_is_shown_once() {
        let result = json!({
            "content": [{"type": "text", "text": "{\"sum\":3}"}, {"type": "text", "text": "three"}],
            "structuredContent": {"sum": 3},
        });
        assert_eq!(shown(result), "three\n{\n  \"sum\": 3\n}\n");
    }

    #[test]
    fn binary_content_is_summarized() {
        let result = json!({"content": [
            {"type": "image", "mimeType": "image/png", "data": "AAAAAA=="},
            {"type": "resource_link", "uri": "demo://a", "name": "a"},
            {"type": "resource", "resource": {"uri": "demo://b", "blob": "AAAA"}},
            {"type": "resource", "resource": {"uri": "demo://c", "text": "inside"}},
            {"type": "later", "x": 1},
        ]});
        assert_eq!(
            shown(result),
            "[image: image/png, 4 bytes; --output FILE saves it]\n\
             [a: demo://a; `toolwire read` shows it]\n\
             [bytes: 3 bytes; --output FILE saves it]\n\
             inside\n\
             {\n  \"type\": \"later\",\n  \"x\": 1\n}\n"
        );
    }

    #[test]
    fn text_cannot_control_a_terminal() {
        let style = Style {
            width: Some(80),
            ..Style::default()
        };
        let result = CallToolResult::text("\u{1b}]0;owned\u{7}\u{202e}");
        let shown = call_result(&result, style);
        assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown:?}");
        // A file gets the text unchanged.
        let saved = call_result(&result, Style::default());
        assert_eq!(saved, "\u{1b}]0;owned\u{7}\u{202e}\n");
    }

    #[test]
    fn names_and_structured_content_are_always_escaped() {
        let result = json!({
            "content": [
                {"type": "resource_link", "uri": "demo://\u{202e}a", "name": "\u{1b}b"},
                {"type": "image", "mimeType": "\u{9b}c", "data": ""},
                {"type": "later", "x": "\u{2066}d"},
            ],
            "structuredContent": {"e": "\u{202e}\u{7f}"},
        });
        let text = shown(result);
        let hidden = ['\u{1b}', '\u{9b}', '\u{7f}', '\u{202e}', '\u{2066}'];
        assert!(!text.contains(hidden), "{text:?}");
        assert!(text.contains(r#""e": "\u202e\u007f""#), "{text:?}");
    }

    #[test]
    fn attachments_are_found() {
        let result: CallToolResult = serde_json::from_value(json!({"content": [
            {"type": "text", "text": "no"},
            {"type": "image", "mimeType": "image/png", "data": "AAAA"},
            {"type": "resource", "resource": {"uri": "demo://c", "text": "yes"}},
        ]}))
        .unwrap();
        assert_eq!(
            attachments(&result.content),
            [Attachment::Bytes("AAAA"), Attachment::Text("yes")]
        );
    }
}
