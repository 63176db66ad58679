//! Replaces `${…}` in the values of a server's entry.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use crate::failure::Failure;
use crate::server_files::locations;

/// The prefix of a value that the user is asked for, as in VS Code.
const INPUT: &str = "input:";

/// The values that stand for `${…}`.
pub(super) struct Variables<'a> {
    /// The folder of the project.
    pub(super) workspace: &'a Path,
    pub(super) environment: &'a dyn Fn(&str) -> Option<String>,
    /// The values of `${input:…}` by id.
    pub(super) inputs: &'a BTreeMap<String, String>,
    /// `true` if `$NAME` is an environment variable too, as in the files of Gemini CLI.
    pub(super) has_bare_names: bool,
    /// `true` if `{env:NAME}` is an environment variable too, as in the files of opencode.
    pub(super) has_bare_braces: bool,
}

impl Variables<'_> {
    /// Returns the text with the values of its variables.
    pub(super) fn expand(&self, text: &str) -> Result<String, Failure> {
        let text = if self.has_bare_braces {
            // The other form stays as it is.
            let text = text.replace("${env:", "{env:");
            Cow::Owned(text.replace("{env:", "${env:"))
        } else {
            Cow::Borrowed(text)
        };
        let mut expanded = String::new();
        let mut rest = text.as_ref();
        while let Some(start) = rest.find('$') {
            expanded.push_str(&rest[..start]);
            rest = &rest[start..];
            let (value, length) = if let Some(inside) = braced(rest) {
                (Some(self.value(inside)?), inside.len() + 3)
            } else {
                let name = bare_name(rest).filter(|_| self.has_bare_names);
                let value = name.and_then(|name| (self.environment)(name));
                (value, name.map_or(1, |name| name.len() + 1))
            };
            // A name without a value stays as it is.
            expanded.push_str(value.as_deref().unwrap_or(&rest[..length]));
            rest = &rest[length..];
        }
        expanded.push_str(rest);
        Ok(expanded)
    }

    fn value(&self, inside: &str) -> Result<String, Failure> {
        if let Some(id) = inside.strip_prefix(INPUT) {
            return self.inputs.get(id).cloned().ok_or_else(|| {
                Failure::usage(format!("the input {id} has no value"))
                    .with_advice(format!("pass --input {id}=value"))
            });
        }
        if let Some(value) = self.predefined(inside) {
            return Ok(value);
        }
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        // VS Code and Cursor write `${env:NAME}`.
        let name = name.strip_prefix("env:").unwrap_or(name);
        if name.contains(':') {
            return Err(
                Failure::usage(format!("the variable ${{{inside}}} is not supported")).with_advice(
                    "use ${NAME}, ${env:NAME}, ${input:id}, ${workspaceFolder} or ${userHome}",
                ),
            );
        }
        let value = (self.environment)(name).or_else(|| default.map(str::to_owned));
        value.ok_or_else(|| {
            Failure::usage(format!("the environment variable {name} is not set"))
                .with_advice(format!("set it, or write ${{{name}:-default}}"))
        })
    }

    /// Returns the value of a variable that editors define.
    fn predefined(&self, name: &str) -> Option<String> {
        let path = |path: &Path| path.display().to_string();
        match name {
            "workspaceFolder" | "workspaceRoot" => Some(path(self.workspace)),
            "workspaceFolderBasename" => self.workspace.file_name().map(|name| path(name.as_ref())),
            "userHome" => locations::home().map(|home| path(&home)),
            "pathSeparator" | "/" => Some(std::path::MAIN_SEPARATOR.to_string()),
            _ => None,
        }
    }
}

/// Returns the ids of all `${input:…}` in a text.
pub(super) fn input_ids(text: &str) -> Vec<&str> {
    let references = text
        .match_indices('$')
        .filter_map(|(at, _)| braced(&text[at..]));
    references
        .filter_map(|inside| inside.strip_prefix(INPUT))
        .collect()
}

/// Returns the text between the braces of a `${…}` at the start of a text.
fn braced(text: &str) -> Option<&str> {
    let (inside, _) = text.strip_prefix("${")?.split_once('}')?;
    Some(inside)
}

/// Returns the name of a `$NAME` at the start of a text.
fn bare_name(text: &str) -> Option<&str> {
    let text = text.strip_prefix('$')?;
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    let name = &text[..end];
    (!name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit())).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expand(text: &str, has_bare_names: bool) -> Result<String, String> {
        let variables = Variables {
            workspace: Path::new("/folder/notes"),
            environment: &|name| (name == "KEY").then(|| "secret".to_owned()),
            inputs: &BTreeMap::from([("token".to_owned(), "typed".to_owned())]),
            has_bare_names,
            has_bare_braces: true,
        };
        variables.expand(text).map_err(|failure| failure.text())
    }

    #[test]
    fn variables_are_replaced() {
        fn check(text: &str, expected: &str) {
            assert_eq!(expand(text, false).as_deref(), Ok(expected), "{text}");
        }
        check("a ${KEY} b", "a secret b");
        check("${env:KEY}${KEY:-x}", "secretsecret");
        check("${NOPE:-x}", "x");
        check("${env:NOPE:-}", "");
        check("Bearer ${input:token}", "Bearer typed");
        check("${workspaceFolder}/.env", "/folder/notes/.env");
        check("${workspaceFolderBasename}", "notes");
    }

    #[test]
    fn text_without_a_variable_is_unchanged() {
        for text in ["$HOME", "${open", "a$", "{}", "$KEY", "$$"] {
            assert_eq!(expand(text, false).as_deref(), Ok(text));
        }
    }

    #[test]
    fn names_without_braces_are_replaced_if_the_format_has_them() {
        fn check(text: &str, expected: &str) {
            assert_eq!(expand(text, true).as_deref(), Ok(expected), "{text}");
        }
        check("$KEY", "secret");
        check("a $KEY-b $NOPE $1 $", "a secret-b $NOPE $1 $");
        check("${KEY}", "secret");
    }

    #[test]
    fn missing_values_are_named() {
        fn check(text: &str, part: &str) {
            let failure = expand(text, false).unwrap_err();
            assert!(failure.contains(part), "{failure}");
        }
        check("${NOPE}", "the environment variable NOPE is not set");
        check("${input:key}", "--input key=value");
        check("${command:pick}", "${command:pick} is not supported");
    }

    #[test]
    fn inputs_of_a_text_are_listed() {
        assert_eq!(input_ids("${input:a} ${b} ${input:c-d}"), ["a", "c-d"]);
        assert_eq!(input_ids("${open"), [""; 0]);
    }
}
