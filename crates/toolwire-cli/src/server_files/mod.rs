//! Reads servers by name from `mcp.json` and from the settings of Claude, Cursor, VS Code and other applications.
//!
//! The files are JSON, with comments and trailing commas if the application accepts them, TOML (Codex) or YAML (Goose).
//! `${…}` stands for environment variables, for the folder of the project, and for inputs that the user is asked for.

mod entry;
mod env_file;
mod inputs;
mod jsonc;
mod list;
mod locations;
mod redaction;
mod toml_file;
mod variables;
mod yaml_file;

use std::path::Path;

use serde_json::{Map, Value};
use toolwire_proto::similar_names::did_you_mean;

use self::entry::Entry;
use self::inputs::InputDefinition;
use self::locations::Location;
use self::variables::Variables;
use crate::connection_arguments::Lookup;
use crate::failure::Failure;
use crate::screen::Screen;
use crate::server_hints;
use crate::target::Target;

pub(crate) use list::{ServerDetails, list};
pub(crate) use locations::{project_file, shown as shown_path, user_file};
pub(crate) use redaction::{HIDDEN, is_secret_name, is_token, url as redacted_url};
pub(crate) use toml_file::parse as parse_toml;
pub(crate) use yaml_file::parse as parse_yaml;

/// The maximum number of known names in a failure.
const MAX_NAMES: usize = 12;

/// A configuration file and its servers in their order.
#[derive(Debug)]
struct ServerFile {
    location: Location,
    servers: Vec<(String, Value)>,
    inputs: Vec<InputDefinition>,
}

impl ServerFile {
    fn shown_path(&self) -> String {
        locations::shown(&self.location.path)
    }

    fn get(&self, name: &str) -> Option<&Value> {
        let mut servers = self.servers.iter();
        servers.find_map(|(known, entry)| (known == name).then_some(entry))
    }
}

/// Finds a server by name. The words after the name are used for hints only.
pub(crate) async fn look_up(
    name: &str,
    later_words: &[String],
    lookup: &Lookup,
    screen: &Screen,
) -> Result<Target, Failure> {
    let (files, problems) = read_files(lookup.config.as_deref())?;
    for problem in &problems {
        screen.warn(&problem.message_with_advice());
    }
    let mut entries = files
        .iter()
        .filter_map(|file| Some((file, file.get(name)?)));
    let Some((file, entry)) = entries.next() else {
        return Err(unknown(name, later_words, &files));
    };
    target(file, entry, lookup, screen)
        .await
        .map_err(|failure| failure.with_context(&format!("`{name}` in {}: ", file.shown_path())))
}

/// Reads all servers of a file that are not disabled, in their order.
pub(crate) async fn read_all(
    path: &Path,
    screen: &Screen,
) -> Result<Vec<(String, Target)>, Failure> {
    let file = read(locations::named(path))?;
    let lookup = Lookup {
        config: None,
        inputs: Vec::new(),
    };
    let mut targets = Vec::new();
    for (name, entry) in &file.servers {
        let context = format!("`{name}` in {}: ", file.shown_path());
        let parsed = Entry::parse(entry).map_err(|failure| failure.with_context(&context))?;
        if parsed.is_disabled() {
            continue;
        }
        let target = target(&file, entry, &lookup, screen).await;
        let target = target.map_err(|failure| failure.with_context(&context))?;
        targets.push((name.clone(), target));
    }
    Ok(targets)
}

/// Returns `true` if a configuration file has a server of this name.
pub(crate) fn contains(name: &str, lookup: &Lookup) -> Result<bool, Failure> {
    let (files, _) = read_files(lookup.config.as_deref())?;
    Ok(files.iter().any(|file| file.get(name).is_some()))
}

