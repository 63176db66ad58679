//! The tasks whose handlers run in this process, and the permits for more of them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tokio::time::Instant;

use crate::engine::{Cancellation, TransportContext};
use crate::sync::lock;

/// The tasks whose handlers run in this process.
#[derive(Debug, Default)]
pub(crate) struct RunningTasks(Mutex<RunningTable>);

#[derive(Debug, Default)]
struct RunningTable {
    tasks: HashMap<String, Arc<TaskRegistration>>,
    /// The number of tasks that are about to run.
    reserved: usize,
}

/// A task whose handler runs in this process.
#[derive(Debug)]
pub(crate) struct TaskRegistration {
    pub(crate) id: String,
    /// Set to stop the handler because the server shuts down.
    pub(crate) shutdown: Cancellation,
    /// Set to end the handler at its next or current input request, because the server shuts down or too many
    /// handlers wait.
    pub(crate) park: Cancellation,
    /// Set before the task is given back, so that this process can claim it again.
    pub(crate) is_handed_over: AtomicBool,
    /// The channel to the client that requested the task (core design).
    pub(crate) channel: Option<Arc<dyn TransportContext>>,
    /// When the lease was created or renewed.
    renewed_at: Mutex<Instant>,
}

impl TaskRegistration {
    pub(crate) fn new(id: String, channel: Option<Arc<dyn TransportContext>>) -> Self {
        Self {
            id,
            shutdown: Cancellation::default(),
            park: Cancellation::default(),
            is_handed_over: AtomicBool::default(),
            channel,
            renewed_at: Mutex::new(Instant::now()),
        }
    }

    pub(crate) fn renewed_at(&self) -> Instant {
        *lock(&self.renewed_at)
    }

    pub(crate) fn set_renewed_at(&self, time: Instant) {
        *lock(&self.renewed_at) = time;
    }
}

impl RunningTasks {
    /// Returns a permit for one more task, unless there are `limit` of them.
    pub(crate) fn reserve(self: &Arc<Self>, limit: usize) -> Option<RunPermit> {
        let mut registry = lock(&self.0);
        if registry.tasks.len() + registry.reserved >= limit {
            return None;
        }
        registry.reserved += 1;
        Some(RunPermit(Arc::clone(self)))
    }

    /// Registers a task for as long as the returned value lives. The permit, if there is one, is used up.
    pub(crate) fn add(
        self: &Arc<Self>,
        task: &Arc<TaskRegistration>,
        permit: Option<RunPermit>,
    ) -> RegistrationGuard {
        let replaced = lock(&self.0)
            .tasks
            .insert(task.id.clone(), Arc::clone(task));
        // Dropped after the lock is released.
        drop((replaced, permit));
        RegistrationGuard {
            tasks: Arc::clone(self),
            task: Arc::clone(task),
        }
    }

    pub(crate) fn get(&self, id: &str) -> Option<Arc<TaskRegistration>> {
        lock(&self.0).tasks.get(id).cloned()
    }

    pub(crate) fn all(&self) -> Vec<Arc<TaskRegistration>> {
        lock(&self.0).tasks.values().cloned().collect()
    }

    /// Returns the number of tasks that run or are about to run.
    pub(crate) fn count(&self) -> usize {
        let registry = lock(&self.0);
        registry.tasks.len() + registry.reserved
    }

    /// Returns `true` if a handler of this process runs the task, or its outcome is being written.
    pub(crate) fn is_running(&self, id: &str) -> bool {
        let task = self.get(id);
        task.is_some_and(|task| !task.is_handed_over.load(Ordering::Acquire))
    }
}

/// The permit to run one more task. It ends when this value is dropped.
#[derive(Debug)]
pub(crate) struct RunPermit(Arc<RunningTasks>);

impl Drop for RunPermit {
    fn drop(&mut self) {
        lock(&self.0.0).reserved -= 1;
    }
}

/// The registration of a running task, which ends when this value is dropped.
pub(crate) struct RegistrationGuard {
    tasks: Arc<RunningTasks>,
    task: Arc<TaskRegistration>,
}

impl Drop for RegistrationGuard {
    fn drop(&mut self) {
        let mut registry = lock(&self.tasks.0);
        // If the task was claimed again, the registration belongs to another run.
        let registered = registry.tasks.get(&self.task.id);
        if registered.is_some_and(|task| Arc::ptr_eq(task, &self.task)) {
            registry.tasks.remove(&self.task.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(id: &str) -> Arc<TaskRegistration> {
        Arc::new(TaskRegistration::new(id.to_owned(), None))
    }

    #[test]
    fn run_that_ends_late_does_not_remove_the_registration_of_the_next_run() {
        let (tasks, first, second) = (Arc::<RunningTasks>::default(), task("a"), task("a"));
        let first_guard = tasks.add(&first, None);
        first.is_handed_over.store(true, Ordering::Release);
        let second_guard = tasks.add(&second, None);
        drop(first_guard);
        assert!(tasks.is_running("a"));
        drop(second_guard);
        assert_eq!((tasks.is_running("a"), tasks.count()), (false, 0));
    }

    #[test]
    fn reserved_tasks_count() {
        let tasks = Arc::<RunningTasks>::default();
        let permits = [tasks.reserve(2), tasks.reserve(2)];
        assert!(permits.iter().all(Option::is_some));
        assert!(tasks.reserve(2).is_none());
        let [first, second] = permits;
        drop(first);
        let guard = tasks.add(&task("a"), second);
        assert_eq!(tasks.count(), 1, "the permit is used up");
        assert!(tasks.reserve(1).is_none());
        drop(guard);
        assert!(tasks.reserve(1).is_some());
    }
}
