//! All tasks of a store in memory, and the rules of each call. Times are parameters.
//!
//! Lock order: a shard, then the index. The entries of the index for a task change only while its shard is locked.

use std::array;
use std::collections::HashMap;
use std::hash::BuildHasher as _;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::time::Instant;

use crate::engine::{BuildNameHasher, Principal, deadline_after};
use crate::store::memory::tasks::MemoryTaskLimits;
use crate::store::memory::tasks::index::{IndexedFacts, IndexedWork, MemoryTaskIndex};
use crate::store::{MAX_TASK_RECORD_BYTES, StoreError, StoredTask, TaskRecord, Worker};
use crate::sync::lock;

/// The number of shards. More of them than a machine has cores have little effect, because locks are short.
const SHARDS: usize = 16;

/// The maximum number of expired tasks that one call removes. It is higher than the number that one call adds, and low
/// enough that no call is slow.
const REMOVED_PER_CALL: usize = 16;

/// The time of a call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Now {
    /// Milliseconds since 1970-01-01 UTC, for the expiry of records.
    pub(super) wall_ms: u64,
    /// For leases.
    pub(super) monotonic: Instant,
}

/// The tasks of one shard, by id. The server creates random ids.
type TaskShard = HashMap<Arc<str>, MemoryTask, BuildNameHasher>;

#[derive(Debug)]
pub(super) struct TaskTable {
    limits: MemoryTaskLimits,
    /// Selects the shard of an id.
    hasher: BuildNameHasher,
    shards: [Mutex<TaskShard>; SHARDS],
    index: Mutex<MemoryTaskIndex>,
}

#[derive(Debug)]
struct MemoryTask {
    id: Arc<str>,
    principal: Principal,
    record: Arc<TaskRecord>,
    revision: u64,
    lease: Option<MemoryLease>,
    /// What the index knows about the task.
    facts: IndexedFacts,
}

#[derive(Debug)]
struct MemoryLease {
    worker: String,
    end: Instant,
    /// `true` if the task is listed as waiting, because the lease has ended. Its worker can still renew it.
    has_ended: bool,
}

impl Default for TaskTable {
    fn default() -> Self {
        Self::new(MemoryTaskLimits::default())
    }
}

impl TaskTable {
    pub(super) fn new(limits: MemoryTaskLimits) -> Self {
        Self {
            limits,
            hasher: BuildNameHasher::default(),
            shards: array::from_fn(|_| Mutex::default()),
            index: Mutex::default(),
        }
    }

    pub(super) fn limits(&self) -> MemoryTaskLimits {
        self.limits
    }

    pub(super) fn create(
        &self,
        id: &str,
        principal: &Principal,
        record: TaskRecord,
        lease: Option<(&Worker, Duration)>,
        now: Now,
    ) -> Result<StoredTask, StoreError> {
        let bytes = record_bytes(&record)?;
        let is_unfinished = !record.is_final();
        self.remove_expired(REMOVED_PER_CALL, now);
        if self.check_space(principal, bytes, is_unfinished).is_err() {
            // Expired tasks do not count.
            self.remove_expired(usize::MAX, now);
        }
        let mut shard = self.shard(id);
        if let Some(task) = shard.get(id) {
            if !task.record.is_expired(now.wall_ms) {
                return Err(StoreError::Taken);
            }
            self.forget(&mut shard, id);
        }
        let lease = lease.filter(|_| is_unfinished);
        let mut task = MemoryTask {
            id: id.into(),
            principal: principal.clone(),
            record: Arc::new(record),
            revision: 1,
            lease: lease.map(|(worker, duration)| MemoryLease::new(worker, duration, now)),
            facts: IndexedFacts::default(),
        };
        task.facts = task.current_facts(bytes);
        {
            let mut index = lock(&self.index);
            self.check_space_in(&index, principal, bytes, is_unfinished)?;
            index.insert(&task.id, principal, &task.facts);
        }
        let stored = task.stored(now);
        shard.insert(Arc::clone(&task.id), task);
        Ok(stored)
    }

    pub(super) fn load(&self, id: &str, principal: &Principal, now: Now) -> Option<StoredTask> {
        let shard = self.shard(id);
        let task = shard.get(id).filter(|task| task.principal == *principal)?;
        (!task.record.is_expired(now.wall_ms)).then(|| task.stored(now))
    }

