//! The latest notification about each task that the client waits for: `notifications/tasks`, and in 2025-11-25
//! `notifications/tasks/status`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::Notify;
use toolwire_types::RawJson;

use crate::sync::lock;

/// The watchers of each task. Notifications about other tasks are not stored.
#[derive(Debug, Default)]
pub(crate) struct TaskNotifications(Mutex<HashMap<String, Vec<Arc<Watcher>>>>);

/// The latest notification for one guard.
#[derive(Debug, Default)]
struct Watcher {
    latest: Mutex<Option<Arc<RawJson>>>,
    stored: Notify,
}

impl TaskNotifications {
    /// Stores the notifications of a task until the guard is dropped. Each guard of a task gets every notification.
    pub(crate) fn watch(self: &Arc<Self>, id: &str) -> TaskNotificationGuard {
        let watcher = Arc::new(Watcher::default());
        let mut table = self.table();
        let watchers = table.entry(id.to_owned()).or_default();
        watchers.push(Arc::clone(&watcher));
        TaskNotificationGuard {
            notifications: Arc::clone(self),
            id: id.to_owned(),
            watcher,
        }
    }

    /// Stores a notification of a watched task.
    pub(crate) fn store(&self, id: &str, params: impl FnOnce() -> RawJson) {
        // The parameters may be large, so they are copied once, and without the lock of the table.
        let Some(watchers) = self.table().get(id).cloned() else {
            return;
        };
        let params = Arc::new(params());
        for watcher in watchers {
            *lock(&watcher.latest) = Some(Arc::clone(&params));
            watcher.stored.notify_one();
        }
    }

    fn table(&self) -> MutexGuard<'_, HashMap<String, Vec<Arc<Watcher>>>> {
        lock(&self.0)
    }
}

/// Stops storing the notifications of a task when it is dropped.
#[derive(Debug)]
pub(crate) struct TaskNotificationGuard {
    notifications: Arc<TaskNotifications>,
    id: String,
    watcher: Arc<Watcher>,
}

impl TaskNotificationGuard {
    /// Waits until a notification is stored. Dropping the future loses nothing.
    pub(crate) async fn stored(&self) {
        self.watcher.stored.notified().await;
    }

    /// Removes and returns the latest notification.
    pub(crate) fn take(&self) -> Option<Arc<RawJson>> {
        lock(&self.watcher.latest).take()
    }
}

impl Drop for TaskNotificationGuard {
    fn drop(&mut self) {
        let mut table = self.notifications.table();
        if let Some(watchers) = table.get_mut(&self.id) {
            watchers.retain(|watcher| !Arc::ptr_eq(watcher, &self.watcher));
            if watchers.is_empty() {
                table.remove(&self.id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn status(number: u32) -> RawJson {
        RawJson::from_value(&json!({ "number": number }))
    }

    #[tokio::test]
    async fn every_guard_of_a_task_gets_the_latest_notification() {
        let notifications = Arc::new(TaskNotifications::default());
        let guards = [notifications.watch("a"), notifications.watch("a")];
        let other = notifications.watch("b");
        notifications.store("a", || status(1));
        notifications.store("a", || status(2));
        for guard in &guards {
            guard.stored().await;
            assert_eq!(guard.take().as_deref(), Some(&status(2)));
            assert_eq!(guard.take(), None);
        }
        assert_eq!(other.take(), None);
    }

    #[test]
    fn guards_share_one_copy_that_is_made_without_the_table() {
        let notifications = Arc::new(TaskNotifications::default());
        let guards = [notifications.watch("a"), notifications.watch("a")];
        notifications.store("a", || {
            assert!(notifications.0.try_lock().is_ok());
            status(1)
        });
        let [first, second] = guards.map(|guard| guard.take().unwrap());
        assert!(Arc::ptr_eq(&first, &second));
    }

    #[test]
    fn tasks_without_a_guard_are_not_stored() {
        let notifications = Arc::new(TaskNotifications::default());
        notifications.store("a", || unreachable!("no guard"));
        let guards = [notifications.watch("a"), notifications.watch("a")];
        let [first, second] = guards;
        drop(first);
        notifications.store("a", || status(1));
        assert_eq!(second.take().as_deref(), Some(&status(1)));
        drop(second);
        assert!(notifications.table().is_empty());
    }
}
