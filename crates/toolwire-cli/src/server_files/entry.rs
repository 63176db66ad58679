//! The entry of one server in a configuration file.
//!
//! The formats of the applications differ in names: `url`, `serverUrl` (Windsurf) and `httpUrl` (Gemini CLI) mean the
//! same, as do `disabled: true` and `enabled: false` (Zed). Codex names environment variables for its headers. Goose
//! writes `cmd`, `envs`, `env_keys` and `uri`.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use crate::failure::Failure;
use crate::server_files::env_file;
use crate::server_files::variables::{Variables, input_ids};
use crate::target::{ChildProcess, Endpoint, Target};

/// A server as it is described in a file, with its variables.
#[derive(Deserialize)]
pub(super) struct Entry {
    #[serde(rename = "type", default)]
    kind: Option<String>,
    #[serde(alias = "cmd", default)]
    command: Option<CommandMember>,
    #[serde(default)]
    args: Option<Vec<String>>,
    #[serde(alias = "environment", alias = "envs", default)]
    env: Option<BTreeMap<String, Value>>,
    #[serde(rename = "envFile", default)]
    env_file: Option<String>,
    #[serde(default)]
    cwd: Option<String>,
    #[serde(alias = "uri", default)]
    url: Option<String>,
    #[serde(rename = "serverUrl", default)]
    server_url: Option<String>,
    #[serde(rename = "httpUrl", default)]
    http_url: Option<String>,
    #[serde(alias = "http_headers", default)]
    headers: Option<BTreeMap<String, String>>,
    /// The variables of this process with the values of headers.
    #[serde(default)]
    env_http_headers: Option<BTreeMap<String, String>>,
    /// The variable of this process with a bearer token.
    #[serde(default)]
    bearer_token_env_var: Option<String>,
    /// The variables of this process that the server gets, each as a name or as an object with details.
    #[serde(alias = "env_keys", default)]
    env_vars: Option<Vec<Value>>,
    #[serde(default)]
    disabled: Option<bool>,
    #[serde(default)]
    enabled: Option<bool>,
}

/// The member `command`: a program, all words of the command as in opencode, or an object as in older versions of Zed.
#[derive(Deserialize)]
#[serde(untagged)]
enum CommandMember {
    Program(String),
    Words(Vec<String>),
    Object {
        path: String,
        #[serde(default)]
        args: Vec<String>,
        #[serde(default)]
        env: Option<BTreeMap<String, Value>>,
    },
}

/// The transport of a server, with the values as they are written in the file.
#[derive(Debug, PartialEq)]
pub(super) enum Transport<'a> {
    Stdio {
        program: &'a str,
        arguments: &'a [String],
    },
    Http {
        url: &'a str,
        /// `true` for the transport HTTP+SSE.
        is_sse: bool,
    },
}

impl Entry {
    pub(super) fn parse(value: &Value) -> Result<Self, Failure> {
        serde_json::from_value(value.clone()).map_err(|error| {
            Failure::usage(format!("its entry is invalid: {error}"))
                .with_advice("write {\"command\": \"…\", \"args\": []} or {\"url\": \"…\"}")
        })
    }

    pub(super) fn is_disabled(&self) -> bool {
        self.disabled == Some(true) || self.enabled == Some(false)
    }

