//! The entry of a server, in the form of a host.

use serde_json::{Map, Value, json};

use crate::failure::Failure;
use crate::hosts::hidden_values::is_reference;
use crate::hosts::table::{EntryStyle, Host, References};

/// The longest name of an entry.
const MAX_NAME: usize = 64;

/// A server that is to be installed.
#[derive(Clone, PartialEq)]
pub(crate) enum InstalledServer {
    Command {
        program: String,
        arguments: Vec<String>,
        environment: Vec<Variable>,
    },
    Url {
        url: String,
        headers: Vec<(String, String)>,
        /// The environment variable with a bearer token.
        bearer: Option<String>,
    },
}

impl std::fmt::Debug for InstalledServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Variables and headers may contain secrets.
        f.debug_struct("InstalledServer").finish_non_exhaustive()
    }
}

/// An environment variable of a server.
#[derive(Clone, PartialEq)]
pub(crate) struct Variable {
    pub(crate) name: String,
    /// The value, or `None` for a reference to the variable of the host.
    pub(crate) value: Option<String>,
}

/// What is written to a configuration file.
#[derive(Clone, PartialEq)]
pub(crate) struct NewEntry {
    pub(crate) name: String,
    pub(crate) entry: Value,
    /// Definitions of inputs to which the entry refers.
    pub(crate) inputs: Vec<Value>,
}

impl std::fmt::Debug for NewEntry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The entry may contain secrets.
        f.debug_struct("NewEntry")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl NewEntry {
    /// Creates the entry of a server for a host. `own_program` is the path of this program.
    ///
    /// # Errors
    /// Returns an error if the entry needs a reference to a variable and the host has none.
    pub(crate) fn new(
        host: &Host,
        name: &str,
        server: &InstalledServer,
        own_program: &str,
    ) -> Result<Self, Failure> {
        let proxy;
        let is_address = matches!(server, InstalledServer::Url { .. });
        let server = match server {
            InstalledServer::Url { .. } if host.style == EntryStyle::CommandOnly => {
                proxy = through_proxy(server, own_program);
                &proxy
            }
            _ => server,
        };
        let names = references(server);
        if host.references == References::None
            && let Some(variable) = names.first()
        {
            let problem = format!(
                "{} has no references to environment variables, so {variable} cannot be passed by name",
                host.name
            );
            // An address has no variables: its token is a header. A proxy would get the header as an argument, which other
            // users can read.
            let advice = if is_address && host.style == EntryStyle::CommandOnly {
                format!(
                    "install the proxy as a command, and write the token to the file: --env {variable}=value \
                     --inline-secrets -- toolwire proxy URL --bearer-env {variable}"
                )
            } else if is_address {
                "write the token to the file: --header 'Authorization: Bearer TOKEN' --inline-secrets".to_owned()
            } else {
                format!(
                    "start a program that sets it, or write its value to the file: --env {variable}=value --inline-secrets"
                )
            };
            return Err(Failure::usage(problem).with_advice(advice));
        }
        let inputs = match host.references {
            References::Inputs => names.iter().map(|variable| input(variable, name)).collect(),
            _ => Vec::new(),
        };
        Ok(Self {
            name: name.to_owned(),
            entry: Value::Object(entry(host, name, server)),
            inputs,
        })
    }

    /// Returns `true` if the entry has values of variables or headers, and not only references to them.
    pub(super) fn has_inline_values(&self) -> bool {
        let members = ["env", "environment", "headers", "http_headers"];
        let groups = members
            .iter()
            .filter_map(|member| self.entry[*member].as_object());
        let mut values = groups.flat_map(Map::values);
        values.any(|value| !value.as_str().is_some_and(is_reference))
    }
}

/// Returns the command that connects a host without URLs to a server.
fn through_proxy(server: &InstalledServer, own_program: &str) -> InstalledServer {
    let mut arguments = vec!["proxy".to_owned()];
    let mut environment = Vec::new();
    if let InstalledServer::Url {
        url,
        headers,
        bearer,
    } = server
    {
        arguments.push(url.clone());
        for (name, value) in headers {
            arguments.extend(["--header".to_owned(), format!("{name}: {value}")]);
        }
        if let Some(variable) = bearer {
            arguments.extend(["--bearer-env".to_owned(), variable.clone()]);
            environment.push(Variable {
                name: variable.clone(),
                value: None,
            });
        }
    }
    InstalledServer::Command {
        program: own_program.to_owned(),
        arguments,
        environment,
    }
}

