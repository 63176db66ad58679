//! The process of a build, with the processes that it starts.
//!
//! On Unix the build leads a process group of its own, so that a compiler behind `cargo` or `npm` ends with it. On Windows
//! `taskkill` ends the process tree. Processes that a build leaves in the background when it ends by itself are not ended:
//! they may be servers of a compiler that later builds use.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};

use tokio::process::{Child, ChildStderr, ChildStdout, Command};

/// A running build. If it is dropped before it has ended, it is killed with all processes of its group.
#[derive(Debug)]
pub(super) struct BuildProcess(Child);

impl BuildProcess {
    /// Starts a build in a directory.
    pub(super) fn start(
        program: &OsStr,
        arguments: &[OsString],
        directory: &Path,
    ) -> io::Result<Self> {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(directory)
            // The output is not shown in a terminal only.
            .env("CARGO_TERM_COLOR", "never")
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        command.spawn().map(Self)
    }

    /// Returns the pipes of its output. They can be taken once.
    pub(super) fn take_output(&mut self) -> (Option<ChildStdout>, Option<ChildStderr>) {
        (self.0.stdout.take(), self.0.stderr.take())
    }

    /// Waits for the end of the build itself.
    pub(super) async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.0.wait().await
    }
}

impl Drop for BuildProcess {
    fn drop(&mut self) {
        // A process that has ended has no id.
        if let Some(id) = self.0.id() {
            kill_group(id);
        }
    }
}

#[cfg(unix)]
fn kill_group(id: u32) {
    use rustix::process::{Pid, Signal, kill_process_group};

    if let Some(group) = Pid::from_raw(id.cast_signed()) {
        // The group may already be empty.
        let _ = kill_process_group(group, Signal::KILL);
    }
}

#[cfg(not(unix))]
fn kill_group(id: u32) {
    // It fails if the process has already ended.
    let _ = std::process::Command::new("taskkill")
        .args(["/T", "/F", "/PID", &id.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
}
