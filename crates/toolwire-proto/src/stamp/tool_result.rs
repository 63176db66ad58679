//! Tool results, stamped and written in one step, because they are the most frequent results.

use toolwire_types::{CallToolResult, ContentBlock, RawJson, json, meta_key};

use crate::features::VersionFeatures;
use crate::stamp::{Stamp as _, Target};

/// Appends a result in the form of its revision.
///
/// The output equals stamping and writing the result, but metadata that only names the server is not built first.
///
/// # Errors
/// Returns an error if the result cannot be serialized as JSON.
pub fn write_tool_result(
    out: &mut Vec<u8>,
    mut result: CallToolResult,
    target: &Target<'_>,
) -> serde_json::Result<()> {
    let only_server_info = only_server_info(&result, target);
    match only_text(&result) {
        Some(text) => write_only_text(out, text, target),
        None => {
            result.stamp(&match only_server_info {
                Some(_) => Target::new(target.version),
                None => *target,
            });
            json::write(out, &result)?;
        }
    }
    if let Some(server_info) = only_server_info {
        write_server_info(out, server_info);
    }
    Ok(())
}

/// Appends a result that consists of this text only. The output equals [`write_tool_result`].
#[inline]
pub fn write_text_result(out: &mut Vec<u8>, text: &str, target: &Target<'_>) {
    write_only_text(out, text, target);
    if let Some(server_info) = target.server_info_in_meta() {
        write_server_info(out, server_info);
    }
}

/// Adds the metadata to a result that has none.
pub(super) fn write_server_info(out: &mut Vec<u8>, server_info: &RawJson) {
    // Replaces the brace that ends the result. The result is never empty: a call has `content`, a task has its id.
    out.pop();
    out.extend_from_slice(b",\"_meta\":{");
    json::write_text(out, meta_key::SERVER_INFO);
    out.push(b':');
    out.extend_from_slice(server_info.get().as_bytes());
    out.extend_from_slice(b"}}");
}

/// Returns the text of a result that consists of one text only, as most tools return it.
fn only_text(result: &CallToolResult) -> Option<&str> {
    let [ContentBlock::Text(text)] = result.content.as_slice() else {
        return None;
    };
    let is_only = result.structured_content.is_none()
        && result.is_error.is_none()
        && result.result_type.is_none()
        && result.meta.is_none()
        && result.extra.is_empty()
        && text.annotations.is_none()
        && text.meta.is_none()
        && text.extra.is_empty();
    is_only.then_some(&text.text)
}

/// Writes the result of [`only_text`]. The output equals the general path, at a fraction of its cost.
fn write_only_text(out: &mut Vec<u8>, text: &str, target: &Target<'_>) {
    out.push(b'{');
    if target.version.has_result_type() {
        out.extend_from_slice(b"\"resultType\":\"complete\",");
    }
    out.extend_from_slice(b"\"content\":[{\"type\":\"text\",\"text\":");
    json::write_text(out, text);
    out.extend_from_slice(b"}]}");
}

/// Returns the server's name if there is no other metadata.
fn only_server_info<'t>(result: &CallToolResult, target: &Target<'t>) -> Option<&'t RawJson> {
    target
        .server_info_in_meta()
        .filter(|_| result.meta.is_none())
}

impl<'t> Target<'t> {
    pub(super) fn server_info_in_meta(&self) -> Option<&'t RawJson> {
        self.server_info
            .filter(|_| self.version.has_server_info_in_meta())
    }
}

/// The length of the members of a result or of a text block, with their names.
const AROUND: usize = 64;

/// Returns the estimated length of the result. It is too small for text with many escapes.
#[must_use]
pub fn tool_result_size(result: &CallToolResult, target: &Target<'_>) -> usize {
    let texts = result.content.iter().map(|block| {
        let text = block.as_text().unwrap_or_default();
        AROUND + text.len()
    });
    let structured = result.structured_content.as_ref();
    let server_info = only_server_info(result, target);
    AROUND
        + texts.sum::<usize>()
        + structured.map_or(0, |json| AROUND + json.get().len())
        + server_info.map_or(0, |json| AROUND + json.get().len())
}

/// Returns the [`tool_result_size`] of a result that consists of this text only.
#[must_use]
pub fn text_result_size(text: &str, target: &Target<'_>) -> usize {
    let server_info = target.server_info_in_meta();
    2 * AROUND + text.len() + server_info.map_or(0, |json| AROUND + json.get().len())
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolwire_types::{Meta, ProtocolVersion, ResultType, TextContent};

    use super::*;

    #[test]
    fn written_result_equals_stamped_result() {
        let info = RawJson::from(json!({"name": "s", "version": "1"}));
        let changed = |text: &str, change: fn(&mut CallToolResult)| {
            let mut result = CallToolResult::text(text);
            change(&mut result);
            result
        };
        let results = [
            CallToolResult::default(),
            CallToolResult::text("hello"),
            CallToolResult::text("\"escapes\"\n\u{2028}"),
            CallToolResult::error("no"),
            CallToolResult::structured(&json!({"sum": 3})).unwrap(),
            CallToolResult::structured(&json!([1])).unwrap(),
            changed("empty metadata", |result| result.meta = Some(Meta::new())),
            changed("metadata", |result| {
                let one = RawJson::from(json!(1));
                result.meta = Some(Meta::new().with("com.example/a", one));
            }),
            changed("empty metadata of its own", |result| {
                let mut text = TextContent::new("text");
                text.meta = Some(Meta::new());
                result.content = vec![ContentBlock::Text(text)];
            }),
            changed("two", |result| {
                result.content.push(ContentBlock::text("b"));
            }),
            changed("another kind", |result| {
                result.result_type = Some(ResultType::Other("x".to_owned()));
            }),
            changed("more", |result| {
                result.extra.insert("more".to_owned(), json!(1));
            }),
        ];
        for version in ProtocolVersion::ALL {
            for target in [
                Target::new(version),
                Target::new(version).with_server_info(&info),
            ] {
                for text in ["", "hello", "\"escapes\"\n\u{2028}"] {
                    let result = CallToolResult::text(text);
                    assert_eq!(
                        text_result_size(text, &target),
                        tool_result_size(&result, &target)
                    );
                    let (mut out, mut expected) = (Vec::new(), Vec::new());
                    write_text_result(&mut out, text, &target);
                    write_tool_result(&mut expected, result, &target).unwrap();
                    assert_eq!(out, expected);
                }
                for result in &results {
                    let mut stamped = result.clone();
                    stamped.stamp(&target);
                    let mut out = Vec::new();
                    write_tool_result(&mut out, result.clone(), &target).unwrap();
                    let written: serde_json::Value = serde_json::from_slice(&out).unwrap();
                    assert_eq!(written, serde_json::to_value(&stamped).unwrap());
                    if stamped.meta.is_none() {
                        assert_eq!(out, serde_json::to_vec(&stamped).unwrap());
                    }
                    if result.meta.is_none() {
                        assert!(tool_result_size(result, &target) >= out.len());
                    }
                }
            }
        }
    }
}
