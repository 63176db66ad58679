//! The latest notification about each task that the client waits for: `notifications/tasks`, and in 2025-11-25
//! `notifications/tasks/status`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::Notify;
use toolwire_types::RawJson;

use crate::sync::lock;

/// The latest notification of each watched task. Notifications about other tasks are not stored.
#[derive(Debug, Default)]
pub(crate) struct TaskNotifications(Mutex<HashMap<String, WatchedTask>>);

#[derive(Debug, Default)]
struct WatchedTask {
    /// The number of guards.
    watchers: usize,
    latest: Option<RawJson>,
    stored: Arc<Notify>,
}

impl TaskNotifications {
    /// Stores the notifications of a task until the guard is dropped.
    pub(crate) fn watch(self: &Arc<Self>, id: &str) -> TaskNotificationGuard {
        let mut table = self.table();
        let task = table.entry(id.to_owned()).or_default();
        task.watchers += 1;
        TaskNotificationGuard {
            notifications: Arc::clone(self),
            id: id.to_owned(),
            stored: Arc::clone(&task.stored),
        }
    }

    /// Stores a notification of a watched task.
    pub(crate) fn store(&self, id: &str, params: impl FnOnce() -> RawJson) {
        if let Some(task) = self.table().get_mut(id) {
            task.latest = Some(params());
            task.stored.notify_one();
        }
    }

    /// Removes and returns the latest notification of a task.
    pub(crate) fn take(&self, id: &str) -> Option<RawJson> {
        self.table().get_mut(id)?.latest.take()
    }

    fn table(&self) -> MutexGuard<'_, HashMap<String, WatchedTask>> {
        lock(&self.0)
    }
}

/// Stops storing the notifications of a task when it is dropped.
#[derive(Debug)]
pub(crate) struct TaskNotificationGuard {
    notifications: Arc<TaskNotifications>,
    id: String,
    stored: Arc<Notify>,
}

impl TaskNotificationGuard {
    /// Waits until a notification is stored. Dropping the future loses nothing.
    pub(crate) async fn stored(&self) {
        self.stored.notified().await;
    }
}

impl Drop for TaskNotificationGuard {
    fn drop(&mut self) {
        let mut table = self.notifications.table();
        if let Some(task) = table.get_mut(&self.id) {
            task.watchers -= 1;
            if task.watchers == 0 {
                table.remove(&self.id);
            }
        }
    }
}
