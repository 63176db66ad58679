//! Reports builds and starts: in the terminal, in the page, and to connected clients.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;
use toolwire::{LoggingLevel, Server};

use crate::dev::build::FailedBuild;
use crate::inspect::Inspector;
use crate::screen::Screen;

/// The logger of messages to clients.
const LOGGER: &str = "toolwire dev";

/// The maximum number of characters of the output in a log message to clients.
const MAX_LOG_CHARS: usize = 4000;

/// The maximum number of files that a message names.
const MAX_NAMED_FILES: usize = 3;

/// The last build and start, as the page shows it.
#[derive(Debug, Default, Serialize)]
struct BuildState<'a> {
    /// Counts builds from 1.
    number: u64,
    phase: BuildPhase,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<&'a str>,
    /// Why the build or the start failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    /// The output of a failed build, as plain text.
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<&'a str>,
}

#[derive(Debug, Clone, Copy, Default, Serialize)]
#[serde(rename_all = "lowercase")]
enum BuildPhase {
    #[default]
    Building,
    Starting,
    Running,
    /// The build or the start failed. The server of the last good build still runs, if there is one.
    Failed,
    /// The server has ended by itself, and is started again after a pause.
    Stopped,
}

/// Reports what happens. Clones report to the same places.
#[derive(Clone)]
pub(super) struct DevStatus {
    inspector: Arc<Inspector>,
    server: Server,
    screen: Arc<Screen>,
}

impl DevStatus {
    pub(super) fn new(inspector: &Arc<Inspector>, server: &Server, screen: &Arc<Screen>) -> Self {
        Self {
            inspector: Arc::clone(inspector),
            server: server.clone(),
            screen: Arc::clone(screen),
        }
    }

    pub(super) fn screen(&self) -> &Screen {
        &self.screen
    }

    pub(super) fn building(&self, number: u64, command: &str) {
        self.show(&format!("building: {command}"));
        self.set(&BuildState {
            number,
            command: Some(command),
            ..BuildState::default()
        });
    }

    /// Reports a line of the output of a build, which is plain text.
    pub(super) fn build_line(&self, line: &str) {
        self.screen.show_line(line);
    }

    pub(super) fn build_failed(&self, number: u64, command: &str, failed: &FailedBuild) {
        let FailedBuild { reason, output } = failed;
        self.show(&format!("{reason}; the next change builds again"));
        self.inspector.note(&format!("{reason}\n{output}"));
        self.set(&BuildState {
            number,
            phase: BuildPhase::Failed,
            command: Some(command),
            error: Some(reason),
            output: Some(output),
        });
        let beginning: String = output.chars().take(MAX_LOG_CHARS).collect();
        self.log(&format!("{reason}\n{beginning}"));
    }

    pub(super) fn starting(&self, number: u64) {
        self.set(&BuildState {
            number,
            phase: BuildPhase::Starting,
            ..BuildState::default()
        });
    }

    pub(super) fn running(&self, number: u64) {
        self.show("the server runs");
        self.inspector.note("the server runs");
        self.set(&BuildState {
            number,
            phase: BuildPhase::Running,
            ..BuildState::default()
        });
    }

    pub(super) fn start_failed(&self, number: u64, reason: &str) {
        let error = format!("the server did not start: {reason}");
        self.report_problem(number, BuildPhase::Failed, &error);
        self.log(&error);
    }

    /// Reports that a start is ended because files have changed.
    pub(super) fn start_ended(&self, number: u64) {
        self.show(&format!(
            "a file changed before the server of build {number} responded; it is built again"
        ));
    }

    /// Reports files whose changes during a build are ignored.
    pub(super) fn files_ignored(&self, files: &[PathBuf]) {
        let text = format!(
            "the build seems to write {}; such changes during a build are ignored now; if a change is yours, save the file \
             again",
            file_list(files)
        );
        self.show(&text);
        self.inspector.note(&text);
    }

    pub(super) fn stopped(&self, number: u64, reason: &str) {
        let error = format!("the server has ended and is started again: {reason}");
        self.report_problem(number, BuildPhase::Stopped, &error);
    }

    /// Reports a line of the server's standard error.
    pub(super) fn stderr(&self, line: &str) {
        self.screen.show_line(line);
        self.inspector.stderr(line);
    }

    fn report_problem(&self, number: u64, phase: BuildPhase, error: &str) {
        self.show(error);
        self.inspector.note(error);
        self.set(&BuildState {
            number,
            phase,
            error: Some(error),
            ..BuildState::default()
        });
    }

    fn show(&self, text: &str) {
        self.screen.show_line(&format!("toolwire: {text}"));
    }

    fn set(&self, state: &BuildState<'_>) {
        let state = serde_json::to_value(state).unwrap_or_default();
        self.inspector.set_build(state);
    }

    /// Sends a log message to all clients with a session. Later revisions have no messages outside of requests.
    fn log(&self, text: &str) {
        for client in self.server.connected_clients() {
            // A client that has just closed its connection gets no message.
            let _ = client.log_as(LOGGER, LoggingLevel::Error, text);
        }
    }
}

impl fmt::Debug for DevStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DevStatus").finish_non_exhaustive()
    }
}

/// Returns the first files, and the number of the others.
fn file_list(files: &[PathBuf]) -> String {
    let named = files.iter().take(MAX_NAMED_FILES);
    let named = named.map(|file| file.strip_prefix(".").unwrap_or(file));
    let named: Vec<String> = named.map(|file| file.display().to_string()).collect();
    let named = named.join(", ");
    match files.len().saturating_sub(MAX_NAMED_FILES) {
        0 => named,
        others => format!("{named} and {others} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_3_files_are_named() {
        let check = |names: &[&str], expected: &str| {
            let files: Vec<PathBuf> = names.iter().map(PathBuf::from).collect();
            assert_eq!(file_list(&files), expected);
        };
        check(&["./src/a"], "src/a");
        check(&["a", "b", "c"], "a, b, c");
        check(&["a", "b", "c", "d", "e"], "a, b, c and 2 more");
    }
}
