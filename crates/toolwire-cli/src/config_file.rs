//! Reads servers by name from `mcp.json`, in the format of Claude, Cursor, VS Code and others.
//!
//! `${NAME}` and `${NAME:-default}` stand for environment variables, in all values.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::failure::Failure;
use crate::target::{ChildProcess, Endpoint, Target};

/// The files that are searched if `--config` names none. The first file that contains the name is used.
const LOCAL_FILES: [&str; 3] = ["mcp.json", ".mcp.json", ".vscode/mcp.json"];

#[derive(Debug, Deserialize)]
struct ConfigFile {
    /// VS Code uses `servers`.
    #[serde(rename = "mcpServers", alias = "servers")]
    servers: BTreeMap<String, Entry>,
}

#[derive(Debug, Deserialize)]
struct Entry {
    #[serde(rename = "type")]
    kind: Option<String>,
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    cwd: Option<String>,
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

/// Finds a server by name.
pub(crate) fn look_up(name: &str, file: Option<&Path>) -> Result<Target, Failure> {
    let files = match file {
        Some(file) => vec![file.to_owned()],
        None => default_paths()
            .into_iter()
            .filter(|path| path.is_file())
            .collect(),
    };
    let mut known = Vec::new();
    for path in &files {
        let mut servers = read(path)?.servers;
        if let Some(entry) = servers.remove(name) {
            return target(entry, path, &|name| std::env::var(name).ok()).map_err(|failure| {
                failure.with_context(&format!("`{name}` in {}: ", path.display()))
            });
        }
        known.extend(servers.into_keys());
    }
    Err(unknown(name, &files, &known))
}

fn default_paths() -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = LOCAL_FILES.iter().map(PathBuf::from).collect();
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let config = variable("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(|| variable("HOME").map(|home| Path::new(&home).join(".config")))
        .or_else(|| variable("APPDATA").map(PathBuf::from));
    paths.extend(config.map(|config| config.join("toolwire").join("mcp.json")));
    paths
}

fn read(path: &Path) -> Result<ConfigFile, Failure> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| {
        Failure::usage(format!("{shown} cannot be read: {error}")).with_advice("check --config")
    })?;
    serde_json::from_str(&text).map_err(|error| {
        Failure::usage(format!("{shown} is not a valid server configuration: {error}")).with_advice(
            "write {\"mcpServers\": {\"name\": {\"command\": \"…\", \"args\": []}}} or {\"url\": \"…\"}",
        )
    })
}

fn unknown(name: &str, files: &[PathBuf], known: &[String]) -> Failure {
    let looks_like_address = name.contains([':', '/']);
    let failure = Failure::usage(format!("there is no server named `{name}`"));
    if looks_like_address {
        return failure.with_advice(format!(
            "for an address, write http://{name} or https://{name}; for a command, write -- {name}"
        ));
    }
    if files.is_empty() {
        return failure.with_advice(format!(
            "give an address (https://…) or a command (-- {name}), or describe the server in ./mcp.json"
        ));
    }
    let files: Vec<_> = files
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    let files = files.join(", ");
    if known.is_empty() {
        failure.with_advice(format!("{files} has no servers"))
    } else {
        failure.with_advice(format!("one of {} (from {files})", known.join(", ")))
    }
}

