//! Hides secrets in lines of YAML files before they are shown.
//!
//! A value needs no quotes in YAML and may have several lines, so a secret ends where the indentation says so.

use serde_json::Value;

use crate::hosts::hidden_values::{HiddenValues, has_secret_value, is_reference};
use crate::server_files::HIDDEN;

const QUOTES: [char; 2] = ['"', '\''];

/// Hides the secrets in lines that follow each other.
#[derive(Debug, Default)]
pub(super) struct HiddenYaml {
    values: HiddenValues,
    /// The column of the last key with a secret value. Deeper lines belong to the value, and so do elements of a list in
    /// the same column.
    secret: Option<usize>,
}

impl HiddenYaml {
    /// Returns a line without secrets.
    pub(super) fn line(&mut self, line: &str) -> String {
        let text = line.trim_start();
        if text.is_empty() {
            return line.to_owned();
        }
        let column = line.len() - text.len();
        let mark = text
            .strip_prefix("- ")
            .map_or(0, |rest| 2 + rest.len() - rest.trim_start().len());
        let (start, text) = line.split_at(column + mark);
        if let Some(secret) = self.secret {
            if column > secret || (column == secret && mark > 0) {
                return format!("{start}{HIDDEN}");
            }
            self.secret = None;
        }
        if let Some(comment) = text.strip_prefix('#') {
            // A comment may be a line that was in force.
            let mut hidden = Self::default();
            return format!("{start}#{}", hidden.line(comment));
        }
        let Some((key, value)) = key_and_value(text) else {
            if is_unread_collection(text) {
                self.secret = Some(column);
            }
            return format!("{start}{}", self.value(text));
        };
        let content = value.trim_start();
        let gap = &value[..value.len() - content.len()];
        let shown = if has_secret_value(key.trim_matches(QUOTES)) {
            self.secret = Some(start.len());
            match content {
                "" => String::new(),
                content if is_reference(content.trim_matches(QUOTES)) => content.to_owned(),
                _ => HIDDEN.to_owned(),
            }
        } else {
            if is_unread_collection(content) {
                self.secret = Some(start.len());
            }
            self.value(content)
        };
        format!("{start}{key}:{gap}{shown}")
    }

    /// Returns a value without the secrets in it.
    fn value(&mut self, text: &str) -> String {
        if is_unread_collection(text) {
            return HIDDEN.to_owned();
        }
        if text.starts_with(['[', '{']) {
            return self.values.line(text);
        }
        let quote = text.chars().next().filter(|c| QUOTES.contains(c));
        match quote.and_then(|quote| Some((quote, text[1..].rfind(quote)?))) {
            Some((quote, end)) => {
                let shown = self.values.value(&text[1..=end]);
                format!("{quote}{shown}{}", &text[end + 1..])
            }
            None => self.values.value(text),
        }
    }
}

/// Returns `true` if a value is a list or a map that is not JSON, or does not end in its line. Its names and values are not
/// read, so everything is hidden, also its further lines.
fn is_unread_collection(text: &str) -> bool {
    text.starts_with(['[', '{']) && serde_json::from_str::<Value>(text).is_err()
}

/// Returns the key and the text after its colon, if the line starts with a key.
fn key_and_value(text: &str) -> Option<(&str, &str)> {
    let quoted = match text.chars().next() {
        Some(quote) if QUOTES.contains(&quote) => text[1..].find(quote)? + 2,
        _ => 0,
    };
    let mut colons = text[quoted..].match_indices(':');
    let (colon, _) = colons.find(|(colon, _)| {
        let after = &text[quoted + colon + 1..];
        after.is_empty() || after.starts_with([' ', '\t'])
    })?;
    let (key, value) = text.split_at(quoted + colon);
    Some((key, &value[1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lines: &str, expected: &str) {
        let mut hidden = HiddenYaml::default();
        let shown: Vec<String> = lines.lines().map(|line| hidden.line(line)).collect();
        assert_eq!(shown.join("\n"), expected);
    }

    #[test]
    fn values_with_secret_names_are_hidden() {
        check(
            "  envs:\n    API_KEY: hunter2\n    \"TOKEN\": 'hunter2' # mine\n    MODE: fast\n  cmd: a",
            "  envs:\n    API_KEY: ***\n    \"TOKEN\": ***\n    MODE: fast\n  cmd: a",
        );
        check(
            "password: |\n  hunter2\n\n  hunter3\nother: a\ntokens:\n- hunter2\n- b\nlast: x",
            "password: ***\n  ***\n\n  ***\nother: a\ntokens:\n- ***\n- ***\nlast: x",
        );
        check(
            "secret: hunter2\n  hunter3\na: 1",
            "secret: ***\n  ***\na: 1",
        );
        check(
            "- password: hunter2\n  mode: a",
            "- password: ***\n  mode: a",
        );
        check(
            "args: [--api-key,\n  hunter2]\nenvs: {\n  MODE: x, API_KEY: hunter2\n  }\ncmd: a",
            "args: ***\n  ***\nenvs: ***\n  ***\n  ***\ncmd: a",
        );
        check("# API_KEY: hunter2\n# cmd: a", "# API_KEY: ***\n# cmd: a");
        check("API_KEY:\thunter2", "API_KEY:\t***");
    }

    #[test]
    fn secrets_in_arguments_and_urls_are_hidden() {
        check(
            "args:\n- --api-key\n- hunter2\n- --token=hunter2\n- 'x'",
            "args:\n- --api-key\n- ***\n- --token=***\n- 'x'",
        );
        check(
            r#"args: ["--api-key","hunter2","x"]"#,
            r#"args: ["--api-key","***","x"]"#,
        );
        check("args: [--api-key, hunter2]", "args: ***");
        check("envs: {API_KEY: hunter2}", "envs: ***");
        check(
            "uri: https://me:hunter2@x/mcp?a=hunter2",
            "uri: https://***@x/mcp?***",
        );
    }

    #[test]
    fn references_and_other_text_stay() {
        let text = "# extensions: a\nextensions:\n  notes:\n    enabled: true\n    headers:\n      Authorization: \"Bearer ${KEY}\"\n    \
            env_keys: [\"API_KEY\"]\n    timeout: 300\n";
        check(text, text.trim_end());
    }
}
