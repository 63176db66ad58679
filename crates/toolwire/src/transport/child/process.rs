//! A started process and the processes that it starts.
//!
//! On Unix the server leads its own process group, so that a wrapper (`npx`, `sh -c`) and the server behind it end
//! together. On Windows `taskkill` ends the process tree. Processes whose wrapper has already exited cannot be found
//! there.

use std::io;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};

use crate::error::Error;
use crate::sync::lock;
use crate::transport::child::command::ServerCommand;
use crate::transport::child::tracker::ProcessTracker;

/// The interval for checking whether a group is empty. The system does not report the end of processes that are not
/// children of this process.
const GROUP_POLL_INTERVAL: Duration = Duration::from_millis(10);

/// How processes are ended that do not exit on their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Force {
    /// SIGTERM, which lets a process clean up. Windows has no such signal for processes without a window.
    Terminate,
    /// SIGKILL.
    Kill,
}

/// A server process. If it is dropped before it has ended, it is killed and reaped.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    group: Group,
    handle: GroupHandle,
    tracker: Option<ProcessTracker>,
    ended: bool,
}

/// The pipes of a started process.
#[derive(Debug)]
pub(super) struct Pipes {
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
    /// `None` if the server inherits the stderr of this process.
    pub(super) stderr: Option<ChildStderr>,
}

impl Process {
    pub(super) fn start(command: &ServerCommand) -> Result<(Self, Pipes), Error> {
        let mut process = command.to_process();
        process.kill_on_drop(true);
        #[cfg(unix)]
        process.process_group(0);
        // A process that is being started is tracked, too: it may run before `spawn` returns.
        let permit = command.tracker.as_ref().map(ProcessTracker::start);
        let permit = permit.transpose()?;
        let mut child = process
            .spawn()
            .map_err(|error| cannot_start(command, error))?;
        let pipes = Pipes {
            stdin: child.stdin.take().expect("the command asks for a pipe"),
            stdout: child.stdout.take().expect("the command asks for a pipe"),
            stderr: child.stderr.take(),
        };
        let group = Group(
            child
                .id()
                .expect("a process that has not been reaped has an id"),
        );
        let handle = GroupHandle(Arc::new(Mutex::new(Some(group))));
        if let Some(permit) = permit {
            permit.add(handle.clone());
        }
        let started = Self {
            child,
            group,
            handle,
            tracker: command.tracker.clone(),
            ended: false,
        };
        Ok((started, pipes))
    }

    /// Returns a handle that signals the group without owning the process.
    pub(super) fn handle(&self) -> GroupHandle {
        self.handle.clone()
    }

    /// Waits for the end of the process and reaps it. Returns `None` if other code in this process reaped it.
    pub(super) async fn wait(&mut self) -> Option<ExitStatus> {
        self.child.wait().await.ok()
    }

    /// Ends every process of the group.
    pub(super) fn force(&mut self, force: Force) {
        self.group.force(force);
        if cfg!(not(unix)) || force == Force::Kill {
            // Fails only if the process has already ended.
            let _ = self.child.start_kill();
        }
    }

    /// Waits until the group is empty. Call it after the process itself has ended.
    pub(super) async fn wait_for_group(&self) {
        while self.group.is_alive() {
            tokio::time::sleep(GROUP_POLL_INTERVAL).await;
        }
    }

    /// Marks the process as ended, so that dropping it neither kills nor reaps it.
    pub(super) fn set_ended(mut self) {
        self.ended = true;
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // From now on the id may belong to another group.
        self.handle.retire();
        if !self.ended {
            self.kill_and_reap();
        }
        if let Some(tracker) = &self.tracker {
            tracker.remove(&self.handle);
        }
    }
}

impl Process {
    fn kill_and_reap(&self) {
        // The runtime shuts down, so no task can wait. Only killing at once leaves no process behind.
        self.group.force(Force::Kill);
        if self.child.id().is_some() {
            self.group.reap_in_background();
        }
    }
}

/// Signals a process group from outside of the task that owns the process. Does nothing after the group has ended.
#[derive(Debug, Clone)]
pub(super) struct GroupHandle(Arc<Mutex<Option<Group>>>);

