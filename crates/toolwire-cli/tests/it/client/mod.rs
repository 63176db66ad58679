//! `toolwire` as a client: both sides are real processes.

mod arguments;
mod configuration;
#[cfg(unix)]
mod doctor;
mod domain_hosts;
mod domains;
mod environment;
#[cfg(feature = "events")]
mod events;
mod exit_codes;
pub(crate) mod fake_http;
mod help;
mod hidden_characters;
mod hints;
pub(crate) mod host_files;
mod input_requests;
mod inputs;
mod interrupts;
mod legacy_servers;
mod listen;
mod missing_features;
mod output;
mod printed_requests;
mod signals;
mod skills;
pub(crate) mod small_server;
mod task_server;
mod tasks;
pub(crate) mod terminal;
pub(crate) mod tls;
mod views;
mod waiting;

use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use tokio::process::Command;

use crate::process::{remove_log_variables, toolwire, within};

/// The outcome of a command.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl CommandOutput {
    /// Returns standard output after checking that the command succeeded.
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.stdout
    }

    /// Returns standard output as JSON after checking that it is one line and that standard error is empty.
    pub(crate) fn json(self) -> Value {
        assert_eq!((self.code, self.stderr.as_str()), (Some(0), ""), "{self:?}");
        assert_eq!(self.stdout.matches('\n').count(), 1, "{self:?}");
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Returns standard error after checking the exit code.
    pub(crate) fn failed(self, code: i32) -> String {
        assert_eq!(self.code, Some(code), "{self:?}");
        self.stderr
    }
}

pub(crate) async fn run_command(mut command: Command) -> CommandOutput {
    command.stdin(Stdio::null()).kill_on_drop(true);
    remove_log_variables(&mut command);
    let output = within(command.output())
        .await
        .expect("the program under test starts");
    CommandOutput {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("the output is UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("the output is UTF-8"),
    }
}

/// Runs `toolwire` with these arguments.
pub(crate) async fn run(arguments: &[&str]) -> CommandOutput {
    run_command(toolwire(arguments)).await
}

/// Runs `toolwire` with these arguments and the demo server as a child process.
async fn run_demo(arguments: &[&str]) -> CommandOutput {
    run_command(demo_command(arguments)).await
}

fn demo_command(arguments: &[&str]) -> Command {
    let mut command = toolwire(arguments);
    command.args(["--", env!("CARGO_BIN_EXE_toolwire"), "demo", "--stdio"]);
    command
}

/// A temporary directory, removed when it is dropped.
pub(crate) struct TempDirectory(pub(crate) std::path::PathBuf);

impl TempDirectory {
    pub(crate) fn new(name: &str) -> Self {
        // Several tests may use the same name at the same time.
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let unique = format!("toolwire-{name}-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(unique);
        std::fs::create_dir_all(&path).expect("the temporary directory is writable");
        Self(path)
    }

    pub(crate) fn write(&self, name: &str, content: &str) -> String {
        let path = self.0.join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).expect("the directory is writable");
        }
        std::fs::write(&path, content).expect("the directory is writable");
        path.display().to_string()
    }
}

impl Drop for TempDirectory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
