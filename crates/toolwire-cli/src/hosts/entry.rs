//! The entry of a server, in the form of a host.

use serde_json::{Map, Value, json};

use crate::failure::Failure;
use crate::hosts::entry_references::{input, reference, references};
use crate::hosts::extension_entry::extension_entry;
use crate::hosts::hidden_values::is_reference;
use crate::hosts::installed_server::{InstalledServer, Variable};
use crate::hosts::table::{EntryStyle, Host, References};

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
        let is_address = matches!(server, InstalledServer::Url { .. });
        let server = &server_of_entry(host, server, own_program);
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
        let members = ["env", "envs", "environment", "headers", "http_headers"];
        let groups = members
            .iter()
            .filter_map(|member| self.entry[*member].as_object());
        let mut values = groups.flat_map(Map::values);
        values.any(|value| !value.as_str().is_some_and(is_reference))
    }
}

/// Returns the server that the host starts or connects to: for a host without URLs, the command of a proxy.
pub(crate) fn server_of_entry(
    host: &Host,
    server: &InstalledServer,
    own_program: &str,
) -> InstalledServer {
    match server {
        InstalledServer::Url { .. } if host.style == EntryStyle::CommandOnly => {
            through_proxy(server, own_program)
        }
        _ => server.clone(),
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

fn entry(host: &Host, name: &str, server: &InstalledServer) -> Map<String, Value> {
    if host.style == EntryStyle::Extension {
        return extension_entry(host, name, server);
    }
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
        let expected = json!({
            "enabled": true, "type": "stdio", "name": "notes", "description": "", "cmd": "/bin/notes",
            "args": ["--stdio"], "envs": {"MODE": "fast"}, "env_keys": ["KEY"], "timeout": 300,
        });
        check("goose", &command(), expected);
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
        let expected = json!({
            "enabled": true, "type": "streamable_http", "name": "notes", "description": "",
            "uri": "https://x/mcp", "headers": {"X-A": "1", "Authorization": "Bearer ${KEY}"},
            "env_keys": ["KEY"], "timeout": 300,
        });
        check("goose", &url, expected);
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
    fn reference_is_no_inline_value() {
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
}
