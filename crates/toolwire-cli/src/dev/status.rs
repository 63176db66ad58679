//! Reports builds and starts: in the terminal, in the page, and to connected clients.

use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::Value;
use toolwire::{LoggingLevel, Server};

use crate::dev::build::FailedBuild;
use crate::dev::build_state::{BuildFailure, BuildStates};
use crate::dev::listening_address::{advice, listening_address};
use crate::inspect::Inspector;
use crate::screen::Screen;
use crate::sync::lock;

/// The logger of messages to clients.
const LOGGER: &str = "toolwire dev";

/// The maximum number of characters of the output in a log message to clients.
const MAX_LOG_CHARS: usize = 4000;

/// The maximum number of files that a message names.
const MAX_NAMED_FILES: usize = 3;

/// Reports what happens. Clones report to the same places.
#[derive(Clone)]
pub(super) struct DevStatus {
    inspector: Arc<Inspector>,
    server: Server,
    screen: Arc<Screen>,
    states: Arc<Mutex<BuildStates>>,
    /// Whether advice is given if the server listens on an address. It is given once per start.
    gives_advice: Arc<AtomicBool>,
}

impl DevStatus {
    pub(super) fn new(inspector: &Arc<Inspector>, server: &Server, screen: &Arc<Screen>) -> Self {
        Self {
            inspector: Arc::clone(inspector),
            server: server.clone(),
            screen: Arc::clone(screen),
            states: Arc::default(),
            gives_advice: Arc::default(),
        }
    }

    pub(super) fn screen(&self) -> &Screen {
        &self.screen
    }

    pub(super) fn building(&self, number: u64, command: &str) {
        self.show(&format!("building: {command}"));
        self.set(|states| states.building(number, command));
    }

    /// Reports a line of the output of a build, which is plain text.
    pub(super) fn build_line(&self, line: &str) {
        self.screen.show_line(line);
    }

    pub(super) fn build_failed(&self, number: u64, command: &str, failed: FailedBuild) {
        let FailedBuild { reason, output } = failed;
        self.show(&format!("{reason}; the next change builds again"));
        self.inspector.note(&format!("{reason}\n{output}"));
        let beginning: String = output.chars().take(MAX_LOG_CHARS).collect();
        self.log(&format!("{reason}\n{beginning}"));
        let failure = BuildFailure {
            number,
            command: Some(command.to_owned()),
            error: reason,
            output: Some(output),
        };
        self.set(|states| states.failed(failure));
    }

    pub(super) fn starting(&self, number: u64) {
        self.gives_advice.store(true, Ordering::Relaxed);
        self.set(|states| states.starting(number));
    }

    /// Reports that the server of a build runs.
    pub(super) fn running(&self, number: u64) {
        let later = self.states().later_failure(number).map(|later| {
            let (later, error) = (later.number, &later.error);
            format!("the server of build {number} runs again; build {later} failed: {error}")
        });
        let text = later.as_deref().unwrap_or("the server runs");
        self.show(text);
        self.inspector.note(text);
        self.gives_advice.store(false, Ordering::Relaxed);
        self.set(|states| states.running(number));
    }

    pub(super) fn start_failed(&self, number: u64, reason: &str) {
        let error = format!("the server did not start: {reason}");
        self.show(&error);
        self.inspector.note(&error);
        self.log(&error);
        let failure = BuildFailure {
            number,
            command: None,
            error,
            output: None,
        };
        self.set(|states| states.failed(failure));
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

    /// Reports files that have changed during a build and cause no other one.
    pub(super) fn files_not_built(&self, files: &[PathBuf]) {
        let text = format!(
            "changed during the build and not built: {}; save it again if the change is yours",
            file_list(files)
        );
        self.show(&text);
        self.inspector.note(&text);
    }

    /// Reports that the server of a build has ended by itself.
    pub(super) fn stopped(&self, number: u64, reason: &str) {
        let error = format!("the server has ended and is started again: {reason}");
        self.show(&error);
        self.inspector.note(&error);
        self.set(|states| states.stopped(number, &error));
    }

    /// Reports a line of the server's standard error. Reports of the server about its exchanges are only in the page.
    pub(super) fn stderr(&self, line: &str) {
        if self.inspector.take_report(line) {
            return;
        }
        self.screen.show_line(line);
        self.inspector.stderr(line);
        if let Some(address) = listening_address(line)
            && self.gives_advice.swap(false, Ordering::Relaxed)
        {
            let text = advice(address);
            self.show(&text);
            self.inspector.note(&text);
        }
    }

    fn show(&self, text: &str) {
        self.screen.show_line(&format!("toolwire: {text}"));
    }

    /// Shows the state after an event in the page.
    fn set(&self, event: impl FnOnce(&mut BuildStates) -> Value) {
        let mut states = self.states();
        self.inspector.set_build(event(&mut states));
    }

    fn states(&self) -> MutexGuard<'_, BuildStates> {
        lock(&self.states)
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
