//! The servers that a relay has started, each in a process group of its own.

use std::path::Path;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;

use crate::client::TempDirectory;
use crate::process::{Era, within};
use crate::proxy_kills::poll;

/// Starts the demo, with its process group in one file, the messages that it gets in another one, and its own process in
/// a third one.
const SERVER: &str = r#"directory="$1"; shift; echo $$ >> "$directory/groups"; tee -a "$directory/messages" |
sh -c 'echo $$ >> "$1/demos"; shift; exec "$@"' sh "$directory" "$@""#;

/// The servers that a relay has started.
pub(super) struct Servers {
    directory: TempDirectory,
    era: Era,
}

impl Servers {
    /// Creates a directory for servers of one era.
    pub(super) fn new(era: Era) -> Self {
        let directory = TempDirectory::new("kills");
        Self { directory, era }
    }

    /// Returns the command that starts a server.
    pub(super) fn command(&self) -> Vec<&str> {
        let directory = self.directory.0.to_str().expect("the path is text");
        let program = env!("CARGO_BIN_EXE_toolwire");
        let versions = match self.era {
            Era::Modern => "--protocol-version=2026-07-28",
            Era::Legacy => "--protocol-version=2025-11-25",
        };
        let shell = ["sh", "-c", SERVER, "sh", directory];
        let server = [program, "demo", "--stdio", versions];
        [&shell[..], &server].concat()
    }

    /// Writes a file beside those of the servers.
    pub(super) fn write(&self, name: &str, text: &str) -> String {
        self.directory.write(name, text)
    }

    /// Returns the process groups of all servers, also of those that have ended.
    fn groups(&self) -> Vec<i32> {
        self.processes("groups")
    }

    fn processes(&self, file: &str) -> Vec<i32> {
        let text = std::fs::read_to_string(self.directory.0.join(file)).unwrap_or_default();
        // The last line may be incomplete.
        let lines = text.split_inclusive('\n');
        let lines = lines.filter_map(|line| line.strip_suffix('\n'));
        lines.map(|id| id.parse().expect("a process id")).collect()
    }

    fn messages(&self) -> String {
        std::fs::read_to_string(self.directory.0.join("messages")).unwrap_or_default()
    }

    /// Returns the number of calls that the servers got, without further rounds and without those of `add`.
    pub(super) fn calls(&self) -> usize {
        let text = self.messages();
        let messages = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        let calls = messages.filter(|message: &Value| {
            let params = &message["params"];
            let is_call = message["method"] == "tools/call" && params["name"] != "add";
            is_call && params.get("requestState").is_none()
        });
        calls.count()
    }

    /// Waits until the servers got a message with this text.
    pub(super) async fn expect_message(&self, part: &str) {
        within(poll(|| self.messages().contains(part))).await;
    }

    /// Sends a signal to all servers that run.
    pub(super) fn signal(&self, signal: Signal) {
        for group in self.groups() {
            let group = Pid::from_raw(group).expect("a process id is not zero");
            // The group of an earlier server may be gone.
            let _ = kill_process_group(group, signal);
        }
    }

    /// Stops all demos. They get further messages, but do not read them.
    pub(super) async fn stop_demos(&self) {
        let demos = self.processes("demos");
        for demo in &demos {
            let demo = Pid::from_raw(*demo).expect("a process id is not zero");
            // An earlier demo may be gone.
            let _ = kill_process(demo, Signal::STOP);
        }
        // On a busy machine, other threads run until the thread that receives the signal has a processor.
        within(poll(|| demos.iter().all(|demo| is_stopped(*demo)))).await;
    }

    pub(super) async fn expect_one(&self) {
        within(poll(|| !self.groups().is_empty())).await;
    }

    /// Waits until no process of a server runs.
    pub(super) async fn expect_none(&self) {
        within(poll(|| !self.groups().into_iter().any(has_running_process))).await;
    }
}

/// Returns `true` if a process of a group has not exited. A zombie process has exited.
fn has_running_process(group: i32) -> bool {
    let processes = std::fs::read_dir("/proc").expect("the system has /proc");
    processes.flatten().any(|process| {
        let status = status(&process.path());
        status.is_some_and(|(state, of_process)| state != "Z" && of_process == group.to_string())
    })
}

/// Returns `true` if no thread of a process runs: each is stopped or has exited.
fn is_stopped(process: i32) -> bool {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{process}/task")) else {
        return true;
    };
    threads.flatten().all(|thread| {
        let status = status(&thread.path());
        status.is_none_or(|(state, _)| matches!(&*state, "T" | "Z" | "X"))
    })
}

/// Returns the state and the process group of a process or a thread, given its directory in `/proc`.
fn status(directory: &Path) -> Option<(String, String)> {
    let stat = std::fs::read_to_string(directory.join("stat")).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ').map(str::to_owned);
    Some((fields.next()?, fields.nth(1)?))
}
