//! The arguments of `toolwire install`, `uninstall` and `installed`.

use clap::Args;

use crate::connection_arguments::Server;
use crate::hosts::{HOSTS, Host, Scope};
use crate::output_arguments::Output;

pub(crate) const INSTALL_HELP: &str = "\
Hosts: claude-desktop, claude-code, codex, cursor, vscode, gemini, windsurf,
    zed, opencode, goose, kiro, lmstudio

The server is one of
    https://example.com/mcp   an address
    -- npx some-server /tmp   a command that starts the server; it comes last
    nothing                   the release binary of the crate in this directory

Examples:
    toolwire install --host cursor,vscode -- npx some-server /tmp
    toolwire install --host claude-desktop https://example.com/mcp
    toolwire install --host codex --env API_KEY --dry-run
A host without URLs gets a command that runs `toolwire proxy`. Before the first
change of a file it is copied to FILE.toolwire-backup.";

/// The help of `--env`, which differs from that of other commands.
pub(crate) const INSTALL_ENV_HELP: &str = "\
Pass an environment variable to the command: `NAME` writes a reference to the variable of the host; `NAME=value` needs \
--inline-secrets; may be repeated";

/// Options of connections that have no meaning for an entry in a file.
pub(crate) const NOT_INSTALLED: [&str; 12] = [
    "config",
    "inputs",
    "era",
    "protocol_version",
    "inherit_env",
    "roots",
    "log_level",
    "file",
    "unredacted",
    "cacert",
    "insecure",
    "login",
];

#[derive(Debug, Args)]
pub(crate) struct Install {
    #[command(flatten)]
    pub(crate) server: Server,
    #[command(flatten)]
    pub(crate) edit: EditOptions,
    /// The name of the entry [default: from the command, the address or the crate]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Write the values of `--env NAME=value` and of `--header` to the file; every program of the user can read them
    #[arg(long)]
    pub(crate) inline_secrets: bool,
    /// Replace an entry that differs
    #[arg(long)]
    pub(crate) replace: bool,
    /// Only print the entry, to paste it
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) print: bool,
    /// Do not start the server after the change
    #[arg(long)]
    pub(crate) no_check: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Uninstall {
    /// The name of the entry
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) edit: EditOptions,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct Installed {
    /// List only entries with this name
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Which files are changed, and how.
#[derive(Debug, Args)]
pub(crate) struct EditOptions {
    /// The hosts, separated by commas
    #[arg(long = "host", value_name = "HOST", value_delimiter = ',', required = true, value_parser = host)]
    pub(crate) hosts: Vec<&'static Host>,
    /// Who gets the entry
    #[arg(long, value_enum, default_value_t = Scope::User)]
    pub(crate) scope: Scope,
    /// Show the change, and do not make it
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Edit the file also if the host has a command for it (`claude mcp`, `code --add-mcp`)
    #[arg(long)]
    pub(crate) edit_file: bool,
}

fn host(id: &str) -> Result<&'static Host, String> {
    Host::with_id(id).ok_or_else(|| {
        let known: Vec<_> = HOSTS.iter().map(|host| host.id).collect();
        format!("the hosts are {}", known.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_names_all_hosts() {
        let words: Vec<&str> = INSTALL_HELP
            .split(|c: char| c.is_whitespace() || c == ',')
            .collect();
        for host in &HOSTS {
            assert!(words.contains(&host.id), "{}", host.id);
        }
        assert!(super::host("emacs").is_err_and(|text| text.contains("lmstudio")));
    }
}