/// Returns the variables to which the entry refers by name.
fn references(server: &InstalledServer) -> Vec<&str> {
    match server {
        InstalledServer::Command { environment, .. } => environment
            .iter()
            .filter(|variable| variable.value.is_none())
            .map(|variable| variable.name.as_str())
            .collect(),
        InstalledServer::Url { bearer, .. } => bearer.iter().map(String::as_str).collect(),
    }
}

fn entry(host: &Host, name: &str, server: &InstalledServer) -> Map<String, Value> {
    let mut entry = Map::new();
    let uses_names = host.style == EntryStyle::VariableNames;
    match server {
        InstalledServer::Command {
            program,
            arguments,
            environment,
        } => {
            match host.style {
                EntryStyle::Typed => {
                    entry.insert("type".to_owned(), "stdio".into());
                }
                EntryStyle::Words => {
                    entry.insert("type".to_owned(), "local".into());
                }
                _ => {}
            }
            if host.style == EntryStyle::Words {
                let words: Vec<_> = std::iter::once(program).chain(arguments).collect();
                entry.insert("command".to_owned(), json!(words));
            } else {
                entry.insert("command".to_owned(), json!(program));
                entry.insert("args".to_owned(), json!(arguments));
            }
            let (named, written): (Vec<_>, Vec<_>) = environment
                .iter()
                .partition(|variable| uses_names && variable.value.is_none());
            if !named.is_empty() {
                let names: Vec<_> = named.iter().map(|variable| &variable.name).collect();
                entry.insert("env_vars".to_owned(), json!(names));
            }
            let written: Map<String, Value> = written
                .into_iter()
                .map(|variable| {
                    let value = variable.value.clone();
                    let value = value.unwrap_or_else(|| reference(host, name, &variable.name));
                    (variable.name.clone(), value.into())
                })
                .collect();
            if !written.is_empty() {
                let member = match host.style {
                    EntryStyle::Words => "environment",
                    _ => "env",
                };
                entry.insert(member.to_owned(), written.into());
            }
        }
        InstalledServer::Url {
            url,
            headers,
            bearer,
        } => {
            let member = match host.style {
                EntryStyle::UrlMember(member) => member,
                _ => "url",
            };
            match host.style {
                EntryStyle::Typed => {
                    entry.insert("type".to_owned(), "http".into());
                }
                EntryStyle::Words => {
                    entry.insert("type".to_owned(), "remote".into());
                }
                _ => {}
            }
            entry.insert(member.to_owned(), json!(url));
            let mut written: Map<String, Value> = headers
                .iter()
                .map(|(name, value)| (name.clone(), value.as_str().into()))
                .collect();
            match bearer {
                Some(variable) if uses_names => {
                    entry.insert("bearer_token_env_var".to_owned(), json!(variable));
                }
                Some(variable) => {
                    let value = format!("Bearer {}", reference(host, name, variable));
                    written.insert("Authorization".to_owned(), value.into());
                }
                None => {}
            }
            if !written.is_empty() {
                let member = if uses_names {
                    "http_headers"
                } else {
                    "headers"
                };
                entry.insert(member.to_owned(), written.into());
            }
        }
    }
    entry
}

/// Returns the text that stands for the value of a variable in the entry of a server.
fn reference(host: &Host, server: &str, variable: &str) -> String {
    match host.references {
        References::DollarEnv => format!("${{env:{variable}}}"),
        References::BracesEnv => format!("{{env:{variable}}}"),
        References::Inputs => format!("${{input:{}}}", input_id(variable, server)),
        References::None | References::Dollar | References::Names => format!("${{{variable}}}"),
    }
}

/// Returns the id of the input for a variable. Each server has its own inputs, because the host stores one value for
/// each id, and a server must not get the secret of another one.
fn input_id(variable: &str, server: &str) -> String {
    format!("{server}-{variable}")
}

/// Returns the definition of the input for a variable, which the host asks the user for.
pub(super) fn input(variable: &str, server: &str) -> Value {
    json!({
        "type": "promptString",
        "id": input_id(variable, server),
        "description": format!("{variable} of the server {server}"),
        "password": true,
    })
}

/// Checks the name of an entry.
pub(crate) fn check_name(name: &str) -> Result<(), Failure> {
    // With `-` at its beginning, the command of a host would take the name for an option.
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if !starts_well || name.len() > MAX_NAME || !name.chars().all(is_name_character) {
        return Err(
            Failure::usage(format!("`{name}` is not a valid name")).with_advice(format!(
                "use at most {MAX_NAME} ASCII letters, digits, `-` and `_`, with a letter or digit first: --name NAME"
            )),
        );
    }
    Ok(())
}

