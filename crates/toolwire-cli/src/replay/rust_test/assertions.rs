//! The assertions about a result, and JSON as Rust code.

use serde_json::Value;

use crate::record::is_redacted;
use crate::replay::compare::{has_time, is_ignored};

/// Returns assertions that the value of an expression is the recorded one, except for what differs between two runs. `path`
/// is the place of the value in the message.
pub(super) fn assertions(expression: &str, value: &Value, path: &mut Vec<String>) -> String {
    if is_ignored(path) || is_meta(path) {
        return String::new();
    }
    if !is_variable(value, path) {
        let value = json_code(value);
        return format!("    assert_eq!({expression}, {value});\n");
    }
    let mut code = String::new();
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                path.push(name.clone());
                code += &assertions(&format!("{expression}[{name:?}]"), member, path);
                path.pop();
            }
        }
        Value::Array(elements) => {
            let length = elements.len();
            code += &format!(
                "    assert_eq!({expression}.as_array().map(Vec::len), Some({length}));\n"
            );
            for (index, element) in elements.iter().enumerate() {
                path.push(index.to_string());
                code += &assertions(&format!("{expression}[{index}]"), element, path);
                path.pop();
            }
        }
        _ => {}
    }
    code
}

/// Returns `true` if a part of a value differs between two runs, or was redacted. The whole message has members that do.
fn is_variable(value: &Value, path: &mut Vec<String>) -> bool {
    if path.len() == 1 || is_ignored(path) {
        return true;
    }
    match value {
        Value::Object(members) => members.iter().any(|(name, member)| {
            path.push(name.clone());
            let is_variable = is_variable(member, path);
            path.pop();
            is_variable
        }),
        Value::Array(elements) => elements.iter().enumerate().any(|(index, element)| {
            path.push(index.to_string());
            let is_variable = is_variable(element, path);
            path.pop();
            is_variable
        }),
        Value::String(text) => is_redacted(text) || has_time(value),
        _ => false,
    }
}

/// Returns `true` for the `_meta` of a result, which belongs to one connection.
fn is_meta(path: &[String]) -> bool {
    path.len() == 2 && path[1] == "_meta"
}

/// Returns the code for a value.
pub(super) fn json_code(value: &Value) -> String {
    let text = value.to_string();
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if is_plain && !text.contains("\"#") {
        format!("recorded_json(r#\"{text}\"#)")
    } else {
        format!("recorded_json({text:?})")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_differs_between_two_runs_is_not_asserted() {
        let result = json!({
            "_meta": {"a": 1},
            "requestState": "a",
            "task": {"taskId": "a", "createdAt": "b", "status": "working"},
            "structuredContent": {"at": "2026-11-18T10:00:00Z", "list": [1, "2026-11-18T10:00:00Z"]},
            "content": [{"type": "text"}],
        });
        let code = assertions("result", &result, &mut vec!["result".to_owned()]);
        let expected = [
            r##"    assert_eq!(result["task"]["status"], recorded_json(r#""working""#));"##,
            r##"    assert_eq!(result["structuredContent"]["list"].as_array().map(Vec::len), Some(2));"##,
            r##"    assert_eq!(result["structuredContent"]["list"][0], recorded_json(r#"1"#));"##,
            r##"    assert_eq!(result["content"], recorded_json(r#"[{"type":"text"}]"#));"##,
        ];
        let mut lines: Vec<&str> = code.lines().collect();
        let mut expected = expected.to_vec();
        lines.sort_unstable();
        expected.sort_unstable();
        assert_eq!(lines, expected);
    }

    #[test]
    fn every_json_is_a_valid_literal() {
        for (value, expected) in [
            (json!({"a": 1}), r##"recorded_json(r#"{"a":1}"#)"##),
            (json!("\u{1b}"), r##"recorded_json(r#""\u001b""#)"##),
            (json!("\u{202e}"), r#"recorded_json("\"\u{202e}\"")"#),
            // The raw literal would end in it.
            (json!("#"), r##"recorded_json("\"#\"")"##),
        ] {
            assert_eq!(json_code(&value), expected);
        }
    }
}