    /// Returns the transport.
    ///
    /// # Errors
    /// Returns an error if the members of the entry contradict each other.
    pub(super) fn transport(&self) -> Result<Transport<'_>, Failure> {
        let urls = [&self.http_url, &self.url, &self.server_url];
        let url = urls.into_iter().flatten().next();
        match (self.kind.as_deref(), url, &self.command) {
            (_, Some(_), Some(_)) => {
                Err(Failure::usage("it has both a url and a command")
                    .with_advice("remove one of them"))
            }
            (None | Some("stdio" | "local"), None, Some(command)) => {
                let own = self.args.as_deref().unwrap_or_default();
                let (program, arguments) = match command {
                    CommandMember::Program(program) => (program, own),
                    CommandMember::Words(words) => words
                        .split_first()
                        .ok_or_else(|| Failure::usage("its command is empty"))?,
                    CommandMember::Object { path, args, .. } => (path, args.as_slice()),
                };
                Ok(Transport::Stdio { program, arguments })
            }
            (
                kind @ (None
                | Some(
                    "http" | "streamable-http" | "streamableHttp" | "streamable_http" | "sse"
                    | "remote",
                )),
                Some(url),
                None,
            ) => Ok(Transport::Http {
                url,
                is_sse: kind == Some("sse"),
            }),
            (Some(kind), url, command) if url.is_some() || command.is_some() => {
                Err(Failure::usage(format!(
                    "the type {kind:?} does not match the other members"
                ))
                .with_advice(
                    "use the type http or sse with a url, and the type stdio with a command",
                ))
            }
            _ => {
                Err(Failure::usage("it has neither a url nor a command")
                    .with_advice("add one of them"))
            }
        }
    }

    /// Returns the ids of the inputs that its values need, each one once.
    pub(super) fn input_ids(&self) -> Vec<String> {
        let mut ids: Vec<String> = Vec::new();
        for text in self.texts() {
            for id in input_ids(text) {
                if !ids.iter().any(|known| known == id) {
                    ids.push(id.to_owned());
                }
            }
        }
        ids
    }

    /// Returns all values in which variables are replaced.
    fn texts(&self) -> Vec<&str> {
        let mut texts = Vec::new();
        match self.transport() {
            Ok(Transport::Stdio { program, arguments }) => {
                texts.push(program);
                texts.extend(arguments.iter().map(String::as_str));
                let variables = self.variables();
                texts.extend(variables.filter_map(|(_, value)| value.as_str()));
                texts.extend(self.env_file.as_deref());
                texts.extend(self.cwd.as_deref());
            }
            Ok(Transport::Http { url, .. }) => {
                texts.push(url);
                texts.extend(
                    self.headers
                        .iter()
                        .flatten()
                        .map(|(_, value)| value.as_str()),
                );
            }
            Err(_) => {}
        }
        texts
    }

    fn variables(&self) -> impl Iterator<Item = (&String, &Value)> {
        let of_command = match &self.command {
            Some(CommandMember::Object { env, .. }) => env.as_ref(),
            _ => None,
        };
        of_command.into_iter().chain(&self.env).flatten()
    }

    /// Returns the server. Relative paths start at `base`.
    pub(super) fn target(&self, base: &Path, variables: &Variables<'_>) -> Result<Target, Failure> {
        let expanded = |text: &str| variables.expand(text);
        match self.transport()? {
            Transport::Stdio { program, arguments } => {
                let mut child = ChildProcess::new(expanded(program)?);
                for argument in arguments {
                    child.arguments.push(expanded(argument)?.into());
                }
                for variable in self.env_vars.iter().flatten() {
                    let name = variable.as_str().or_else(|| variable.get("name")?.as_str());
                    let value = name.and_then(|name| Some((name, (variables.environment)(name)?)));
                    let value = value.map(|(name, value)| (name.into(), value.into()));
                    child.environment.extend(value);
                }
                if let Some(file) = &self.env_file {
                    for (name, value) in env_file::read(&base.join(expanded(file)?))? {
                        child.environment.push((name.into(), value.into()));
                    }
                }
                for (name, value) in self.variables() {
                    let value = match value {
                        Value::String(text) => expanded(text)?,
                        Value::Number(_) | Value::Bool(_) => value.to_string(),
                        // VS Code passes no variable then.
                        Value::Null => continue,
                        Value::Array(_) | Value::Object(_) => {
                            return Err(Failure::usage(format!(
                                "the environment variable {name} must be a text"
                            )));
                        }
                    };
                    child.environment.push((name.into(), value.into()));
                }
                if let Some(directory) = &self.cwd {
                    child.directory = Some(base.join(expanded(directory)?));
                }
                Ok(Target::Child(child))
            }
            Transport::Http { url, .. } => {
                let mut endpoint = Endpoint::new(expanded(url)?);
                for (name, value) in self.headers.iter().flatten() {
                    endpoint.headers.push((name.clone(), expanded(value)?));
                }
                for (name, variable) in self.env_http_headers.iter().flatten() {
                    let value = (variables.environment)(variable);
                    endpoint
                        .headers
                        .extend(value.map(|value| (name.clone(), value)));
                }
                if let Some(variable) = &self.bearer_token_env_var {
                    let token = (variables.environment)(variable).ok_or_else(|| {
                        Failure::usage(format!("the environment variable {variable} is not set"))
                            .with_advice("set it to the token of the server")
                    })?;
                    let value = format!("Bearer {token}");
                    endpoint.headers.push(("Authorization".to_owned(), value));
                }
                Ok(Target::Http(endpoint))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde_json::json;

    use super::*;

    fn read_entry(entry: Value) -> Result<Target, String> {
        let variables = Variables {
            workspace: Path::new("/etc"),
            environment: &|name| (name == "KEY").then(|| "secret".to_owned()),
            inputs: &BTreeMap::from([("token".to_owned(), "typed".to_owned())]),
            has_bare_names: false,
            has_bare_braces: false,
        };
        Entry::parse(&entry)
            .and_then(|entry| entry.target(Path::new("/etc"), &variables))
            .map_err(|failure| failure.text())
    }

    #[test]
    fn command_entry_is_parsed() {
        let made = read_entry(json!({
            "command": "${BIN:-npx}", "args": ["-k", "${KEY}"], "cwd": "sub",
            "env": {"A": "${env:KEY}!", "B": 1, "C": true, "D": null, "E": "${input:token}"},
        }));
        let mut expected = ChildProcess::new("npx");
        expected.arguments = vec!["-k".into(), "secret".into()];
        expected.environment = vec![
            ("A".into(), "secret!".into()),
            ("B".into(), "1".into()),
            ("C".into(), "true".into()),
            ("E".into(), "typed".into()),
        ];
        expected.directory = Some(PathBuf::from("/etc/sub"));
        assert_eq!(made, Ok(Target::Child(expected)));
    }

    #[test]
    fn entries_of_goose_are_parsed() {
        let made = read_entry(json!({
            "type": "stdio", "name": "a", "cmd": "npx", "args": ["-y"], "envs": {"A": "1"},
            "env_keys": ["KEY", "MISSING"], "enabled": true, "timeout": 300,
        }));
        let mut expected = ChildProcess::new("npx");
        expected.arguments = vec!["-y".into()];
        expected.environment = vec![("KEY".into(), "secret".into()), ("A".into(), "1".into())];
        assert_eq!(made, Ok(Target::Child(expected)));
        let made = read_entry(json!({
            "type": "streamable_http", "uri": "https://x/", "headers": {"X-A": "${KEY}"}, "env_keys": ["KEY"],
        }));
        let mut expected = Endpoint::new("https://x/");
        expected.headers = vec![("X-A".to_owned(), "secret".to_owned())];
        assert_eq!(made, Ok(Target::Http(expected)));
    }

    #[test]
    fn url_entry_is_parsed() {
        for member in ["url", "serverUrl", "httpUrl"] {
            let made = read_entry(json!({
                member: "https://x/${KEY}", "headers": {"Authorization": "Bearer ${KEY}"},
            }));
            let mut expected = Endpoint::new("https://x/secret");
            expected.headers = vec![("Authorization".to_owned(), "Bearer secret".to_owned())];
            assert_eq!(made, Ok(Target::Http(expected)), "{member}");
        }
    }

    #[test]
    fn variables_of_codex_are_parsed() {
        let made = read_entry(json!({
            "url": "https://x", "http_headers": {"X-A": "1"}, "bearer_token_env_var": "KEY",
            "env_http_headers": {"X-B": "KEY", "X-C": "UNSET"},
        }));
        let mut expected = Endpoint::new("https://x");
        for (name, value) in [
            ("X-A", "1"),
            ("X-B", "secret"),
            ("Authorization", "Bearer secret"),
        ] {
            expected.headers.push((name.to_owned(), value.to_owned()));
        }
        assert_eq!(made, Ok(Target::Http(expected)));
        let unset = read_entry(json!({"url": "https://x", "bearer_token_env_var": "UNSET"}));
        assert!(unset.unwrap_err().contains("UNSET is not set"));

        let variables = json!(["KEY", {"name": "KEY", "source": "local"}, "UNSET"]);
        let made = read_entry(json!({"command": "a", "env_vars": variables}));
        let mut expected = ChildProcess::new("a");
        expected.environment = vec![("KEY".into(), "secret".into()); 2];
        assert_eq!(made, Ok(Target::Child(expected)));
    }

    #[test]
    fn command_object_is_parsed() {
        let made = read_entry(json!({
            "command": {"path": "npx", "args": ["a"], "env": {"A": "b"}}, "settings": {},
        }));
        let mut expected = ChildProcess::new("npx");
        expected.arguments = vec!["a".into()];
        expected.environment = vec![("A".into(), "b".into())];
        assert_eq!(made, Ok(Target::Child(expected)));
    }

    #[test]
    fn words_of_a_command_are_parsed() {
        let made = read_entry(json!({
            "type": "local", "command": ["npx", "a"], "environment": {"A": "b"},
        }));
        let mut expected = ChildProcess::new("npx");
        expected.arguments = vec!["a".into()];
        expected.environment = vec![("A".into(), "b".into())];
        assert_eq!(made, Ok(Target::Child(expected)));
        assert!(read_entry(json!({"command": []})).is_err());
    }

    #[test]
    fn disabled_entries_are_recognized() {
        fn check(entry: Value, expected: bool) {
            let parsed = Entry::parse(&entry).unwrap_or_else(|_| panic!("{entry}"));
            assert_eq!(parsed.is_disabled(), expected, "{entry}");
        }
        check(json!({"command": "a"}), false);
        check(json!({"command": "a", "disabled": true}), true);
        check(json!({"command": "a", "disabled": false}), false);
        check(json!({"command": "a", "enabled": false}), true);
    }

    #[test]
    fn inputs_of_all_values_are_listed_once() {
        let entry = json!({
            "command": "${input:a}", "args": ["${input:b}${input:a}"], "env": {"X": "${input:c}"},
            "envFile": "${input:d}", "cwd": "${input:e}",
        });
        let entry = Entry::parse(&entry).unwrap_or_else(|_| panic!("{entry}"));
        assert_eq!(entry.input_ids(), ["a", "b", "c", "d", "e"]);
    }

    #[test]
    fn invalid_entries_name_the_problem() {
        fn check(entry: Value, part: &str) {
            let text = read_entry(entry).unwrap_err();
            assert!(text.contains(part), "{text}");
        }
        check(json!({"command": "${NOPE}"}), "NOPE is not set");
        check(
            json!({"command": "a", "url": "b"}),
            "both a url and a command",
        );
        check(json!({}), "neither");
        check(json!({"type": "stdio", "url": "b"}), "\"stdio\"");
        check(
            json!({"type": "carrier-pigeon", "command": "b"}),
            "carrier-pigeon",
        );
        check(json!({"command": "a", "args": 1}), "its entry is invalid");
        check(
            json!({"command": "a", "env": {"A": []}}),
            "A must be a text",
        );
        check(json!({"command": "a", "envFile": "no.env"}), "/etc/no.env");
    }
}