fn is_name_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '_'
}

/// Returns a name for a server: the first label of the host of its URL that names it, or the name of its program. An
/// IP address is used as a whole.
pub(crate) fn name_of(server: &InstalledServer) -> String {
    let text = match server {
        InstalledServer::Command { program, .. } => {
            let file = program.rsplit(['/', '\\']).next().unwrap_or(program);
            file.strip_suffix(".exe").unwrap_or(file)
        }
        InstalledServer::Url { url, .. } => {
            let rest = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
            let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
            let host = authority.rsplit('@').next().unwrap_or(authority);
            match host.strip_prefix('[') {
                // `[::1]:3000`
                Some(rest) => rest.split(']').next().unwrap_or(rest),
                None => label_of(host.split(':').next().unwrap_or(host)),
            }
        }
    };
    // A name starts with a letter or digit: `::1` becomes `1`.
    let text = text.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    let name = text
        .chars()
        .map(|c| if is_name_character(c) { c } else { '-' });
    let name: String = name.take(MAX_NAME).collect();
    if name.is_empty() {
        "server".to_owned()
    } else {
        name
    }
}

/// Returns the first label of a host that names the server.
fn label_of(host: &str) -> &str {
    if host.parse::<std::net::Ipv4Addr>().is_ok() {
        return host;
    }
    let mut labels = host.split('.');
    labels
        .find(|label| !["mcp", "www", "api"].contains(label))
        .unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command() -> InstalledServer {
        InstalledServer::Command {
            program: "/bin/notes".to_owned(),
            arguments: vec!["--stdio".to_owned()],
            environment: vec![
                Variable {
                    name: "KEY".to_owned(),
                    value: None,
                },
                Variable {
                    name: "MODE".to_owned(),
                    value: Some("fast".to_owned()),
                },
            ],
        }
    }

    fn url() -> InstalledServer {
        InstalledServer::Url {
            url: "https://x/mcp".to_owned(),
            headers: vec![("X-A".to_owned(), "1".to_owned())],
            bearer: Some("KEY".to_owned()),
        }
    }

    fn check(id: &str, server: &InstalledServer, expected: Value) {
        let host = Host::with_id(id).expect("the host exists");
        let new = NewEntry::new(host, "notes", server, "/bin/toolwire");
        let entry = new.unwrap_or_else(|failure| panic!("{id}: {}", failure.text()));
        assert_eq!(entry.entry, expected, "{id}");
    }

    #[test]
    fn entries_of_commands_have_the_form_of_the_host() {
        let expected = json!({
            "command": "/bin/notes", "args": ["--stdio"],
            "env": {"KEY": "${env:KEY}", "MODE": "fast"},
        });
        check("cursor", &command(), expected.clone());
        check("windsurf", &command(), expected);
        let expected = json!({
            "command": "/bin/notes", "args": ["--stdio"], "env": {"KEY": "${KEY}", "MODE": "fast"},
        });
        check("gemini", &command(), expected.clone());
        check("kiro", &command(), expected);
        let expected = json!({
            "type": "stdio", "command": "/bin/notes", "args": ["--stdio"],
            "env": {"KEY": "${KEY}", "MODE": "fast"},
        });
        check("claude-code", &command(), expected);
        let expected = json!({
            "type": "stdio", "command": "/bin/notes", "args": ["--stdio"],
            "env": {"KEY": "${input:notes-KEY}", "MODE": "fast"},
        });
        check("vscode", &command(), expected);
        let expected = json!({
            "type": "local", "command": ["/bin/notes", "--stdio"],
            "environment": {"KEY": "{env:KEY}", "MODE": "fast"},
        });
        check("opencode", &command(), expected);
        let expected = json!({
            "command": "/bin/notes", "args": ["--stdio"], "env_vars": ["KEY"],
            "env": {"MODE": "fast"},
        });
        check("codex", &command(), expected);
    }

    #[test]
    fn entries_of_urls_have_the_form_of_the_host() {
        let headers = json!({"X-A": "1", "Authorization": "Bearer ${env:KEY}"});
        let url = url();
        check(
            "cursor",
            &url,
            json!({"url": "https://x/mcp", "headers": headers}),
        );
        check(
            "windsurf",
            &url,
            json!({"serverUrl": "https://x/mcp", "headers": headers}),
        );
        let headers = json!({"X-A": "1", "Authorization": "Bearer ${KEY}"});
        check(
            "gemini",
            &url,
            json!({"httpUrl": "https://x/mcp", "headers": headers}),
        );
        let expected = json!({"type": "http", "url": "https://x/mcp", "headers": headers});
        check("claude-code", &url, expected);
        let headers = json!({"X-A": "1", "Authorization": "Bearer {env:KEY}"});
        let expected = json!({"type": "remote", "url": "https://x/mcp", "headers": headers});
        check("opencode", &url, expected);
        let expected = json!({
            "url": "https://x/mcp", "bearer_token_env_var": "KEY", "http_headers": {"X-A": "1"},
        });
        check("codex", &url, expected);
    }

    #[test]
    fn host_without_urls_gets_a_proxy() {
        let url = InstalledServer::Url {
            url: "https://x/mcp".to_owned(),
            headers: Vec::new(),
            bearer: None,
        };
        let expected = json!({"command": "/bin/toolwire", "args": ["proxy", "https://x/mcp"]});
        check("claude-desktop", &url, expected);
    }

    #[test]
    fn host_without_references_rejects_them() {
        for id in ["claude-desktop", "zed", "lmstudio"] {
            let host = Host::with_id(id).expect("the host exists");
            let proxy = "--env KEY=value --inline-secrets -- toolwire proxy URL --bearer-env KEY";
            let header = "--header 'Authorization: Bearer TOKEN' --inline-secrets";
            let is_proxy = id == "claude-desktop";
            for (server, advice) in [
                (command(), "--env KEY=value --inline-secrets"),
                (url(), if is_proxy { proxy } else { header }),
            ] {
                let failed = NewEntry::new(host, "notes", &server, "toolwire").err();
                let text = failed.map(|failure| failure.text()).unwrap_or_default();
                assert!(text.contains("KEY cannot be passed"), "{id}: {text}");
                assert!(text.contains(advice), "{id}: {text}");
            }
        }
    }

    #[test]
    fn inputs_are_defined_for_references() {
        let host = Host::with_id("vscode").expect("the host exists");
        let new = NewEntry::new(host, "notes", &command(), "toolwire");
        let inputs = new.map(|new| new.inputs).unwrap_or_default();
        assert_eq!(inputs, [input("KEY", "notes")]);
        assert_eq!(inputs[0]["id"], "notes-KEY");
    }

    #[test]
    fn values_and_references_are_told_apart() {
        fn check(entry: Value, expected: bool) {
            let new = NewEntry {
                name: "notes".to_owned(),
                entry,
                inputs: Vec::new(),
            };
            assert_eq!(new.has_inline_values(), expected, "{}", new.entry);
        }
        check(json!({"command": "a", "args": ["b"]}), false);
        check(json!({"env": {"KEY": "${KEY}"}}), false);
        check(json!({"env": {"KEY": "${KEY}", "MODE": "fast"}}), true);
        check(
            json!({"headers": {"Authorization": "Bearer ${KEY}"}}),
            false,
        );
        check(json!({"headers": {"X-Key": "hunter2"}}), true);
    }

    #[test]
    fn names_are_taken_from_programs_and_urls() {
        fn check(server: &InstalledServer, expected: &str) {
            assert_eq!(name_of(server), expected);
        }
        check(&command(), "notes");
        for (url, expected) in [
            ("https://mcp.example.com/mcp", "example"),
            ("http://localhost:3000/mcp", "localhost"),
            ("https://user@weather.example/x?y", "weather"),
            ("http://127.0.0.1:3000/mcp", "127-0-0-1"),
            ("http://[::1]:3000/mcp", "1"),
            ("http://[fe80::1]/mcp", "fe80--1"),
            ("https://_/mcp", "server"),
        ] {
            let server = InstalledServer::Url {
                url: url.to_owned(),
                headers: Vec::new(),
                bearer: None,
            };
            check(&server, expected);
        }
        assert!(check_name("my-server_2").is_ok());
        assert!(check_name(&"a".repeat(MAX_NAME)).is_ok());
        for invalid in [
            "",
            "a b",
            "a.b",
            "ü",
            "-a",
            "--scope",
            "_a",
            &"a".repeat(MAX_NAME + 1),
        ] {
            assert!(check_name(invalid).is_err(), "{invalid}");
        }
    }
}
