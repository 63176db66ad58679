//! The commands of hosts that add and remove entries.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tokio::process::Command;

use crate::failure::Failure;
use crate::hosts::entry::NewEntry;
use crate::hosts::table::{Host, HostCommand, Scope};
use crate::shell_words::command_line;

/// The longest run of a command. An editor may start first.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A command line of a host.
#[derive(Debug)]
pub(crate) struct OwnCommand {
    program: PathBuf,
    words: Vec<String>,
}

impl OwnCommand {
    /// Returns the command that adds an entry, or `None` if the file must be edited instead.
    pub(crate) fn add(host: &Host, scope: Scope, new: &NewEntry) -> Option<Self> {
        // A file of a project belongs to the user, who sees every change of it. A command knows no inputs. Other users
        // can read the arguments of a process, so they must not contain values.
        if scope == Scope::Project || !new.inputs.is_empty() || new.has_inline_values() {
            return None;
        }
        let words = match host.command? {
            HostCommand::Claude => {
                let entry = new.entry.to_string();
                let words = ["mcp", "add-json", &new.name, &entry, "--scope", "user"];
                words.map(str::to_owned).to_vec()
            }
            HostCommand::Code => {
                let mut entry = serde_json::Map::new();
                entry.insert("name".to_owned(), new.name.clone().into());
                entry.extend(new.entry.as_object().cloned().unwrap_or_default());
                vec!["--add-mcp".to_owned(), Value::from(entry).to_string()]
            }
        };
        Self::new(host, words)
    }

    /// Returns the command that removes an entry, or `None` if the file must be edited instead.
    pub(crate) fn remove(host: &Host, scope: Scope, name: &str) -> Option<Self> {
        if scope == Scope::Project || host.command != Some(HostCommand::Claude) {
            return None;
        }
        let words = ["mcp", "remove", name, "--scope", "user"].map(str::to_owned);
        Self::new(host, words.to_vec())
    }

    fn new(host: &Host, words: Vec<String>) -> Option<Self> {
        let name = match host.command? {
            HostCommand::Claude => "claude",
            HostCommand::Code => "code",
        };
        let program = find_program(name)?;
        Some(Self { program, words })
    }

    /// Returns the command line as it is typed.
    pub(crate) fn shown(&self) -> String {
        let name = self.program.file_stem().unwrap_or_default();
        let name = name.display().to_string();
        let words = self.words.iter().map(String::as_str);
        command_line(std::iter::once(name.as_str()).chain(words))
    }

    /// Runs the command.
    ///
    /// # Errors
    /// Returns an error with the output of the command if it fails or takes too long.
    pub(crate) async fn run(&self) -> Result<(), Failure> {
        let running = Command::new(&self.program)
            .args(&self.words)
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output();
        let program = self.program.display();
        let advice = "edit the file instead with --edit-file";
        let output = tokio::time::timeout(TIMEOUT, running)
            .await
            .map_err(|_| {
                Failure::usage(format!("{program} did not exit in {TIMEOUT:?}")).with_advice(advice)
            })?
            .map_err(|error| {
                Failure::usage(format!("{program} cannot be run: {error}")).with_advice(advice)
            })?;
        if output.status.success() {
            return Ok(());
        }
        let text = [output.stderr, output.stdout].concat();
        let text = String::from_utf8_lossy(&text).trim().to_owned();
        Err(
            Failure::usage(format!("{program} failed: {}", output.status))
                .with_advice(advice)
                .with_details(text),
        )
    }
}

/// Returns the first program of this name in `PATH`.
fn find_program(name: &str) -> Option<PathBuf> {
    let directories = std::env::var_os("PATH")?;
    let mut files = std::env::split_paths(&directories).flat_map(|directory| {
        let files = file_names(name, cfg!(windows)).into_iter();
        files.map(move |file| directory.join(file))
    });
    files.find(|path| path.is_absolute() && path.is_file())
}

/// Returns the file names that a program can have. On Windows, the command `code` of VS Code is a script.
fn file_names(name: &str, is_windows: bool) -> Vec<String> {
    if !is_windows {
        return vec![name.to_owned()];
    }
    let extensions = ["exe", "cmd", "bat"];
    extensions.map(|end| format!("{name}.{end}")).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_found_on_windows() {
        assert_eq!(file_names("code", false), ["code"]);
        let names = ["code.exe", "code.cmd", "code.bat"];
        assert_eq!(file_names("code", true), names);
    }
}
