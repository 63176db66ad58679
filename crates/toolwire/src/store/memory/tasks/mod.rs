//! A task store in memory.
//!
//! Tasks are in several shards, each with its own lock, so that calls for different tasks rarely wait for each other.
//! One index beside the shards has the totals, the ids of each principal and the tasks that a worker can claim. A call
//! locks the index only for a few lookups, and `load` does not lock it.

mod index;
mod table;

use std::fmt;
use std::time::Duration;

use tokio::time::Instant;

use crate::engine::Principal;
use crate::store::memory::tasks::table::{Now, TaskTable};
use crate::store::{
    StoreFuture, StoredTask, TaskRecord, TaskStore, TaskStoreLimits, Worker, now_ms,
};

/// The limits of a [`MemoryTaskStore`], and of a [`FileTaskStore`](crate::store::FileTaskStore).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryTaskLimits {
    /// The maximum number of tasks. Default: 16,384.
    pub tasks: usize,
    /// The maximum number of unfinished tasks of one principal. Default: 64. It does not apply to the anonymous
    /// principal, because all clients without authorization share it.
    pub unfinished_per_principal: usize,
    /// The maximum number of bytes of all records, as [`TaskRecord::memory_bytes`] counts them. Default: 256 MiB.
    pub bytes: usize,
}

impl Default for MemoryTaskLimits {
    fn default() -> Self {
        Self {
            tasks: 16_384,
            unfinished_per_principal: 64,
            bytes: 256 * 1024 * 1024,
        }
    }
}

impl MemoryTaskLimits {
    /// Returns these limits as those of a store.
    pub(crate) fn of_store(self) -> TaskStoreLimits {
        TaskStoreLimits::new()
            .with_tasks(self.tasks)
            .with_unfinished_per_principal(self.unfinished_per_principal)
            .with_bytes(self.bytes)
    }

    /// Sets the maximum number of tasks.
    #[must_use]
    pub fn with_tasks(mut self, tasks: usize) -> Self {
        self.tasks = tasks;
        self
    }

    /// Sets the maximum number of unfinished tasks of one principal, except the anonymous one.
    #[must_use]
    pub fn with_unfinished_per_principal(mut self, tasks: usize) -> Self {
        self.unfinished_per_principal = tasks;
        self
    }

    /// Sets the maximum number of bytes of all records.
    #[must_use]
    pub fn with_bytes(mut self, bytes: usize) -> Self {
        self.bytes = bytes;
        self
    }
}

/// A task store in the memory of this process. Its tasks end with the process.
#[derive(Default)]
pub struct MemoryTaskStore {
    table: TaskTable,
}

impl MemoryTaskStore {
    /// Creates an empty store.
    #[must_use]
    pub fn new(limits: MemoryTaskLimits) -> Self {
        Self {
            table: TaskTable::new(limits),
        }
    }
}

impl fmt::Debug for MemoryTaskStore {
    /// Omits task ids, because an id grants access to its task.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryTaskStore")
            .field("limits", &self.table.limits())
            .finish_non_exhaustive()
    }
}

impl TaskStore for MemoryTaskStore {
    fn create<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
        record: TaskRecord,
        lease: Option<(&'a Worker, Duration)>,
    ) -> StoreFuture<'a, StoredTask> {
        Box::pin(async move {
            self.table
                .create(id, principal, record, lease, read_clocks())
        })
    }

    fn load<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
    ) -> StoreFuture<'a, Option<StoredTask>> {
        Box::pin(async move { Ok(self.table.load(id, principal, read_clocks())) })
    }

    fn find<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<StoredTask>> {
        Box::pin(async move { Ok(self.table.find(id, read_clocks())) })
    }

    fn replace<'a>(
        &'a self,
        id: &'a str,
        revision: u64,
        record: TaskRecord,
    ) -> StoreFuture<'a, Option<u64>> {
        Box::pin(async move { self.table.replace(id, revision, record, read_clocks()) })
    }

    fn list<'a>(
        &'a self,
        principal: &'a Principal,
        after: Option<&'a str>,
        limit: usize,
    ) -> StoreFuture<'a, Vec<StoredTask>> {
        Box::pin(async move { Ok(self.table.list(principal, after, limit, read_clocks())) })
    }

    fn claim<'a>(
        &'a self,
        worker: &'a Worker,
        lease: Duration,
        limit: usize,
    ) -> StoreFuture<'a, Vec<StoredTask>> {
        Box::pin(async move { Ok(self.table.claim(worker, lease, limit, read_clocks())) })
    }

    fn renew<'a>(
        &'a self,
        id: &'a str,
        worker: &'a Worker,
        lease: Duration,
    ) -> StoreFuture<'a, bool> {
        Box::pin(async move { Ok(self.table.set_lease(id, worker, Some(lease), read_clocks())) })
    }

    fn release<'a>(&'a self, id: &'a str, worker: &'a Worker) -> StoreFuture<'a, bool> {
        Box::pin(async move { Ok(self.table.set_lease(id, worker, None, read_clocks())) })
    }

    fn remove<'a>(&'a self, id: &'a str) -> StoreFuture<'a, bool> {
        Box::pin(async move { Ok(self.table.remove(id, read_clocks())) })
    }

    fn limits(&self) -> TaskStoreLimits {
        self.table.limits().of_store()
    }

    fn poll_interval(&self) -> Option<Duration> {
        None
    }
}

/// Reads both clocks: records expire by the wall clock, which their times are for, and leases end by the monotonic one,
/// which nothing sets back.
fn read_clocks() -> Now {
    Now {
        wall_ms: now_ms(),
        monotonic: Instant::now(),
    }
}

#[cfg(test)]
mod tests;