async fn target(
    file: &ServerFile,
    entry: &Value,
    lookup: &Lookup,
    screen: &Screen,
) -> Result<Target, Failure> {
    let entry = Entry::parse(entry)?;
    if entry.is_disabled() {
        return Err(Failure::usage("the server is disabled")
            .with_advice("enable it there, or write its command or its URL on the command line"));
    }
    let ids = entry.input_ids();
    let inputs = inputs::values(&ids, &file.inputs, &lookup.inputs, screen).await?;
    let path = &file.location.path;
    let project = file.location.project.as_deref();
    let workspace = absolute(project.unwrap_or(Path::new(".")))?;
    let variables = Variables {
        workspace: &workspace,
        environment: &|name| std::env::var(name).ok(),
        inputs: &inputs,
        has_bare_names: path.ends_with(".gemini/settings.json"),
        has_bare_braces: path.ends_with("opencode.json"),
    };
    let base = match project {
        Some(_) => workspace.as_path(),
        None => path.parent().unwrap_or(Path::new("")),
    };
    entry.target(base, &variables)
}

fn absolute(path: &Path) -> Result<std::path::PathBuf, Failure> {
    std::path::absolute(path)
        .map_err(|error| Failure::usage(format!("the current directory is unknown: {error}")))
}

/// Reads the file that `--config` names, or all files that exist. Returns the failures of the others, too.
fn read_files(config: Option<&Path>) -> Result<(Vec<ServerFile>, Vec<Failure>), Failure> {
    if let Some(path) = config {
        let file = read(locations::named(path))
            .map_err(|failure| failure.with_default_advice("check --config"))?;
        return Ok((vec![file], Vec::new()));
    }
    let mut files = Vec::new();
    let mut problems = Vec::new();
    for location in locations::all() {
        if !location.path.is_file() {
            continue;
        }
        match read(location) {
            Ok(file) => files.push(file),
            Err(problem) => problems.push(problem),
        }
    }
    Ok((files, problems))
}

fn read(location: Location) -> Result<ServerFile, Failure> {
    let shown = locations::shown(&location.path);
    let text = std::fs::read_to_string(&location.path)
        .map_err(|error| Failure::usage(format!("{shown} cannot be read: {error}")))?;
    let format = FileFormat::of(&location.path);
    let invalid = |problem: &str| {
        Failure::usage(format!(
            "{shown} is not a valid server configuration: {problem}"
        ))
        .with_advice(format.advice())
    };
    let document = format.parse(&text).map_err(|problem| invalid(&problem))?;
    let servers = match format {
        FileFormat::Yaml => extensions(&document),
        FileFormat::Json | FileFormat::Toml => servers(&document),
    };
    let servers = servers.map_err(|problem| invalid(&problem))?;
    let has_servers = servers.is_some();
    // The settings of an application need not contain servers.
    let names = [
        "settings.json",
        ".claude.json",
        "config.toml",
        "config.yaml",
        "opencode.json",
    ];
    let file_name = location.path.file_name();
    let is_settings =
        file_name.is_some_and(|file_name| names.iter().any(|name| file_name == *name));
    if !has_servers && !is_settings {
        return Err(invalid(match format {
            FileFormat::Json => "it has no member `mcpServers` or `servers`",
            FileFormat::Toml => "it has no table `mcp_servers`",
            FileFormat::Yaml => "it has no mapping `extensions`",
        }));
    }
    Ok(ServerFile {
        servers: servers.unwrap_or_default(),
        inputs: input_definitions(&document),
        location,
    })
}

/// The format of a configuration file, by the end of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileFormat {
    Json,
    Toml,
    Yaml,
}

impl FileFormat {
    fn of(path: &Path) -> Self {
        match path {
            path if toml_file::is_toml(path) => Self::Toml,
            path if yaml_file::is_yaml(path) => Self::Yaml,
            _ => Self::Json,
        }
    }

    fn parse(self, text: &str) -> Result<Value, String> {
        match self {
            Self::Json => parse_json(text),
            Self::Toml => parse_toml(text),
            Self::Yaml => parse_yaml(text),
        }
    }

