//! The store of tasks: work that outlives its request. Any node can load and continue a task.

mod record;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::engine::Principal;
use crate::store::StoreFuture;
pub use crate::store::tasks::record::{MAX_TASK_RECORD_BYTES, TaskOutcome, TaskRecord};

/// A stored task.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct StoredTask {
    /// The id of the task.
    pub id: String,
    /// The principal that the task belongs to. Servers use a digest of the caller's principal.
    pub principal: Principal,
    /// The record.
    pub record: Arc<TaskRecord>,
    /// The revision of the record. It grows with each replacement.
    pub revision: u64,
    /// The id of the worker whose lease lasts.
    pub owner: Option<String>,
}

impl StoredTask {
    /// Creates a stored task without an owner.
    #[must_use]
    pub fn new(
        id: impl Into<String>,
        principal: Principal,
        record: Arc<TaskRecord>,
        revision: u64,
    ) -> Self {
        Self {
            id: id.into(),
            principal,
            record,
            revision,
            owner: None,
        }
    }
}

impl fmt::Debug for StoredTask {
    /// Omits the id, because it grants access to the task.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredTask")
            .field("tool", &self.record.tool)
            .field("status", &self.record.status)
            .field("revision", &self.revision)
            .field("owner", &self.owner)
            .finish_non_exhaustive()
    }
}

/// A worker: a process, or a part of it, that runs tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Worker {
    /// An id that no other worker has.
    pub id: String,
    /// The tools whose tasks the worker can run.
    pub tools: Vec<String>,
}

impl Worker {
    /// Creates a worker.
    #[must_use]
    pub fn new<S: Into<String>>(id: impl Into<String>, tools: impl IntoIterator<Item = S>) -> Self {
        Self {
            id: id.into(),
            tools: tools.into_iter().map(Into::into).collect(),
        }
    }
}

/// The limits of a task store, as far as they are known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskStoreLimits {
    /// The maximum number of tasks. Default: not known.
    pub tasks: Option<usize>,
    /// The maximum number of unfinished tasks of one principal, except the anonymous one. Default: not known.
    pub unfinished_per_principal: Option<usize>,
    /// The maximum number of bytes of all records. Default: not known.
    pub bytes: Option<usize>,
}

impl TaskStoreLimits {
    /// Creates limits that are not known.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the maximum number of tasks.
    #[must_use]
    pub fn with_tasks(mut self, tasks: usize) -> Self {
        self.tasks = Some(tasks);
        self
    }

    /// Sets the maximum number of unfinished tasks of one principal, except the anonymous one.
    #[must_use]
    pub fn with_unfinished_per_principal(mut self, tasks: usize) -> Self {
        self.unfinished_per_principal = Some(tasks);
        self
    }

    /// Sets the maximum number of bytes of all records.
    #[must_use]
    pub fn with_bytes(mut self, bytes: usize) -> Self {
        self.bytes = Some(bytes);
        self
    }

    /// Returns the error of a call whose task the store rejects.
    pub(crate) fn rejection(&self, is_of_owner: bool) -> String {
        let limit = |limit: Option<usize>, unit: &str| limit.map(|it| format!("{it} {unit}"));
        let limits: Vec<String> = if is_of_owner {
            let unfinished = limit(self.unfinished_per_principal, "unfinished tasks");
            unfinished.into_iter().collect()
        } else {
            let limits = [limit(self.tasks, "tasks"), limit(self.bytes, "bytes")];
            limits.into_iter().flatten().collect()
        };
        let limits = match limits.as_slice() {
            [] => String::new(),
            known => format!(" (the limit is {})", known.join(" and ")),
        };
        if is_of_owner {
            format!(
                "this user has too many unfinished tasks{limits}; wait for some, or cancel them"
            )
        } else {
            format!("the server has too many tasks{limits}; try again later")
        }
    }
}

/// A store of tasks.
///
/// A task of another principal is treated exactly like an absent one. A record that expired is gone. The principals that
/// servers pass to a store are digests, so the store does not learn the names of users.
///
/// A worker that runs a task holds its lease and renews it. If the worker is lost, the lease ends, and another worker
/// can [`claim`](Self::claim) the task. Records change only by [`replace`](Self::replace), so that of two changes to
/// one revision exactly one happens.
///
/// Nodes inform each other of changes over the [`Bus`](crate::store::Bus). A store also works without a bus if
/// [`poll_interval`](Self::poll_interval) is set.
pub trait TaskStore: Send + Sync + fmt::Debug {
    /// Stores a new task under an unused id. If `lease` is set, that worker owns the task for this time. When the call
    /// returns, every node can load the task.
    ///
    /// # Errors
    /// Returns [`StoreError::OwnerFull`](crate::store::StoreError::OwnerFull) if the principal has too many unfinished
    /// tasks. The anonymous principal stands for many users and has no limit of its own. Returns
    /// [`StoreError::Full`](crate::store::StoreError::Full) if the store has too many tasks or bytes, and
    /// [`StoreError::Taken`](crate::store::StoreError::Taken) if the id is in use.
    fn create<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
        record: TaskRecord,
        lease: Option<(&'a Worker, Duration)>,
    ) -> StoreFuture<'a, StoredTask>;

