//! The `_meta` that the author of a server puts into results and their content.
//!
//! Authors must not use reserved prefixes (spec 2025-11-25 and later, basic, "_meta"). A result is complete when its keys
//! are checked, so forbidden keys are removed instead of failing the request.

use indexmap::IndexMap;
use serde_json::value::RawValue;
use toolwire_types::{
    CallToolResult, ContentBlock, GetPromptResult, InputRequiredResult, Meta, RawJson,
    ReadResourceResult, ResourceContents,
};

use crate::meta_keys::ForbiddenKey;
use crate::request_meta::may_name_meta;

/// A result, or a part of one, whose `_meta` the author sets.
pub trait AuthoredMeta {
    /// Calls a function with each `_meta` member, present or not.
    fn visit_meta(&mut self, visit: &mut dyn FnMut(&mut Option<Meta>));
}

/// Removes the keys that authors must not use, and returns the reasons. A `_meta` that is empty afterwards is removed.
pub fn remove_forbidden_keys(result: &mut impl AuthoredMeta) -> Vec<ForbiddenKey> {
    let mut forbidden = Vec::new();
    result.visit_meta(&mut |meta| {
        if let Some(present) = meta {
            let first = forbidden.len();
            forbidden.extend(
                present
                    .iter()
                    .filter_map(|(key, _)| ForbiddenKey::check(key).err()),
            );
            for removed in &forbidden[first..] {
                present.remove(removed.key());
            }
            if forbidden.len() > first && present.is_empty() {
                *meta = None;
            }
        }
    });
    forbidden
}

impl AuthoredMeta for CallToolResult {
    fn visit_meta(&mut self, visit: &mut dyn FnMut(&mut Option<Meta>)) {
        visit(&mut self.meta);
        for block in &mut self.content {
            block.visit_meta(visit);
        }
    }
}

impl AuthoredMeta for GetPromptResult {
    fn visit_meta(&mut self, visit: &mut dyn FnMut(&mut Option<Meta>)) {
        visit(&mut self.meta);
        for message in &mut self.messages {
            message.content.visit_meta(visit);
        }
    }
}

impl AuthoredMeta for ReadResourceResult {
    fn visit_meta(&mut self, visit: &mut dyn FnMut(&mut Option<Meta>)) {
        visit(&mut self.meta);
        for contents in &mut self.contents {
            contents.visit_meta(visit);
        }
    }
}

impl AuthoredMeta for InputRequiredResult {
    fn visit_meta(&mut self, visit: &mut dyn FnMut(&mut Option<Meta>)) {
        visit(&mut self.meta);
    }
}

/// The result of a method that the protocol does not define. Only the `_meta` of the result itself is visited, because
/// the meaning of its other members is unknown. A result whose `_meta` does not change keeps its text.
impl AuthoredMeta for RawJson {
    fn visit_meta(&mut self, visit: &mut dyn FnMut(&mut Option<Meta>)) {
        if let Some(changed) = with_visited_meta(self.get(), visit) {
            *self = changed;
        }
    }
}

/// Returns the object with its `_meta` after the visit. Returns `None` if the visit changes nothing, or if the text is not
/// an object with such a member.
fn with_visited_meta(text: &str, visit: &mut dyn FnMut(&mut Option<Meta>)) -> Option<RawJson> {
    if !may_name_meta(text) {
        return None;
    }
    let members: IndexMap<String, &RawValue> = serde_json::from_str(text).ok()?;
    let present: Meta = serde_json::from_str(members.get("_meta")?.get()).ok()?;
    let mut visited = Some(present.clone());
    visit(&mut visited);
    if visited.as_ref() == Some(&present) {
        return None;
    }
    let visited = match visited {
        Some(meta) => Some(RawJson::from_serialize(&meta).ok()?),
        None => None,
    };
    let mut members = members;
    match &visited {
        Some(meta) => members.insert("_meta".to_owned(), meta.as_raw_value()),
        None => members.shift_remove("_meta"),
    };
    RawJson::from_serialize(&members).ok()
}

impl AuthoredMeta for ContentBlock {
    fn visit_meta(&mut self, visit: &mut dyn FnMut(&mut Option<Meta>)) {
        match self {
            Self::Text(content) => visit(&mut content.meta),
            Self::Image(content) => visit(&mut content.meta),
            Self::Audio(content) => visit(&mut content.meta),
            Self::ResourceLink(content) => visit(&mut content.meta),
            Self::Resource(content) => {
                visit(&mut content.meta);
                content.resource.visit_meta(visit);
            }
            _ => {}
        }
    }
}

