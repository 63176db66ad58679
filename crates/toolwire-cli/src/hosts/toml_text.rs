//! Adds and removes the table of a server in the text of a TOML document. All other text stays.
//!
//! The text is edited by lines. The caller compares the parsed documents, so that a form that this module does not know
//! causes an error and not a wrong file.

use std::ops::Range;

use serde_json::{Map, Value};

/// The keys that are written first, in this order. The others follow by name.
const FIRST_KEYS: [&str; 3] = ["command", "args", "url"];

/// Returns the text with a table at `path`. An existing table of this name is replaced.
pub(super) fn insert(text: &str, path: &[&str], name: &str, entry: &Value) -> String {
    let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let header = [path, &[name]].concat().join(".");
    let empty = Map::new();
    let mut members: Vec<_> = entry.as_object().unwrap_or(&empty).iter().collect();
    // The parser sorts keys, so the order must not depend on that of the entry.
    members.sort_by_key(|(key, _)| {
        let place = FIRST_KEYS.iter().position(|first| first == key);
        (place.unwrap_or(FIRST_KEYS.len()), key.as_str())
    });
    let mut lines = vec![format!("[{header}]")];
    for (key, value) in members {
        lines.push(format!("{} = {}", toml_key(key), toml_value(value)));
    }
    let table = lines.join(line_end) + line_end;
    if let Some(range) = table_range(text, path, name) {
        let (before, after) = (&text[..range.start], &text[range.end..]);
        let gap = if after.is_empty() { "" } else { line_end };
        return format!("{before}{table}{gap}{after}");
    }
    let mut new = text.to_owned();
    if !text.is_empty() {
        if !text.ends_with('\n') {
            new.push_str(line_end);
        }
        new.push_str(line_end);
    }
    new + &table
}

/// Returns the text without the table of a server and the tables inside of it.
pub(super) fn remove(text: &str, path: &[&str], name: &str) -> String {
    let Some(range) = table_range(text, path, name) else {
        return text.to_owned();
    };
    let (mut before, after) = (&text[..range.start], &text[range.end..]);
    if after.is_empty() {
        // The empty line before the last table.
        for gap in ["\r\n\r\n", "\n\n"] {
            if before.ends_with(gap) {
                before = &before[..before.len() - gap.len() / 2];
                break;
            }
        }
    }
    format!("{before}{after}")
}

/// Returns the range of a table and of the tables inside of it, with the empty lines after it. Comments after its last
/// value are not part of it.
fn table_range(text: &str, path: &[&str], name: &str) -> Option<Range<usize>> {
    let table = [path, &[name]].concat();
    let mut start = None;
    // The end of the last line with a key or value, and of the empty lines that follow it.
    let mut end = 0;
    let mut position = 0;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim();
        if trimmed.starts_with('[') {
            let is_inside = header_keys(trimmed).is_some_and(|keys| {
                let mut keys = keys.iter();
                table.iter().all(|part| keys.next() == Some(part))
            });
            match (start, is_inside) {
                (None, true) => start = Some(position),
                (Some(_), false) => break,
                _ => {}
            }
        }
        let is_part = if trimmed.is_empty() {
            end == position
        } else {
            !trimmed.starts_with('#')
        };
        position += line.len();
        if is_part {
            end = position;
        }
    }
    start.map(|start| start..end)
}

/// Returns the keys of the header of a table.
fn header_keys(line: &str) -> Option<Vec<&str>> {
    let (inside, _) = line.trim_start_matches('[').split_once(']')?;
    let keys = inside
        .split('.')
        .map(|key| key.trim().trim_matches(['"', '\'']));
    Some(keys.collect())
}

fn toml_key(key: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !key.is_empty() && key.chars().all(is_bare) {
        key.to_owned()
    } else {
        toml_string(key)
    }
}

fn toml_value(value: &Value) -> String {
    match value {
        Value::String(text) => toml_string(text),
        Value::Array(values) => {
            let values: Vec<_> = values.iter().map(toml_value).collect();
            format!("[{}]", values.join(", "))
        }
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(key, _)| key.as_str());
            let members: Vec<_> = members
                .into_iter()
                .map(|(key, value)| format!("{} = {}", toml_key(key), toml_value(value)))
                .collect();
            format!("{{ {} }}", members.join(", "))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// Returns a basic string. Its escapes are those of JSON, and one more.
fn toml_string(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PATH: &[&str] = &["mcp_servers"];

    #[test]
    fn table_is_appended_and_removed() {
        fn check(text: &str, expected: &str) {
            let entry = json!({"command": "a\"b", "args": ["x", "y"], "env": {"A B": "1"}});
            let new = insert(text, PATH, "notes", &entry);
            assert_eq!(new, expected);
            let line_end = text.is_empty() || text.ends_with('\n');
            if line_end {
                assert_eq!(remove(&new, PATH, "notes"), text);
            }
        }
        let table = "[mcp_servers.notes]\ncommand = \"a\\\"b\"\nargs = [\"x\", \"y\"]\nenv = { \"A B\" = \"1\" }\n";
        check("", table);
        check(
            "model = \"x\" # m\n",
            &format!("model = \"x\" # m\n\n{table}"),
        );
        check("a = 1", &format!("a = 1\n\n{table}"));
        check(
            "a = 1\r\n",
            &format!("a = 1\n\n{table}").replace('\n', "\r\n"),
        );
    }

    #[test]
    fn table_between_others_is_removed_with_its_inner_tables() {
        let text = "[mcp_servers.a]\nx = 1\n\n[mcp_servers.\"notes\"]\ny = 1\n\n[mcp_servers.notes.env]\nK = \"1\"\n\n\
            # about b\n[mcp_servers.b]\nz = 1\n";
        let removed = remove(text, PATH, "notes");
        let expected = "[mcp_servers.a]\nx = 1\n\n# about b\n[mcp_servers.b]\nz = 1\n";
        assert_eq!(removed, expected);
        assert_eq!(remove(text, PATH, "other"), text);
    }

    #[test]
    fn comments_after_a_table_stay() {
        fn check(after: &str, expected: &str) {
            let text = format!("a = 1\n\n[mcp_servers.notes]\n# inside\nx = 1\n{after}");
            assert_eq!(remove(&text, PATH, "notes"), expected);
        }
        check("# one\n", "a = 1\n\n# one\n");
        check("\n# one\n\n# two\n", "a = 1\n\n# one\n\n# two\n");
        check(
            "# one\n\n# two\n[b]\nz = 1\n",
            "a = 1\n\n# one\n\n# two\n[b]\nz = 1\n",
        );
        let text = "[mcp_servers.notes]\nx = 1\n\n# one\n\n# two\n";
        let new = insert(text, PATH, "notes", &json!({"command": "a"}));
        let expected = "[mcp_servers.notes]\ncommand = \"a\"\n\n# one\n\n# two\n";
        assert_eq!(new, expected);
    }

    #[test]
    fn existing_table_is_replaced_in_its_place() {
        let text = "[mcp_servers.notes]\nx = 1\n\n[tail]\ny = 2\n";
        let new = insert(text, PATH, "notes", &json!({"command": "a"}));
        let expected = "[mcp_servers.notes]\ncommand = \"a\"\n\n[tail]\ny = 2\n";
        assert_eq!(new, expected);
    }
}
