//! Tracks server processes, so that a program can wait for them or kill them before it exits.

use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::watch;

use crate::error::Error;
use crate::sync::lock;
use crate::transport::child::process::{Force, GroupHandle};

/// The running server processes of some commands, for a program that exits without waiting for its clients.
///
/// A client ends its process in the background when its last handle, or the future that connects it, is dropped. That
/// takes up to a few seconds and needs the runtime. A program that exits at once, for example after a signal, adds a
/// tracker to its commands and uses it at the end. Clones share the list of processes.
///
/// ```no_run
/// # async fn example(interrupted: impl Future<Output = ()>) -> Result<(), toolwire::Error> {
/// use std::time::Duration;
/// use toolwire::{Client, ProcessTracker, ServerCommand};
///
/// let processes = ProcessTracker::new();
/// let command = ServerCommand::new("weather-server").with_tracker(&processes);
/// tokio::select! {
///     client = Client::spawn(command) => client?.close().await,
///     () = interrupted => {}
/// }
/// // Servers get time to exit. The remaining processes are killed.
/// let _ = tokio::time::timeout(Duration::from_secs(10), processes.ended()).await;
/// processes.kill();
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct ProcessTracker {
    tracked: Arc<Tracked>,
}

#[derive(Debug, Default)]
struct Tracked {
    processes: Mutex<Processes>,
    count: watch::Sender<usize>,
}

#[derive(Debug, Default)]
struct Processes {
    groups: Vec<GroupHandle>,
    /// The number of processes that are being started. They may run before their ids are known here.
    starting: usize,
    is_killed: bool,
}

impl Processes {
    fn len(&self) -> usize {
        self.groups.len() + self.starting
    }
}

/// The permit to start a process. The process counts as running until this is dropped.
#[derive(Debug)]
pub(super) struct StartPermit<'a> {
    tracker: &'a ProcessTracker,
}

impl StartPermit<'_> {
    /// Adds the started process. Kills it if all processes were killed in the meantime.
    pub(super) fn add(self, group: GroupHandle) {
        self.tracker.change(|processes| {
            if processes.is_killed {
                group.force(Force::Kill);
            }
            processes.groups.push(group);
        });
    }
}

impl Drop for StartPermit<'_> {
    fn drop(&mut self) {
        self.tracker.change(|processes| processes.starting -= 1);
    }
}

impl ProcessTracker {
    /// Creates a tracker without processes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of server processes that have not ended, with those that are being started.
    #[must_use]
    pub fn running(&self) -> usize {
        self.processes().len()
    }

    /// Waits until all server processes and their process groups have ended. It does not end them: dropping or closing
    /// their clients does.
    pub async fn ended(&self) {
        let mut count = self.tracked.count.subscribe();
        // The sender exists as long as this tracker.
        let _ = count.wait_for(|count| *count == 0).await;
    }

    /// Kills every server process at once, with its process group. Commands with this tracker start no further processes.
    pub fn kill(&self) {
        let mut processes = self.processes();
        processes.is_killed = true;
        for group in &processes.groups {
            group.force(Force::Kill);
        }
    }

    /// Permits the start of a process.
    ///
    /// # Errors
    /// Returns an error after [`kill`](Self::kill).
    pub(super) fn start(&self) -> Result<StartPermit<'_>, Error> {
        let is_killed = self.change(|processes| {
            if !processes.is_killed {
                processes.starting += 1;
            }
            processes.is_killed
        });
        if is_killed {
            return Err(Error::closed());
        }
        Ok(StartPermit { tracker: self })
    }

    pub(super) fn remove(&self, group: &GroupHandle) {
        self.change(|processes| processes.groups.retain(|known| !known.is_same(group)));
    }

    fn change<T>(&self, change: impl FnOnce(&mut Processes) -> T) -> T {
        let mut processes = self.processes();
        let changed = change(&mut processes);
        self.tracked.count.send_replace(processes.len());
        changed
    }

    fn processes(&self) -> MutexGuard<'_, Processes> {
        lock(&self.tracked.processes)
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn process_that_is_being_started_has_not_ended() {
        let tracker = ProcessTracker::new();
        let permit = tracker.start().unwrap();
        assert_eq!(tracker.running(), 1);
        let mut ended = pin!(tracker.ended());
        let early = tokio::time::timeout(Duration::ZERO, &mut ended).await;
        assert!(early.is_err());
        drop(permit);
        ended.await;
        assert_eq!(tracker.running(), 0);
    }

    #[test]
    fn no_process_starts_after_all_were_killed() {
        let tracker = ProcessTracker::new();
        tracker.kill();
        assert!(tracker.start().is_err());
        assert_eq!(tracker.running(), 0);
    }
}
