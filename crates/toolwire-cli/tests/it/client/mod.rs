//! `toolwire` as a client: both sides are real processes.

mod arguments;
mod configuration;
mod environment;
mod exits;
pub(crate) mod fake_http;
mod hidden;
mod interrupting;
mod listening;
mod output;
mod questions;
mod signals;

use std::process::Stdio;

use serde_json::Value;
use tokio::process::Command;

use crate::process::{quiet, toolwire, within};

/// The outcome of a command.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    /// Returns standard output after checking that the command succeeded.
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.out
    }

    /// Returns standard output as JSON after checking that it is one line and that standard error is empty.
    pub(crate) fn json(self) -> Value {
        assert_eq!((self.code, self.err.as_str()), (Some(0), ""), "{self:?}");
        assert_eq!(self.out.matches('\n').count(), 1, "{self:?}");
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Returns standard error after checking the exit code.
    pub(crate) fn failed(self, code: i32) -> String {
        assert_eq!(self.code, Some(code), "{self:?}");
        self.err
    }
}

pub(crate) async fn run_command(mut command: Command) -> Ran {
    command.stdin(Stdio::null()).kill_on_drop(true);
    quiet(&mut command);
    let output = within(command.output())
        .await
        .expect("the program under test starts");
    Ran {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).expect("the output is UTF-8"),
        err: String::from_utf8(output.stderr).expect("the output is UTF-8"),
    }
}

/// Runs `toolwire` with these arguments.
pub(crate) async fn run(arguments: &[&str]) -> Ran {
    run_command(toolwire(arguments)).await
}

/// Runs `toolwire` with these arguments and the demo server as a child process.
async fn run_demo(arguments: &[&str]) -> Ran {
    run_command(demo_command(arguments)).await
}

fn demo_command(arguments: &[&str]) -> Command {
    let mut command = toolwire(arguments);
    command.args(["--", env!("CARGO_BIN_EXE_toolwire"), "demo", "--stdio"]);
    command
}

/// A temporary directory, removed when it is dropped.
pub(crate) struct Scratch(pub(crate) std::path::PathBuf);

impl Scratch {
    pub(crate) fn new(name: &str) -> Self {
        let unique = format!("toolwire-{name}-{}", std::process::id());
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

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