    /// Returns a task.
    fn load<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
    ) -> StoreFuture<'a, Option<StoredTask>>;

    /// Returns a task without a check of its principal, for callers that the server itself trusts.
    fn find<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<StoredTask>>;

    /// Replaces a record if its revision is still `revision` and the stored record is not final. Returns the new
    /// revision, or `None` if nothing changed. A final record ends the lease.
    fn replace<'a>(
        &'a self,
        id: &'a str,
        revision: u64,
        record: TaskRecord,
    ) -> StoreFuture<'a, Option<u64>>;

    /// Returns up to `limit` tasks of the principal, in ascending order of their ids, after the id `after`.
    fn list<'a>(
        &'a self,
        principal: &'a Principal,
        after: Option<&'a str>,
        limit: usize,
    ) -> StoreFuture<'a, Vec<StoredTask>>;

    /// Gives up to `limit` tasks to a worker: tasks of its tools that are runnable and that have no owner. The oldest
    /// come first. Of concurrent claims, one gets the task.
    fn claim<'a>(
        &'a self,
        worker: &'a Worker,
        lease: Duration,
        limit: usize,
    ) -> StoreFuture<'a, Vec<StoredTask>>;

    /// Extends the lease of a worker. Returns `false` if the worker has released the task, or if another worker has
    /// claimed it.
    ///
    /// A lease that has ended is extended too, unless another worker has claimed the task since. A worker then keeps its
    /// tasks if it could not reach the store for longer than the lease.
    fn renew<'a>(
        &'a self,
        id: &'a str,
        worker: &'a Worker,
        lease: Duration,
    ) -> StoreFuture<'a, bool>;

    /// Ends the lease of the owner, so that others can claim the task at once. Returns `false` if the worker does not
    /// own the task.
    fn release<'a>(&'a self, id: &'a str, worker: &'a Worker) -> StoreFuture<'a, bool>;

    /// Removes a task. Returns `false` if it does not exist.
    fn remove<'a>(&'a self, id: &'a str) -> StoreFuture<'a, bool>;

    /// Checks that the store can be used now. The default implementation returns `Ok`, for stores in memory.
    fn check(&self) -> StoreFuture<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    /// Returns the limits of the store, which the errors of rejected calls name. Default: they are not known.
    fn limits(&self) -> TaskStoreLimits {
        TaskStoreLimits::default()
    }

    /// Returns how often a node should look for changes of other nodes: responses, cancellations, tasks to claim.
    /// Default: one second. `None` if all changes are made through this value.
    fn poll_interval(&self) -> Option<Duration> {
        Some(Duration::from_secs(1))
    }
}

/// A store that several owners use.
impl<S: TaskStore + ?Sized> TaskStore for Arc<S> {
    fn create<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
        record: TaskRecord,
        lease: Option<(&'a Worker, Duration)>,
    ) -> StoreFuture<'a, StoredTask> {
        (**self).create(id, principal, record, lease)
    }

    fn load<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
    ) -> StoreFuture<'a, Option<StoredTask>> {
        (**self).load(id, principal)
    }

    fn find<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<StoredTask>> {
        (**self).find(id)
    }

    fn replace<'a>(
        &'a self,
        id: &'a str,
        revision: u64,
        record: TaskRecord,
    ) -> StoreFuture<'a, Option<u64>> {
        (**self).replace(id, revision, record)
    }

    fn list<'a>(
        &'a self,
        principal: &'a Principal,
        after: Option<&'a str>,
        limit: usize,
    ) -> StoreFuture<'a, Vec<StoredTask>> {
        (**self).list(principal, after, limit)
    }

    fn claim<'a>(
        &'a self,
        worker: &'a Worker,
        lease: Duration,
        limit: usize,
    ) -> StoreFuture<'a, Vec<StoredTask>> {
        (**self).claim(worker, lease, limit)
    }

    fn renew<'a>(
        &'a self,
        id: &'a str,
        worker: &'a Worker,
        lease: Duration,
    ) -> StoreFuture<'a, bool> {
        (**self).renew(id, worker, lease)
    }

    fn release<'a>(&'a self, id: &'a str, worker: &'a Worker) -> StoreFuture<'a, bool> {
        (**self).release(id, worker)
    }

    fn remove<'a>(&'a self, id: &'a str) -> StoreFuture<'a, bool> {
        (**self).remove(id)
    }

    fn check(&self) -> StoreFuture<'_, ()> {
        (**self).check()
    }

    fn limits(&self) -> TaskStoreLimits {
        (**self).limits()
    }

    fn poll_interval(&self) -> Option<Duration> {
        (**self).poll_interval()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejection_names_the_known_limits() {
        let check = |limits: TaskStoreLimits, is_of_owner: bool, expected: &str| {
            assert_eq!(limits.rejection(is_of_owner), expected);
        };
        let unknown = TaskStoreLimits::new();
        let known = unknown.with_tasks(9).with_unfinished_per_principal(3);
        let of_user = "this user has too many unfinished tasks";
        let end = "; wait for some, or cancel them";
        check(unknown, true, &format!("{of_user}{end}"));
        let limit = "(the limit is 3 unfinished tasks)";
        check(known, true, &format!("{of_user} {limit}{end}"));
        let of_server = "the server has too many tasks";
        let end = "; try again later";
        check(unknown, false, &format!("{of_server}{end}"));
        let limit = "(the limit is 9 tasks)";
        check(known, false, &format!("{of_server} {limit}{end}"));
        let limit = "(the limit is 9 tasks and 70 bytes)";
        let known = known.with_bytes(70);
        check(known, false, &format!("{of_server} {limit}{end}"));
    }
}