    pub(super) fn find(&self, id: &str, now: Now) -> Option<StoredTask> {
        let shard = self.shard(id);
        let task = shard.get(id)?;
        (!task.record.is_expired(now.wall_ms)).then(|| task.stored(now))
    }

    pub(super) fn replace(
        &self,
        id: &str,
        revision: u64,
        record: TaskRecord,
        now: Now,
    ) -> Result<Option<u64>, StoreError> {
        let bytes = record_bytes(&record)?;
        let total = lock(&self.index).bytes;
        if total.saturating_add(bytes) > self.limits.bytes {
            // Expired tasks do not count.
            self.remove_expired(usize::MAX, now);
        }
        let mut shard = self.shard(id);
        let Some(task) = shard.get_mut(id) else {
            return Ok(None);
        };
        if task.revision != revision
            || task.record.is_final()
            || task.record.is_expired(now.wall_ms)
        {
            return Ok(None);
        }
        let mut index = lock(&self.index);
        let others = index.bytes - task.facts.bytes;
        // A record that shrinks is always accepted.
        if bytes > task.facts.bytes && others.saturating_add(bytes) > self.limits.bytes {
            return Err(StoreError::Full);
        }
        if record.is_final() {
            task.lease = None;
        }
        task.record = Arc::new(record);
        task.revision += 1;
        task.update(&mut index, bytes);
        Ok(Some(task.revision))
    }

    pub(super) fn list(
        &self,
        principal: &Principal,
        after: Option<&str>,
        limit: usize,
        now: Now,
    ) -> Vec<StoredTask> {
        self.remove_expired(REMOVED_PER_CALL, now);
        let mut tasks = Vec::new();
        let mut last: Option<Arc<str>> = after.map(Arc::from);
        while tasks.len() < limit {
            let missing = limit - tasks.len();
            let ids = lock(&self.index).ids_after(principal, last.as_deref(), missing);
            let Some(id) = ids.last() else { break };
            last = Some(Arc::clone(id));
            // Some may have expired, or may have been removed since.
            tasks.extend(ids.iter().filter_map(|id| self.load(id, principal, now)));
        }
        tasks
    }

    pub(super) fn claim(
        &self,
        worker: &Worker,
        lease: Duration,
        limit: usize,
        now: Now,
    ) -> Vec<StoredTask> {
        self.remove_expired(REMOVED_PER_CALL, now);
        self.end_leases(now);
        let mut claimed = Vec::new();
        while claimed.len() < limit {
            let oldest = lock(&self.index).oldest_waiting(&worker.tools);
            let Some(id) = oldest else { break };
            let mut shard = self.shard(&id);
            // If another call changed the task since, the index has another oldest task now.
            let Some(task) = shard.get_mut(&*id) else {
                continue;
            };
            if task.record.is_expired(now.wall_ms) {
                self.forget(&mut shard, &id);
            } else if matches!(task.facts.work, IndexedWork::Waiting(..)) {
                let taken = MemoryLease::new(worker, lease, now);
                self.change_lease(task, Some(taken));
                claimed.push(task.stored(now));
            }
        }
        claimed
    }

    /// Renews the lease of a worker for a duration, or ends it. The lease may have ended, unless another worker has
    /// claimed the task since.
    pub(super) fn set_lease(
        &self,
        id: &str,
        worker: &Worker,
        duration: Option<Duration>,
        now: Now,
    ) -> bool {
        let mut shard = self.shard(id);
        let owned = shard.get_mut(id).filter(|task| {
            let lease = task.lease.as_ref();
            !task.record.is_expired(now.wall_ms)
                && lease.is_some_and(|lease| lease.worker == worker.id)
        });
        let Some(task) = owned else { return false };
        let lease = duration.map(|duration| MemoryLease::new(worker, duration, now));
        self.change_lease(task, lease);
        true
    }

    pub(super) fn remove(&self, id: &str, now: Now) -> bool {
        let mut shard = self.shard(id);
        let removed = self.forget(&mut shard, id);
        removed.is_some_and(|task| !task.record.is_expired(now.wall_ms))
    }

