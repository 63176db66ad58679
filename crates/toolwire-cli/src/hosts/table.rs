//! The table of hosts. Each row says when it was compared with which documentation, and what was not found there.

use std::path::PathBuf;

use crate::server_files;

/// An application that starts servers or connects to them.
#[derive(Debug)]
pub(crate) struct Host {
    /// The word after `--host`.
    pub(crate) id: &'static str,
    /// The name, as in the list of configuration files.
    pub(crate) name: &'static str,
    /// The members that lead to the object with the entries.
    pub(super) path: &'static [&'static str],
    pub(super) format: Format,
    pub(super) style: EntryStyle,
    pub(super) references: References,
    /// A command of the host that adds an entry for the user. It is preferred to an edit of the file.
    pub(super) command: Option<HostCommand>,
    /// What the user does so that the host uses the new entry.
    pub(crate) reload: &'static str,
    pub(crate) check: HostCheck,
}

/// How a row of the table was verified.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HostCheck {
    date: CheckDate,
    source: CheckSource,
    /// The parts of the row that were not found there, or an empty text.
    unconfirmed: &'static str,
}

/// A year, a month and a day.
type CheckDate = (u16, u8, u8);

/// The day of the last comparison of the table. A row that is compared later gets its own date.
const CHECKED: CheckDate = (2026, 11, 18);

/// What a row was compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CheckSource {
    /// The documentation of the host.
    HostDocumentation,
    /// Pages and programs of other authors.
    OtherPages,
}

impl HostCheck {
    const fn with_host_documentation(date: CheckDate) -> Self {
        Self {
            date,
            source: CheckSource::HostDocumentation,
            unconfirmed: "",
        }
    }

    const fn with_other_pages(date: CheckDate) -> Self {
        Self {
            source: CheckSource::OtherPages,
            ..Self::with_host_documentation(date)
        }
    }

    const fn without(mut self, unconfirmed: &'static str) -> Self {
        self.unconfirmed = unconfirmed;
        self
    }

    /// Returns how far the row can be trusted.
    pub(crate) fn shown(self) -> String {
        let source = match self.source {
            CheckSource::HostDocumentation => "the documentation of the host",
            CheckSource::OtherPages => "pages of other authors",
        };
        let (year, month, day) = self.date;
        let date = format!("{year}-{month:02}-{day:02}");
        match self.unconfirmed {
            "" => format!("compared with {source} on {date}"),
            parts => format!("compared with {source} on {date}; not confirmed: {parts}"),
        }
    }
}

/// The format of a configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// JSON. Comments and trailing commas are accepted and stay.
    Json,
    Toml,
    Yaml,
}

/// The form of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryStyle {
    /// `command` and `args` only. A URL becomes a command that runs `toolwire proxy`.
    CommandOnly,
    /// `command` and `args`, or `url`.
    Plain,
    /// Like `Plain`, with the member `type`.
    Typed,
    /// Like `Plain`, with the URL in another member.
    UrlMember(&'static str),
    /// All words in `command`, and the variables in `environment`.
    Words,
    /// Like `Plain`, with names of variables instead of references.
    VariableNames,
    /// `cmd` and `args`, or `uri`, with `name` and `enabled`, as Goose writes its extensions.
    Extension,
}

/// How an entry refers to an environment variable of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum References {
    /// The host has no references.
    None,
    /// `${KEY}`
    Dollar,
    /// `${env:KEY}`
    DollarEnv,
    /// `{env:KEY}`
    BracesEnv,
    /// `${input:server-KEY}`, with a definition in `inputs`. The host asks the user for the value.
    Inputs,
    /// The names of variables in members of their own.
    Names,
}

/// The command of a host that adds an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HostCommand {
    /// `claude mcp add-json` and `claude mcp remove`.
    Claude,
    /// `code --add-mcp`. There is no command that removes an entry.
    Code,
}

/// The users of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Scope {
    /// All projects of the user
    User,
    /// Everyone who works on the project in the current directory
    Project,
}

impl Scope {
    pub(crate) const ALL: [Self; 2] = [Self::User, Self::Project];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

impl Host {
    /// Returns the host with this id.
    pub(crate) fn with_id(id: &str) -> Option<&'static Self> {
        HOSTS.iter().find(|host| host.id == id)
    }

    /// Returns the configuration file, or `None` if the host has none for the scope.
    pub(crate) fn file(&self, scope: Scope) -> Option<PathBuf> {
        match scope {
            Scope::User => server_files::user_file(self.name),
            Scope::Project => server_files::project_file(self.name),
        }
    }
}

