//! Records: what they contain, and what can be replayed from them.

mod against;
mod changed_records;
mod recorded_commands;
mod secrets;
mod serving;
mod test_code;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use tokio::process::Command;

use crate::client::{CommandOutput, TempDirectory, run_command};
use crate::process::{toolwire, within};

const PROGRAM: &str = env!("CARGO_BIN_EXE_toolwire");

/// Requests with structured content, progress, input, a tool error, and an error of the protocol.
const CALLS: [&[&str]; 5] = [
    &["call", "add", "a=1", "b=2"],
    &["call", "countdown", "from=3", "delay_ms=1"],
    &[
        "call",
        "approve",
        "question=Sure?",
        "--answer",
        "confirmed=yes",
    ],
    &["call", "fail", "message=no"],
    &["read", "demo://no-such-resource"],
];

/// A request that becomes a task. A task has no form in the other era.
const TASK_CALL: &[&str] = &["call", "bake", "layers=2", "delay_ms=80"];

/// What `call add a=1 b=2` prints.
const SUM: &str = "{\n  \"sum\": 3\n}\n";

/// A directory with a record.
pub(crate) struct RecordFile {
    directory: TempDirectory,
    /// What the recorded command printed, and its exit code.
    output: Option<CommandOutput>,
}

impl RecordFile {
    pub(crate) fn new(name: &str) -> Self {
        Self {
            directory: TempDirectory::new(name),
            output: None,
        }
    }

    /// Writes a record that a command returned.
    pub(crate) fn with_text(name: &str, text: &str) -> Self {
        let record = Self::new(name);
        std::fs::write(record.path(), text).expect("the directory is writable");
        record
    }

    fn path(&self) -> PathBuf {
        self.directory.0.join("a.mcplog")
    }

    pub(crate) fn name(&self) -> String {
        self.path().display().to_string()
    }

    fn text(&self) -> String {
        std::fs::read_to_string(self.path()).expect("the record was written")
    }

    /// Returns the text of the record of a running command as soon as it contains a part.
    async fn text_with(&self, part: &str) -> String {
        let reading = async {
            loop {
                let text = self.text();
                if text.contains(part) {
                    return text;
                }
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        };
        within(reading).await
    }

    /// Replaces the lines of the record.
    fn change(&self, change: impl Fn(&str) -> Option<String>) {
        let text = self.text();
        let lines = text.lines().filter_map(change);
        let changed: String = lines.map(|line| line + "\n").collect();
        std::fs::write(self.path(), changed).expect("the record is writable");
    }
}

/// Returns the demo as a command for the end of a command line.
fn demo() -> [&'static str; 4] {
    ["--", PROGRAM, "demo", "--stdio"]
}

/// The records of the demo that were compared with it.
static COMPARED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Records a command of a client, and checks that the record replays without a difference. `server` is an address or a
/// command. Equal records of the demo are compared once.
async fn record_call(call: &[&str], era: &str, server: &[&str]) -> RecordFile {
    let record = record_unchecked(call, era, server).await;
    let case = format!("{call:?} {era}");
    let is_compared = || {
        let mut compared = COMPARED.lock().unwrap_or_else(PoisonError::into_inner);
        server == demo() && !compared.insert(case.clone())
    };
    if !is_compared() {
        check_same(&record, server, &case).await;
    }
    record
}

/// Records a command like [`record_call`], for tests that compare the record themselves.
async fn record_unchecked(call: &[&str], era: &str, server: &[&str]) -> RecordFile {
    let mut record = RecordFile::new("record");
    let mut command = client_command(call, era, server);
    command.args(["--record", &record.name()]);
    add_command(&mut command, server);
    let output = run_command(command).await;
    assert!(matches!(output.code, Some(0 | 1 | 4)), "{output:?}");
    record.output = Some(output);
    record
}

/// Returns a command of a client, without the command after `--`.
fn client_command(call: &[&str], era: &str, server: &[&str]) -> Command {
    let mut command = toolwire(&call[..1]);
    if let [url] = server {
        command.arg(url);
    }
    command.args(&call[1..]).args(["--era", era]);
    command
}

fn add_command(command: &mut Command, server: &[&str]) {
    if server.len() > 1 {
        command.args(server);
    }
}

/// Compares a server with a record. `server` is an address or a command.
pub(crate) async fn against(record: &RecordFile, server: &[&str], more: &[&str]) -> CommandOutput {
    let mut command = toolwire(&["replay", &record.name(), "--against"]);
    if let [url] = server {
        command.arg(url);
    }
    command.args(more);
    add_command(&mut command, server);
    run_command(command).await
}

/// Checks that a server sends what is in the record: something is compared, and nothing differs or is skipped.
pub(crate) async fn check_same(record: &RecordFile, server: &[&str], case: &str) {
    let output = against(record, server, &["--yes"]).await;
    assert_eq!(output.code, Some(0), "{case}: {output:?}");
    let last = output.stdout.lines().last().unwrap_or_default();
    let is_same = last.ends_with(" same, 0 different, 0 skipped") && !last.starts_with('0');
    assert!(is_same, "{case}: {output:?}");
}