    fn shard(&self, id: &str) -> MutexGuard<'_, TaskShard> {
        let hash = self.hasher.hash_one(id);
        lock(&self.shards[hash as usize % SHARDS])
    }

    fn check_space(
        &self,
        principal: &Principal,
        bytes: usize,
        is_unfinished: bool,
    ) -> Result<(), StoreError> {
        self.check_space_in(&lock(&self.index), principal, bytes, is_unfinished)
    }

    /// Checks whether the limits permit one more task.
    fn check_space_in(
        &self,
        index: &MemoryTaskIndex,
        principal: &Principal,
        bytes: usize,
        is_unfinished: bool,
    ) -> Result<(), StoreError> {
        let has_own_limit = is_unfinished && principal.as_str().is_some();
        if has_own_limit && index.unfinished(principal) >= self.limits.unfinished_per_principal {
            return Err(StoreError::OwnerFull);
        }
        if index.tasks >= self.limits.tasks || index.bytes.saturating_add(bytes) > self.limits.bytes
        {
            return Err(StoreError::Full);
        }
        Ok(())
    }

    /// Sets the lease of a task whose shard is locked.
    fn change_lease(&self, task: &mut MemoryTask, lease: Option<MemoryLease>) {
        task.lease = lease;
        task.update(&mut lock(&self.index), task.facts.bytes);
    }

    /// Removes a task from its locked shard and from the index.
    fn forget(&self, shard: &mut TaskShard, id: &str) -> Option<MemoryTask> {
        let task = shard.remove(id)?;
        lock(&self.index).remove(&task.id, &task.principal, &task.facts);
        Some(task)
    }

    fn remove_expired(&self, limit: usize, now: Now) {
        let expired = lock(&self.index).expired(now.wall_ms, limit);
        for id in expired {
            let mut shard = self.shard(&id);
            // The id may be in use again.
            let is_expired = |task: &MemoryTask| task.record.is_expired(now.wall_ms);
            if shard.get(&*id).is_some_and(is_expired) {
                self.forget(&mut shard, &id);
            }
        }
    }

    /// Lists the tasks whose leases have ended as waiting for a worker.
    fn end_leases(&self, now: Now) {
        loop {
            let ended = lock(&self.index).ended_lease(now.monotonic);
            let Some(id) = ended else { return };
            // If another call changed the task since, the index does not have its old lease any more.
            if let Some(task) = self.shard(&id).get_mut(&*id)
                && task.owner(now).is_none()
                && let Some(lease) = &mut task.lease
            {
                lease.has_ended = true;
                task.update(&mut lock(&self.index), task.facts.bytes);
            }
        }
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        let has_no_tasks = self.shards.iter().all(|shard| lock(shard).is_empty());
        has_no_tasks && lock(&self.index).is_empty()
    }
}

impl MemoryTask {
    /// Returns the id of the worker whose lease lasts.
    fn owner(&self, now: Now) -> Option<&str> {
        let lease = self.lease.as_ref()?;
        (lease.end > now.monotonic).then_some(lease.worker.as_str())
    }

    /// Brings the index up to date after the task changed.
    fn update(&mut self, index: &mut MemoryTaskIndex, bytes: usize) {
        let facts = self.current_facts(bytes);
        if facts != self.facts {
            index.change(&self.id, &self.principal, &self.facts, &facts);
            self.facts = facts;
        }
    }

    fn current_facts(&self, bytes: usize) -> IndexedFacts {
        let record = &self.record;
        let work = match &self.lease {
            _ if record.is_final() || !record.runnable => IndexedWork::None,
            Some(lease) if !lease.has_ended => IndexedWork::Leased(lease.end),
            _ => IndexedWork::Waiting(record.tool.clone(), record.created_at_ms),
        };
        IndexedFacts {
            bytes,
            is_unfinished: !record.is_final(),
            expires_at_ms: record.expires_at_ms,
            work,
        }
    }

    fn stored(&self, now: Now) -> StoredTask {
        let mut stored = StoredTask::new(
            &*self.id,
            self.principal.clone(),
            Arc::clone(&self.record),
            self.revision,
        );
        stored.owner = self.owner(now).map(str::to_owned);
        stored
    }
}

impl MemoryLease {
    fn new(worker: &Worker, duration: Duration, now: Now) -> Self {
        Self {
            worker: worker.id.clone(),
            end: deadline_after(now.monotonic, duration),
            has_ended: false,
        }
    }
}

/// Returns the size of a record, or an error if it is larger than any record may be.
fn record_bytes(record: &TaskRecord) -> Result<usize, StoreError> {
    let bytes = record.memory_bytes();
    if bytes > MAX_TASK_RECORD_BYTES {
        return Err(StoreError::Full);
    }
    Ok(bytes)
}