    /// Returns how a server is described.
    fn advice(self) -> &'static str {
        match self {
            Self::Json => {
                "write {\"mcpServers\": {\"name\": {\"command\": \"…\", \"args\": []}}} or {\"url\": \"…\"}"
            }
            Self::Toml => {
                "write [mcp_servers.name] with command = \"…\" and args = [], or url = \"…\""
            }
            Self::Yaml => {
                "write a mapping `extensions` with `name: {type: stdio, cmd: …, args: []}`, or `type: streamable_http` and `uri`"
            }
        }
    }
}

/// Parses JSON with comments and trailing commas.
pub(crate) fn parse_json(text: &str) -> Result<Value, String> {
    serde_json::from_str(&jsonc::to_json(text)).map_err(|error| error.to_string())
}

/// Returns the servers of a document. Returns `None` if it has no member for them.
fn servers(document: &Value) -> Result<Option<Vec<(String, Value)>>, String> {
    let mut servers = None;
    let groups = [
        ("mcpServers", project_settings(document)),
        ("mcpServers", Some(document)),
        ("servers", Some(document)),
        ("context_servers", Some(document)),
        ("servers", document.get("mcp")),
        ("mcp_servers", Some(document)),
    ];
    for (member, parent) in groups {
        let Some(group) = parent.and_then(|parent| parent.get(member)) else {
            continue;
        };
        let group = group
            .as_object()
            .ok_or_else(|| format!("`{member}` is not an object"))?;
        let entries = group.iter().filter(|(_, entry)| {
            // Zed also has the settings of its extensions there.
            member != "context_servers" || has_transport(entry)
        });
        let entries = entries.map(|(name, entry)| (name.clone(), entry.clone()));
        servers.get_or_insert_with(Vec::new).extend(entries);
    }
    Ok(servers)
}

/// Returns the servers of Goose. Its extensions are also programs that are part of it, which are left out.
fn extensions(document: &Value) -> Result<Option<Vec<(String, Value)>>, String> {
    let extensions = match document.get("extensions") {
        None | Some(Value::Null) => return Ok(None),
        Some(extensions) => extensions,
    };
    let extensions = extensions
        .as_object()
        .ok_or("`extensions` is not a mapping")?
        .iter();
    let servers = extensions.filter(|(_, entry)| {
        let kind = entry["type"].as_str();
        kind.is_some_and(|kind| ["stdio", "streamable_http", "sse"].contains(&kind))
    });
    let servers = servers.map(|(name, entry)| (name.clone(), entry.clone()));
    Ok(Some(servers.collect()))
}

fn has_transport(entry: &Value) -> bool {
    entry.get("command").is_some() || entry.get("url").is_some()
}

/// Returns the settings of Claude Code for the project in the current directory.
fn project_settings(document: &Value) -> Option<&Value> {
    let directory = std::env::current_dir().ok()?;
    document.get("projects")?.get(directory.to_str()?)
}

fn input_definitions(document: &Value) -> Vec<InputDefinition> {
    let none = Map::new();
    let mcp = document.get("mcp").and_then(Value::as_object);
    let inputs = [document.as_object().unwrap_or(&none), mcp.unwrap_or(&none)]
        .into_iter()
        .filter_map(|parent| parent.get("inputs")?.as_array())
        .flatten();
    // An input without an id cannot be used.
    inputs
        .filter_map(|input| serde_json::from_value(input.clone()).ok())
        .collect()
}

