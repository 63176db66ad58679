//! Tracks server processes, so that a program can wait for them or kill them before it exits.

use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::watch;

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
    groups: Mutex<Vec<GroupHandle>>,
    count: watch::Sender<usize>,
}

impl ProcessTracker {
    /// Creates a tracker without processes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of server processes that have not ended.
    #[must_use]
    pub fn running(&self) -> usize {
        self.groups().len()
    }

    /// Waits until all server processes and their process groups have ended. It does not end them: dropping or closing
    /// their clients does.
    pub async fn ended(&self) {
        let mut count = self.tracked.count.subscribe();
        // The sender exists as long as this tracker.
        let _ = count.wait_for(|count| *count == 0).await;
    }

    /// Kills every server process at once, with its process group.
    pub fn kill(&self) {
        for group in &*self.groups() {
            group.force(Force::Kill);
        }
    }

    pub(super) fn add(&self, group: GroupHandle) {
        self.change(|groups| groups.push(group));
    }

    pub(super) fn remove(&self, group: &GroupHandle) {
        self.change(|groups| groups.retain(|known| !known.is_same(group)));
    }

    fn change(&self, change: impl FnOnce(&mut Vec<GroupHandle>)) {
        let mut groups = self.groups();
        change(&mut groups);
        self.tracked.count.send_replace(groups.len());
    }

    fn groups(&self) -> MutexGuard<'_, Vec<GroupHandle>> {
        lock(&self.tracked.groups)
    }
}