fn target(
    entry: Entry,
    path: &Path,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Target, Failure> {
    let expanded = |text: &str| expand(text, variable);
    match (entry.kind.as_deref(), entry.url, entry.command) {
        (None | Some("stdio"), None, Some(command)) => {
            let mut child = ChildProcess::new(expanded(&command)?);
            for argument in &entry.args {
                child.arguments.push(expanded(argument)?.into());
            }
            for (name, value) in &entry.env {
                let value = expanded(value)?;
                child.environment.push((name.into(), value.into()));
            }
            if let Some(directory) = entry.cwd {
                // Relative to the file, not to the current directory.
                let base = path.parent().unwrap_or(Path::new(""));
                child.directory = Some(base.join(expanded(&directory)?));
            }
            Ok(Target::Child(child))
        }
        (None | Some("http" | "streamable-http" | "streamableHttp" | "sse"), Some(url), None) => {
            let mut endpoint = Endpoint::new(expanded(&url)?);
            for (name, value) in &entry.headers {
                endpoint.headers.push((name.clone(), expanded(value)?));
            }
            Ok(Target::Http(endpoint))
        }
        (_, Some(_), Some(_)) => {
            Err(Failure::usage("it has both a url and a command").with_advice("remove one of them"))
        }
        (Some(kind), url, command) if url.is_some() || command.is_some() => Err(Failure::usage(
            format!("the type {kind:?} does not match the other members"),
        )
        .with_advice("use the type http or sse with a url, and the type stdio with a command")),
        _ => {
            Err(Failure::usage("it has neither a url nor a command").with_advice("add one of them"))
        }
    }
}

/// Replaces references to environment variables with their values.
fn expand(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<String, Failure> {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let Some(length) = rest[start..].find('}') else {
            break;
        };
        let inside = &rest[start + 2..start + length];
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        // VS Code writes `${env:NAME}`.
        let name = name.strip_prefix("env:").unwrap_or(name);
        let value = variable(name).or_else(|| default.map(str::to_owned));
        let value = value.ok_or_else(|| {
            Failure::usage(format!("the environment variable {name} is not set"))
                .with_advice(format!("set it, or write ${{{name}:-default}}"))
        })?;
        expanded.push_str(&rest[..start]);
        expanded.push_str(&value);
        rest = &rest[start + length + 1..];
    }
    expanded.push_str(rest);
    Ok(expanded)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read_entry(entry: Value) -> Result<Target, String> {
        let entry = serde_json::from_value(entry).unwrap();
        let variable = |name: &str| (name == "KEY").then(|| "secret".to_owned());
        target(entry, Path::new("/etc/mcp.json"), &variable).map_err(|failure| failure.text())
    }

    #[test]
    fn command_entry_is_parsed() {
        let made = read_entry(json!({
            "command": "${BIN:-npx}", "args": ["-k", "${KEY}"], "env": {"A": "${env:KEY}!"}, "cwd": "sub",
        }));
        let mut expected = ChildProcess::new("npx");
        expected.arguments = vec!["-k".into(), "secret".into()];
        expected.environment = vec![("A".into(), "secret!".into())];
        expected.directory = Some(PathBuf::from("/etc/sub"));
        assert_eq!(made, Ok(Target::Child(expected)));
    }

    #[test]
    fn url_entry_is_parsed() {
        let made = read_entry(json!({
            "type": "http", "url": "https://x/${KEY}", "headers": {"Authorization": "Bearer ${KEY}"},
        }));
        let mut expected = Endpoint::new("https://x/secret");
        expected.headers = vec![("Authorization".to_owned(), "Bearer secret".to_owned())];
        assert_eq!(made, Ok(Target::Http(expected)));
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
    }

    #[test]
    fn text_without_a_variable_is_unchanged() {
        let variable = |_: &str| None;
        for text in ["$HOME", "${open", "a$", "{}"] {
            assert_eq!(expand(text, &variable).unwrap(), text);
        }
    }

    #[test]
    fn unknown_name_lists_the_known_names() {
        let files = [PathBuf::from("mcp.json")];
        let text = unknown("x", &files, &["a".to_owned(), "b".to_owned()]).text();
        assert!(text.contains("one of a, b (from mcp.json)"), "{text}");
        let text = unknown("localhost:3000/mcp", &[], &[]).text();
        assert!(text.contains("http://localhost:3000/mcp"), "{text}");
        let text = unknown("x", &[], &[]).text();
        assert!(text.contains("./mcp.json"), "{text}");
    }
}