impl GroupHandle {
    /// Ends every process of the group.
    pub(super) fn force(&self, force: Force) {
        // Signalled under the lock, so that the group cannot be retired in between.
        if let Some(group) = *self.group() {
            group.force(force);
        }
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    fn retire(&self) {
        self.group().take();
    }

    fn group(&self) -> MutexGuard<'_, Option<Group>> {
        lock(&self.0)
    }
}

/// The server and the processes that it started, by the id of the server.
#[derive(Debug, Clone, Copy)]
struct Group(u32);

#[cfg(unix)]
impl Group {
    fn id(self) -> Option<rustix::process::Pid> {
        rustix::process::Pid::from_raw(self.0.cast_signed())
    }

    fn force(self, force: Force) {
        use rustix::process::Signal;

        let signal = match force {
            Force::Terminate => Signal::TERM,
            Force::Kill => Signal::KILL,
        };
        if let Some(id) = self.id() {
            // The group may already be empty.
            let _ = rustix::process::kill_process_group(id, signal);
        }
    }

    fn is_alive(self) -> bool {
        self.id()
            .is_some_and(|id| rustix::process::test_kill_process_group(id).is_ok())
    }

    /// Reaps the process in a thread, because tokio reaps dropped processes only while one of its runtimes runs.
    fn reap_in_background(self) {
        let Some(id) = self.id() else { return };
        let reaping = std::thread::Builder::new().name("toolwire-reap".to_owned());
        let reaped = reaping.spawn(move || {
            rustix::process::waitpid(Some(id), rustix::process::WaitOptions::empty())
        });
        if let Err(error) = reaped {
            tracing::warn!(%error, "a killed server process could not be reaped");
        }
    }
}

#[cfg(not(unix))]
impl Group {
    fn force(self, _force: Force) {
        // `taskkill` starts at the server, which therefore must still run. It fails if the server has already ended.
        let _ = std::process::Command::new("taskkill")
            .args(["/T", "/F", "/PID", &self.0.to_string()])
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .status();
    }

    fn is_alive(self) -> bool {
        false
    }

    fn reap_in_background(self) {}
}

fn cannot_start(command: &ServerCommand, error: io::Error) -> Error {
    let program = command.program().to_string_lossy();
    let reason = match (error.kind(), command.directory()) {
        (_, Some(directory)) if !directory.is_dir() => format!(
            "its working directory `{}` does not exist; create it or correct `current_dir`",
            directory.display()
        ),
        (io::ErrorKind::NotFound, _) if program.contains(char::is_whitespace) => {
            "there is no such program; pass arguments with `ServerCommand::arg`, not in the program name"
                .to_owned()
        }
        (io::ErrorKind::NotFound, _) if cfg!(windows) => {
            "there is no such program; install it, use its full path, or add its extension, as in `npx.cmd`"
                .to_owned()
        }
        (io::ErrorKind::NotFound, _) => {
            "there is no such program; install it, add its directory to PATH, or use its full path".to_owned()
        }
        (io::ErrorKind::PermissionDenied, _) => {
            "it is not executable; check its permissions and that it is not a directory".to_owned()
        }
        _ => "the system cannot execute it".to_owned(),
    };
    Error::io(format!("cannot start {command}: {reason}"), error)
}

/// Describes how a process ended, as the end of a sentence.
pub(super) fn describe(status: Option<ExitStatus>) -> String {
    let Some(status) = status else {
        return "ended".to_owned();
    };
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        let name = match signal {
            1 => "SIGHUP",
            2 => "SIGINT",
            4 => "SIGILL",
            6 => "SIGABRT",
            9 => "SIGKILL",
            11 => "SIGSEGV",
            13 => "SIGPIPE",
            15 => "SIGTERM",
            _ => return format!("was ended by signal {signal}"),
        };
        return format!("was ended by {name}");
    }
    match status.code() {
        Some(code) => format!("ended with exit code {code}"),
        None => "ended".to_owned(),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[tokio::test]
    async fn process_that_starts_while_all_are_killed_is_killed() {
        let tracker = ProcessTracker::new();
        let permit = tracker.start().unwrap();
        let mut sleeping = tokio::process::Command::new("sleep");
        let mut sleeping = sleeping.arg("600").process_group(0).spawn().unwrap();
        tracker.kill();
        let group = Group(sleeping.id().unwrap());
        permit.add(GroupHandle(Arc::new(Mutex::new(Some(group)))));
        let status = sleeping.wait().await.unwrap();
        assert_eq!(describe(Some(status)), "was ended by SIGKILL");
    }
}
