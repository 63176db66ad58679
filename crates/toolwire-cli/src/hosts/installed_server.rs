//! A server that is to be installed, and the name of its entry.

use crate::failure::Failure;
use crate::hosts::runner::started_by;

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

/// Returns a name for a server: the first label of the host of its URL that names it, or the name of its program. If the
/// program starts another one, such as `npx`, the name is that of the other one. An IP address is used as a whole.
pub(crate) fn name_of(server: &InstalledServer) -> String {
    let text = match server {
        InstalledServer::Command {
            program, arguments, ..
        } => {
            let file = program.rsplit(['/', '\\']).next().unwrap_or(program);
            let ends = [".exe", ".cmd", ".bat"];
            let name = ends.iter().find_map(|end| file.strip_suffix(end));
            let name = name.unwrap_or(file);
            started_by(name, arguments).unwrap_or(name)
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

    #[test]
    fn names_are_taken_from_programs_and_urls() {
        fn check(server: &InstalledServer, expected: &str) {
            assert_eq!(name_of(server), expected);
        }
        for (program, arguments, expected) in [
            ("/bin/notes", &[][..], "notes"),
            ("notes.exe", &["npx"], "notes"),
            ("cargo", &["run"], "cargo"),
            (
                "C:\\node\\npx.cmd",
                &["-y", "@scope/some-server@1.2"],
                "some-server",
            ),
            ("uvx", &["mcp.server"], "mcp-server"),
            ("npx", &["-y"], "npx"),
        ] {
            let command = InstalledServer::Command {
                program: program.to_owned(),
                arguments: arguments.iter().map(|word| (*word).to_owned()).collect(),
                environment: Vec::new(),
            };
            check(&command, expected);
        }
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
