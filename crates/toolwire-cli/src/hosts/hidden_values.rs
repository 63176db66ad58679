//! Hides secrets in lines of configuration files before they are shown.
//!
//! A changed line, or the lines between two changes, may belong to other servers. The values of members, variables, options
//! and headers with secret names are hidden, and so are credentials and queries in URLs. The lines are JSON or TOML.

use toolwire_proto::secret_names::{is_secret_header, secret_value};

use crate::server_files::{HIDDEN, redacted_url};

/// Hides the secrets in lines that follow each other. An option and its value may be in two lines.
#[derive(Debug, Default)]
pub(super) struct HiddenValues {
    /// Whether the next text is the value of something secret.
    is_next_secret: bool,
}

impl HiddenValues {
    /// Returns a line without secrets.
    pub(super) fn line(&mut self, line: &str) -> String {
        let mut shown = String::with_capacity(line.len());
        let mut rest = line;
        while let Some(start) = rest.find(['"', '\'']) {
            let (before, quoted) = rest.split_at(start);
            self.bare_name(before);
            shown.push_str(before);
            let Some((text, after)) = text_literal(quoted) else {
                shown.push_str(&quoted[..1]);
                rest = &quoted[1..];
                continue;
            };
            let quote = &quoted[..1];
            shown.push_str(quote);
            let is_name = after[1..].trim_start().starts_with([':', '=']);
            if is_name {
                self.is_next_secret = is_secret_name(text);
                shown.push_str(text);
            } else {
                shown.push_str(&self.value(text));
            }
            shown.push_str(quote);
            rest = &after[1..];
        }
        self.bare_name(rest);
        shown.push_str(rest);
        shown
    }

    /// Reads the name of a TOML member without quotes, in the text before a value.
    fn bare_name(&mut self, before: &str) {
        if let Some((name, _)) = before.rsplit_once('=') {
            let name = name.rsplit([',', '{']).next().unwrap_or(name).trim();
            if !name.is_empty() {
                self.is_next_secret = is_secret_name(name);
            }
        }
    }

    /// Returns a value as it is shown.
    fn value(&mut self, text: &str) -> String {
        let is_secret = std::mem::take(&mut self.is_next_secret);
        if is_secret && !text.starts_with(['$', '{']) && !text.starts_with("Bearer ${") {
            return HIDDEN.to_owned();
        }
        if text.contains("://") {
            return redacted_url(text);
        }
        // `--token=value`, `KEY=value`, `Authorization: value`, or an option whose value is the next word.
        for separator in ['=', ':'] {
            if let Some((name, _)) = text.split_once(separator)
                && is_secret_name(name)
            {
                return format!("{name}{separator}{HIDDEN}");
            }
        }
        self.is_next_secret = text.starts_with('-') && is_secret_name(text);
        text.to_owned()
    }
}

/// Returns the content of the text literal at the start, and the rest from its closing quote on.
fn text_literal(quoted: &str) -> Option<(&str, &str)> {
    let quote = quoted.chars().next()?;
    let mut is_escaped = false;
    for (index, c) in quoted.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if quote == '"' => is_escaped = true,
            c if c == quote => return Some((&quoted[1..index], &quoted[index..])),
            _ => {}
        }
    }
    None
}

/// Returns `true` if the value of a member, variable, option or header with this name is a secret.
fn is_secret_name(name: &str) -> bool {
    let name = name.trim().trim_start_matches('-');
    secret_value(name).is_some() || is_secret_header(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lines: &str, expected: &str) {
        let mut hidden = HiddenValues::default();
        let shown: Vec<String> = lines.lines().map(|line| hidden.line(line)).collect();
        assert_eq!(shown.join("\n"), expected);
    }

    #[test]
    fn values_with_secret_names_are_hidden() {
        check(
            r#"  {"env": {"API_KEY": "hunter2", "MODE": "fast"}, "command": "a"},"#,
            r#"  {"env": {"API_KEY": "***", "MODE": "fast"}, "command": "a"},"#,
        );
        check(
            r#""headers": {"Authorization": "Bearer hunter2", "X-Key": "a"}"#,
            r#""headers": {"Authorization": "***", "X-Key": "a"}"#,
        );
        check(
            r#"env = { API_KEY = "hunter2", "password" = 'hunter2', MODE = "fast" }"#,
            r#"env = { API_KEY = "***", "password" = '***', MODE = "fast" }"#,
        );
        check(r#"access_token = "hun\"ter2""#, r#"access_token = "***""#);
    }

    #[test]
    fn secrets_in_arguments_are_hidden() {
        check(
            r#"["--api-key", "hunter2", "--token=hunter2", "-v", "Authorization: hunter2", "a"]"#,
            r#"["--api-key", "***", "--token=***", "-v", "Authorization:***", "a"]"#,
        );
        check(
            "\"--api-key\",\n\"hunter2\",\n\"a\"",
            "\"--api-key\",\n\"***\",\n\"a\"",
        );
        check(
            r#""url": "https://me:hunter2@x/mcp?key=hunter2""#,
            r#""url": "https://***@x/mcp?***""#,
        );
    }

    #[test]
    fn references_and_other_text_stay() {
        for text in [
            r#"{"env": {"API_KEY": "${API_KEY}", "TOKEN": "{env:TOKEN}"}}"#,
            r#""Authorization": "Bearer ${env:KEY}""#,
            r#"bearer_token_env_var = "KEY""#,
            "// don't change this",
            "[mcp_servers.notes]",
            "",
        ] {
            check(text, text);
        }
    }
}
