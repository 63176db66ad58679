//! Reads TOML, the format of Codex.

use std::path::Path;

use serde_json::Value;

/// Returns `true` if the name of a file says that it is TOML.
pub(super) fn is_toml(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "toml")
}

/// Parses a document. An error contains line and column, and no text of the file, which may be a secret.
pub(crate) fn parse(text: &str) -> Result<Value, String> {
    toml::from_str(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        let before = text.get(..start).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        format!("{} at line {line}, column {column}", error.message())
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tables_become_objects() {
        let document = parse(
            "model = \"x\" # comment\n\n[mcp_servers.notes]\ncommand = \"npx\"\nargs = [\"-y\", 'notes',]\n\
             [mcp_servers.notes.env]\nKEY = \"1\"\n[mcp_servers.\"a b\"]\nurl = \"http://x\"\nenabled = false\n",
        );
        let expected = json!({"model": "x", "mcp_servers": {
            "notes": {"command": "npx", "args": ["-y", "notes"], "env": {"KEY": "1"}},
            "a b": {"url": "http://x", "enabled": false},
        }});
        assert_eq!(document, Ok(expected));
    }

    #[test]
    fn error_has_line_and_column_and_no_text_of_the_file() {
        let problem = parse("[mcp_servers.a]\ncommand = \"npx\"\ntoken = hunter2\n").unwrap_err();
        assert!(problem.ends_with("at line 3, column 9"), "{problem}");
        assert!(!problem.contains("hunter2"), "{problem}");
    }
}