impl AuthoredMeta for ResourceContents {
    fn visit_meta(&mut self, visit: &mut dyn FnMut(&mut Option<Meta>)) {
        match self {
            Self::Text(contents) => visit(&mut contents.meta),
            Self::Blob(contents) => visit(&mut contents.meta),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde::Serialize;
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    use super::*;

    #[track_caller]
    fn check<T: AuthoredMeta + DeserializeOwned + Serialize>(
        given: Value,
        expected: Value,
        removed: &[&str],
    ) {
        let mut result: T = serde_json::from_value(given).expect("a result");
        let forbidden = remove_forbidden_keys(&mut result);
        let keys: Vec<&str> = forbidden.iter().map(ForbiddenKey::key).collect();
        assert_eq!(keys, removed);
        assert_eq!(serde_json::to_value(result).expect("JSON"), expected);
        assert!(
            forbidden
                .iter()
                .all(|key| key.to_string().contains("_meta"))
        );
    }

    #[test]
    fn forbidden_keys_are_removed_from_results_and_content() {
        let reserved = || json!({"com.mcp/x": 1});
        check::<CallToolResult>(
            json!({
                "content": [
                    {"type": "text", "text": "a", "_meta": {"com.mcp/x": 1, "com.example/y": 2}},
                    {"type": "resource", "resource": {"uri": "a:b", "text": "", "_meta": reserved()}},
                    {"type": "resource_link", "uri": "a:b", "name": "n", "_meta": {"-": 1}},
                ],
                "_meta": {"com.example/z": 3, "io.modelcontextprotocol/unknown": 4},
            }),
            json!({
                "content": [
                    {"type": "text", "text": "a", "_meta": {"com.example/y": 2}},
                    {"type": "resource", "resource": {"uri": "a:b", "text": ""}},
                    {"type": "resource_link", "uri": "a:b", "name": "n"},
                ],
                "_meta": {"com.example/z": 3},
            }),
            &[
                "io.modelcontextprotocol/unknown",
                "com.mcp/x",
                "com.mcp/x",
                "-",
            ],
        );
        check::<GetPromptResult>(
            json!({"messages": [{"role": "user", "content": {"type": "text", "text": "a", "_meta": reserved()}}]}),
            json!({"messages": [{"role": "user", "content": {"type": "text", "text": "a"}}]}),
            &["com.mcp/x"],
        );
        check::<ReadResourceResult>(
            json!({"contents": [{"uri": "a:b", "blob": "", "_meta": reserved()}], "_meta": reserved()}),
            json!({"contents": [{"uri": "a:b", "blob": ""}]}),
            &["com.mcp/x", "com.mcp/x"],
        );
    }

    #[test]
    fn permitted_metadata_is_unchanged() {
        let result = json!({
            "content": [{"type": "text", "text": "a", "_meta": {}}],
            "_meta": {"com.example/a": 1, "traceparent": "00-1", "io.modelcontextprotocol/serverInfo": {}},
        });
        check::<CallToolResult>(result.clone(), result, &[]);
    }

    #[test]
    fn forbidden_keys_are_removed_from_results_of_unknown_methods() {
        let check = |text: &str, expected: &str, removed: &[&str]| {
            let mut result = RawJson::from_string(text.to_owned()).expect("JSON");
            let forbidden = remove_forbidden_keys(&mut result);
            let keys: Vec<&str> = forbidden.iter().map(ForbiddenKey::key).collect();
            assert_eq!(keys, removed, "{text}");
            assert_eq!(result.get(), expected);
        };
        check(
            r#"{"a":1,"_meta":{"com.mcp/x":1,"com.example/y":2.0},"b":{"_meta":{"com.mcp/x":1}}}"#,
            r#"{"a":1,"_meta":{"com.example/y":2.0},"b":{"_meta":{"com.mcp/x":1}}}"#,
            &["com.mcp/x"],
        );
        check(
            r#"{ "_\u006deta": {"-": null}, "a": [1, 2] }"#,
            r#"{"a":[1, 2]}"#,
            &["-"],
        );
        for unchanged in [
            r#"{ "_meta": {"com.example/y": 1, "traceparent": "00-1"}, "a": 1 }"#,
            r#"{ "_meta": {} }"#,
            r#"{ "_meta": [] }"#,
            r#"[{"_meta":{"com.mcp/x":1}}]"#,
            r#""_meta""#,
            "{}",
            "null",
        ] {
            check(unchanged, unchanged, &[]);
        }
    }
}
