//! `toolwire servers`: lists the servers of all configuration files, without secrets.

use serde_json::{Value, json};

use crate::failure::{Exit, Failure};
use crate::screen::Screen;
use crate::server_files::entry::{Entry, Transport};
use crate::server_files::{ServerFile, locations, read_files, redaction};
use crate::server_list_arguments::Servers;
use crate::shell_words::in_shell;
use crate::show::Table;

/// A server in the list.
#[derive(Debug)]
struct ListedServer {
    name: String,
    application: &'static str,
    file: String,
    is_disabled: bool,
    /// `true` if a server of the same name in an earlier file is used instead.
    is_overridden: bool,
    details: ServerDetails,
}

/// How the server is reached.
#[derive(Debug)]
pub(crate) enum ServerDetails {
    Command(Vec<String>),
    Url { url: String, is_sse: bool },
    Invalid(String),
}

impl ListedServer {
    fn transport(&self) -> &'static str {
        match &self.details {
            ServerDetails::Command(_) => "stdio",
            ServerDetails::Url { is_sse: true, .. } => "sse",
            ServerDetails::Url { .. } => "http",
            ServerDetails::Invalid(_) => "invalid",
        }
    }

    fn state(&self) -> &'static str {
        match (self.is_disabled, self.is_overridden) {
            (true, _) => "disabled",
            (false, true) => "overridden",
            (false, false) => "",
        }
    }

    fn shown_details(&self) -> String {
        self.details.shown()
    }

    fn json(&self) -> Value {
        let mut server = json!({
            "name": self.name,
            "transport": self.transport(),
            "file": self.file,
            "disabled": self.is_disabled,
            "overridden": self.is_overridden,
        });
        if !self.application.is_empty() {
            server["application"] = self.application.into();
        }
        match &self.details {
            ServerDetails::Command(words) => server["command"] = json!(words),
            ServerDetails::Url { url, .. } => server["url"] = url.as_str().into(),
            ServerDetails::Invalid(problem) => server["problem"] = problem.as_str().into(),
        }
        server
    }
}

impl ServerDetails {
    /// Returns the details of an entry.
    pub(crate) fn of(entry: &Value) -> Self {
        Self::of_parsed(&Entry::parse(entry))
    }

    fn of_parsed(entry: &Result<Entry, Failure>) -> Self {
        match entry.as_ref().map(Entry::transport) {
            Ok(Ok(Transport::Stdio { program, arguments })) => {
                let arguments = redaction::arguments(arguments);
                Self::Command([vec![program.to_owned()], arguments].concat())
            }
            Ok(Ok(Transport::Http { url, is_sse })) => Self::Url {
                url: redaction::url(url),
                is_sse,
            },
            Ok(Err(problem)) => Self::Invalid(problem.message().to_owned()),
            Err(problem) => Self::Invalid(problem.message().to_owned()),
        }
    }

    /// Returns the command line, the URL, or what is wrong with the entry.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Command(words) => {
                let shown = |word: &String| {
                    if word.contains(' ') {
                        in_shell(word)
                    } else {
                        word.clone()
                    }
                };
                words.iter().map(shown).collect::<Vec<_>>().join(" ")
            }
            Self::Url { url, .. } => url.clone(),
            Self::Invalid(problem) => problem.clone(),
        }
    }
}

/// Lists the servers.
pub(crate) fn list(arguments: &Servers, screen: &Screen) -> Result<Exit, Failure> {
    let config = arguments.config.as_deref();
    let (files, problems) = read_files(config)?;
    for problem in &problems {
        screen.warn(&problem.message_with_advice());
    }
    let servers = listed(&files);
    if screen.json {
        let servers: Vec<_> = servers.iter().map(ListedServer::json).collect();
        screen.print_json(&servers)?;
        return Ok(Exit::Success);
    }
    if servers.is_empty() {
        screen.print("no servers\n")?;
        let searched = match config {
            Some(_) => files.iter().map(ServerFile::shown_path).collect(),
            None => searched_paths(),
        };
        screen.show_line(&format!("searched {}", searched.join(", ")));
        return Ok(Exit::Success);
    }
    let mut table = Table::new(&["NAME", "TRANSPORT", "", "FILE", "COMMAND OR URL"]);
    for server in &servers {
        table.row([
            &server.name,
            server.transport(),
            server.state(),
            &server.file,
            &server.shown_details(),
        ]);
    }
    screen.print(&table.render(screen.style))?;
    Ok(Exit::Success)
}

fn searched_paths() -> Vec<String> {
    let locations = locations::all().into_iter();
    locations
        .map(|location| locations::shown(&location.path))
        .collect()
}

fn listed(files: &[ServerFile]) -> Vec<ListedServer> {
    let mut servers: Vec<ListedServer> = Vec::new();
    for file in files {
        for (name, value) in &file.servers {
            let entry = Entry::parse(value);
            let details = ServerDetails::of_parsed(&entry);
            servers.push(ListedServer {
                name: name.clone(),
                application: file.location.application,
                file: file.shown_path(),
                is_disabled: entry.is_ok_and(|entry| entry.is_disabled()),
                is_overridden: servers.iter().any(|known| known.name == *name),
                details,
            });
        }
    }
    servers
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use crate::server_files::locations::Location;

    use super::*;

    fn file(application: &'static str, path: &str, servers: Value) -> ServerFile {
        let servers = servers.as_object().expect("an object").clone();
        ServerFile {
            location: Location {
                application,
                path: PathBuf::from(path),
                project: None,
            },
            servers: servers.into_iter().collect(),
            inputs: Vec::new(),
        }
    }

    #[test]
    fn servers_are_listed_without_secrets() {
        let files = [
            file(
                "Cursor",
                ".cursor/mcp.json",
                json!({
                    "notes": {"command": "npx", "args": ["notes", "--token", "hunter2"], "env": {"KEY": "hunter2"}},
                    "web": {"type": "sse", "url": "https://x/mcp?k=hunter2", "headers": {"X-Key": "hunter2"}},
                }),
            ),
            file(
                "Zed",
                "zed/settings.json",
                json!({"notes": {"command": "other"}, "off": {"url": "http://y", "enabled": false}, "bad": {}}),
            ),
        ];
        let servers = listed(&files);
        let lines: Vec<_> = servers
            .iter()
            .map(|server| {
                let details = server.shown_details();
                let (transport, state) = (server.transport(), server.state());
                format!("{}|{transport}|{state}|{details}", server.name)
            })
            .collect();
        assert_eq!(
            lines,
            [
                "notes|stdio||npx notes --token ***",
                "web|sse||https://x/mcp?***",
                "notes|stdio|overridden|other",
                "off|http|disabled|http://y",
                "bad|invalid||it has neither a url nor a command",
            ]
        );
        let json: Vec<_> = servers.iter().map(ListedServer::json).collect();
        let json = json!(json);
        assert_eq!(
            json[0]["command"],
            json!(["npx", "notes", "--token", "***"])
        );
        assert_eq!(json[1]["application"], "Cursor");
        assert_eq!(json[3]["disabled"], true);
        assert!(!json.to_string().contains("hunter2"), "{json}");
    }
}