fn unknown(name: &str, later_words: &[String], files: &[ServerFile]) -> Failure {
    let mut known: Vec<&str> = files
        .iter()
        .flat_map(|file| &file.servers)
        .map(|(name, _)| name.as_str())
        .collect();
    known.sort_unstable();
    known.dedup();
    let suggestion = did_you_mean(name, known.iter().copied());
    let failure = Failure::usage(format!("there is no server named `{name}`{suggestion}"));
    if let Some(hint) = server_hints::for_unknown_server(name, later_words) {
        return failure.with_advice(hint);
    }
    if known.is_empty() {
        return failure.with_advice(
            "give an address (https://…) or a command (-- program), or describe the server in ./mcp.json",
        );
    }
    let files = files.iter().filter(|file| !file.servers.is_empty());
    let files = files.map(ServerFile::shown_path).collect::<Vec<_>>();
    let more = match known.len() {
        ..=MAX_NAMES => "",
        _ => " …; `toolwire servers` lists all",
    };
    known.truncate(MAX_NAMES);
    let (known, files) = (known.join(", "), files.join(", "));
    failure.with_advice(format!("one of {known} (from {files}){more}"))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde_json::json;

    use super::*;

    fn file(path: &str, names: &[&str]) -> ServerFile {
        let servers = names.iter().map(|name| ((*name).to_owned(), json!({})));
        ServerFile {
            location: locations::named(&PathBuf::from(path)),
            servers: servers.collect(),
            inputs: Vec::new(),
        }
    }

    #[test]
    fn unknown_name_lists_the_known_names() {
        let files = [file("mcp.json", &["b", "a"]), file("empty.json", &[])];
        let text = unknown("x", &[], &files).text();
        assert!(text.contains("one of a, b (from mcp.json)"), "{text}");
        let text = unknown("weathr", &[], &[file("mcp.json", &["weather"])]).text();
        assert!(text.contains("did you mean `weather`?"), "{text}");
        let text = unknown("localhost:3000/mcp", &[], &[]).text();
        assert!(text.contains("http://localhost:3000/mcp"), "{text}");
        let text = unknown("no-such-name-anywhere", &[], &[]).text();
        assert!(text.contains("./mcp.json"), "{text}");
    }

    #[test]
    fn unknown_name_lists_at_most_twelve_names() {
        let names: Vec<String> = (10..=10 + MAX_NAMES).map(|n| format!("s{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let text = unknown("x", &[], &[file("mcp.json", &names[..MAX_NAMES])]).text();
        assert!(text.contains("s20, s21 (from mcp.json)"), "{text}");
        assert!(!text.contains('…'), "{text}");
        let text = unknown("x", &[], &[file("mcp.json", &names)]).text();
        assert!(text.contains("s20, s21 (from mcp.json) …"), "{text}");
        assert!(!text.contains("s22"), "{text}");
    }

    #[test]
    fn servers_of_every_format_are_read() {
        fn check(document: Value, expected: Option<&[&str]>) {
            let servers = servers(&document).expect("the format is valid");
            let names = servers.map(|servers| {
                let names = servers.into_iter().map(|(name, _)| name);
                names.collect::<Vec<_>>()
            });
            let expected: Option<Vec<String>> =
                expected.map(|names| names.iter().map(ToString::to_string).collect());
            assert_eq!(names, expected, "{document}");
        }
        check(json!({"mcpServers": {"a": {}}}), Some(&["a"]));
        check(json!({"servers": {"a": {}, "b": {}}}), Some(&["a", "b"]));
        check(json!({"mcp": {"servers": {"a": {}}}}), Some(&["a"]));
        check(json!({"mcp_servers": {"a": {}}}), Some(&["a"]));
        check(
            json!({"context_servers": {"a": {"command": "x"}, "extension": {"settings": {}}}}),
            Some(&["a"]),
        );
        check(json!({"theme": "dark"}), None);
        let here = std::env::current_dir().expect("there is a current directory");
        let here = here.to_str().expect("it is UTF-8");
        check(
            json!({
                "mcpServers": {"user": {}},
                "projects": {here: {"mcpServers": {"local": {}}}, "/other": {"mcpServers": {"no": {}}}},
            }),
            Some(&["local", "user"]),
        );
        assert!(servers(&json!({"mcpServers": 1})).is_err());
        let document = json!({"extensions": {
            "a": {"type": "stdio", "cmd": "x"}, "developer": {"type": "builtin"},
            "b": {"type": "streamable_http", "uri": "http://x"},
        }});
        let found = extensions(&document).expect("the format is valid");
        let names: Vec<_> = found.into_iter().flatten().map(|(name, _)| name).collect();
        assert_eq!(names, ["a", "b"]);
        assert!(extensions(&json!({"extensions": 1})).is_err());
        assert_eq!(extensions(&json!({"extensions": null})), Ok(None));
    }
}