/// All hosts.
pub(crate) const HOSTS: [Host; 12] = [
    Host {
        id: "claude-desktop",
        name: "Claude Desktop",
        path: &["mcpServers"],
        format: Format::Json,
        style: EntryStyle::CommandOnly,
        references: References::None,
        command: None,
        reload: "quit Claude Desktop and start it again; some installations on Windows ignore the file, so check that \
            the server is listed there",
        check: HostCheck::with_other_pages(CHECKED).without("the file on Linux"),
    },
    Host {
        id: "claude-code",
        name: "Claude Code",
        path: &["mcpServers"],
        format: Format::Json,
        style: EntryStyle::Typed,
        references: References::Dollar,
        command: Some(HostCommand::Claude),
        reload: "start a new session of Claude Code; `/mcp` shows the server",
        check: HostCheck::with_host_documentation(CHECKED)
            .without("the file of the user, `claude mcp add-json`"),
    },
    Host {
        id: "codex",
        name: "Codex",
        path: &["mcp_servers"],
        format: Format::Toml,
        style: EntryStyle::VariableNames,
        references: References::Names,
        command: None,
        reload: "start a new session of Codex; a project must be trusted",
        check: HostCheck::with_host_documentation(CHECKED).without("the file of a project"),
    },
    Host {
        id: "cursor",
        name: "Cursor",
        path: &["mcpServers"],
        format: Format::Json,
        style: EntryStyle::Plain,
        references: References::DollarEnv,
        command: None,
        reload: "enable the server in the settings of Cursor",
        check: HostCheck::with_other_pages(CHECKED),
    },
    Host {
        id: "vscode",
        name: "VS Code",
        path: &["servers"],
        format: Format::Json,
        style: EntryStyle::Typed,
        references: References::Inputs,
        command: Some(HostCommand::Code),
        reload: "start the server in VS Code with the command `MCP: List Servers`",
        check: HostCheck::with_host_documentation(CHECKED),
    },
    Host {
        id: "gemini",
        name: "Gemini CLI",
        path: &["mcpServers"],
        format: Format::Json,
        style: EntryStyle::UrlMember("httpUrl"),
        references: References::Dollar,
        command: None,
        reload: "start a new session of Gemini CLI; `/mcp` shows the server",
        check: HostCheck::with_host_documentation(CHECKED).without("references in headers"),
    },
    Host {
        id: "windsurf",
        name: "Windsurf",
        path: &["mcpServers"],
        format: Format::Json,
        style: EntryStyle::UrlMember("serverUrl"),
        references: References::DollarEnv,
        command: None,
        reload: "refresh the servers in the settings of Windsurf",
        check: HostCheck::with_host_documentation(CHECKED).without("the form of references"),
    },
    Host {
        id: "zed",
        name: "Zed",
        path: &["context_servers"],
        format: Format::Json,
        style: EntryStyle::Plain,
        references: References::None,
        command: None,
        reload: "Zed starts the server now; the settings of its agent show it",
        check: HostCheck::with_host_documentation(CHECKED).without("entries with a URL"),
    },
    Host {
        id: "opencode",
        name: "opencode",
        path: &["mcp", "servers"],
        format: Format::Json,
        style: EntryStyle::Words,
        references: References::BracesEnv,
        command: None,
        reload: "start opencode again",
        check: HostCheck::with_host_documentation(CHECKED)
            .without("entries with a URL, references"),
    },
    Host {
        id: "goose",
        name: "Goose",
        path: &["extensions"],
        format: Format::Yaml,
        style: EntryStyle::Extension,
        references: References::Names,
        command: None,
        reload: "start a new session of Goose",
        check: HostCheck::with_host_documentation(CHECKED)
            .without("entries with a URL, references in headers"),
    },
    Host {
        id: "kiro",
        name: "Kiro",
        path: &["mcpServers"],
        format: Format::Json,
        style: EntryStyle::Plain,
        references: References::Dollar,
        command: None,
        reload: "Kiro connects to the server now; its MCP panel shows it",
        check: HostCheck::with_host_documentation(CHECKED),
    },
    Host {
        id: "lmstudio",
        name: "LM Studio",
        path: &["mcpServers"],
        format: Format::Json,
        style: EntryStyle::Plain,
        references: References::None,
        command: None,
        reload: "enable the server in the program panel of LM Studio",
        check: HostCheck::with_host_documentation(CHECKED)
            .without("the file of older installations, ~/.cache/lm-studio/mcp.json"),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_host_has_a_file_and_the_date_of_its_check() {
        for host in &HOSTS {
            assert!(host.file(Scope::User).is_some(), "{}", host.name);
            let check = host.check.shown();
            assert!(check.contains(" on 20"), "{}: {check}", host.name);
            assert_eq!(Host::with_id(host.id).map(|found| found.id), Some(host.id));
        }
    }

    #[test]
    fn hosts_without_project_files_have_none() {
        let without: Vec<&str> = HOSTS
            .iter()
            .filter(|host| host.file(Scope::Project).is_none())
            .map(|host| host.id)
            .collect();
        assert_eq!(without, ["claude-desktop", "windsurf", "goose", "lmstudio"]);
    }
}
