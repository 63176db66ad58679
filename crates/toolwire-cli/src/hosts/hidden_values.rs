//! Hides secrets in lines of configuration files before they are shown.
//!
//! A changed line, or the lines between two changes, may belong to other servers. The values of members, variables, options
//! and headers with secret names are hidden, and so are credentials and queries in URLs. The lines are JSON or TOML.

use toolwire_proto::secret_names::is_secret_header;

use crate::server_files::{HIDDEN, is_secret_name, is_token, redacted_url};

/// The ends of names whose values are names of variables.
const VARIABLE_ENDS: [&str; 4] = ["env", "env_var", "env_vars", "env_keys"];

/// Hides the secrets in lines that follow each other. An option and its value may be in two lines.
#[derive(Debug, Default)]
pub(super) struct HiddenValues {
    /// Whether the next text is the value of something secret.
    is_next_secret: bool,
    /// The number of open brackets of a list whose elements are secrets.
    secret_lists: usize,
}

impl HiddenValues {
    /// Returns a line without secrets.
    pub(super) fn line(&mut self, line: &str) -> String {
        let mut shown = String::with_capacity(line.len());
        let mut rest = line;
        while let Some(start) = rest.find(['"', '\'']) {
            let (before, quoted) = rest.split_at(start);
            self.outside_text(before);
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
                self.is_next_secret = has_secret_value(text);
                shown.push_str(text);
            } else {
                shown.push_str(&self.value(text));
            }
            shown.push_str(quote);
            rest = &after[1..];
        }
        self.outside_text(rest);
        shown.push_str(rest);
        shown
    }

    /// Reads what is outside of text literals: names without quotes, and the brackets of lists.
    fn outside_text(&mut self, outside: &str) {
        self.bare_name(outside);
        for c in outside.chars() {
            match c {
                '[' if self.is_next_secret || self.secret_lists > 0 => self.secret_lists += 1,
                ']' => self.secret_lists = self.secret_lists.saturating_sub(1),
                _ => {}
            }
        }
    }

    /// Reads the name of a TOML member without quotes, in the text before a value.
    fn bare_name(&mut self, before: &str) {
        if let Some((name, _)) = before.rsplit_once('=') {
            let name = name.rsplit([',', '{']).next().unwrap_or(name).trim();
            if !name.is_empty() {
                self.is_next_secret = has_secret_value(name);
            }
        }
    }

    /// Returns a value as it is shown.
    pub(super) fn value(&mut self, text: &str) -> String {
        let is_secret = std::mem::take(&mut self.is_next_secret) || self.secret_lists > 0;
        if is_reference(text) {
            return text.to_owned();
        }
        // An option whose value is the next text.
        self.is_next_secret =
            text.starts_with('-') && !text.contains('=') && has_secret_value(text);
        if is_secret || is_token(text) || text.to_ascii_lowercase().starts_with("bearer ") {
            return HIDDEN.to_owned();
        }
        let (shown, hidden) = match secret_start(text) {
            Some(start) => (&text[..start], HIDDEN),
            None => (text, ""),
        };
        redacted_url(shown) + hidden
    }
}

/// Returns where the first secret starts: the value in `--token=value`, `KEY=value` or `Authorization: value`. The query of
/// a URL is hidden with the URL.
fn secret_start(text: &str) -> Option<usize> {
    let mut separators = text.match_indices(['=', ':']);
    separators.find_map(|(index, _)| {
        let word = text[..index].rsplit(' ').next()?;
        let name = word.rsplit('=').next()?;
        (!word.contains("://") && has_secret_value(name)).then_some(index + 1)
    })
}

/// Returns `true` for a reference to a variable or an input, also as a bearer token. Returns `false` if it has a
/// default, which may be a secret.
pub(super) fn is_reference(text: &str) -> bool {
    let text = text.strip_prefix("Bearer ").unwrap_or(text);
    let inside = text
        .strip_prefix("${")
        .or_else(|| text.strip_prefix("{env:"))
        .and_then(|text| text.strip_suffix('}'));
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_:.-".contains(c);
    inside.is_some_and(|inside| inside.chars().all(is_part) && !inside.contains(":-"))
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
pub(super) fn has_secret_value(name: &str) -> bool {
    let name = name.trim().trim_start_matches('-').to_ascii_lowercase();
    let names_variables = VARIABLE_ENDS.iter().any(|end| name.ends_with(end));
    !names_variables && (is_secret_name(&name) || is_secret_header(&name))
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
            r#""headers": {"Authorization": "***", "X-Key": "***"}"#,
        );
        check(
            r#"env = { API_KEY = "hunter2", "password" = 'hunter2', MODE = "fast" }"#,
            r#"env = { API_KEY = "***", "password" = '***', MODE = "fast" }"#,
        );
        check(r#"access_token = "hun\"ter2""#, r#"access_token = "***""#);
        check(
            r#""tokens": ["a", "b"], "args": ["c"]"#,
            r#""tokens": ["***", "***"], "args": ["c"]"#,
        );
        check(
            "tokens = [\n'a',\n'b',\n]\nargs = ['c']",
            "tokens = [\n'***',\n'***',\n]\nargs = ['c']",
        );
    }

    #[test]
    fn values_that_only_look_like_references_are_hidden() {
        check(
            r#""GOOGLE_CREDENTIALS": "{\"private_key\":\"hunter2\"}""#,
            r#""GOOGLE_CREDENTIALS": "***""#,
        );
        check(r#""PASSWORD": "$tr0ng""#, r#""PASSWORD": "***""#);
        check(r#""API_KEY": "${KEY:-hunter2}""#, r#""API_KEY": "***""#);
        check(
            r#""Authorization": "Bearer ${KEY:-hunter2}""#,
            r#""Authorization": "***""#,
        );
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
        check(
            r#""url": "https://x/mcp?a=b&key=hunter2""#,
            r#""url": "https://x/mcp?***""#,
        );
        check(
            r#"["-c", "API_KEY=hunter2 npx mcp-remote https://x", "--env=API_KEY=hunter2"]"#,
            r#"["-c", "API_KEY=***", "--env=API_KEY=***"]"#,
        );
        check(
            r#"["--auth", "--token", "hunter2", "Bearer hunter2", "a1b2c3d4e5f6a7b8c9d0"]"#,
            r#"["--auth", "***", "***", "***", "***"]"#,
        );
    }

    #[test]
    fn references_and_other_text_stay() {
        for text in [
            r#"{"env": {"API_KEY": "${API_KEY}", "TOKEN": "{env:TOKEN}"}}"#,
            r#""Authorization": "Bearer ${env:KEY}""#,
            r#"bearer_token_env_var = "KEY""#,
            r#"env_vars = ["API_KEY"]"#,
            r#"["--bearer-env", "KEY", "${input:notes-KEY}"]"#,
            "// don't change this",
            "[mcp_servers.notes]",
            "",
        ] {
            check(text, text);
        }
    }
}
