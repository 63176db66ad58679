//! The store of tasks.
//!
//! Each change of a task is one script, which also changes the sorted sets that [`Keys`] lists. All keys of tasks are on
//! one primary of a cluster.

mod claim;
mod format;
mod scripts;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use redis::{ScriptInvocation, Value, cmd};
use toolwire::Principal;
use toolwire::store::{
    MAX_TASK_RECORD_BYTES, StoreError, StoredTask, TaskRecord, TaskStore, TaskStoreLimits, Worker,
};

use crate::connection::{Connection, Repeat, milliseconds};
use crate::keys::{self, Keys};
use crate::random_id::random_id;
use crate::{RedisOptions, StoreFuture};
use format::{FORMAT, ids_in_members, stored_task};
use scripts::TaskScripts;

/// The maximum number of expired tasks that a full store removes in one call.
const REMOVED_WHEN_FULL: usize = 1000;

/// The maximum number of tasks that one command lists.
const LIST_PAGE: usize = 1000;

/// A store of tasks that all nodes share ([`Redis::tasks`](crate::Redis::tasks)). Its tasks survive the processes of the
/// service. They survive a restart of the engine if the engine is persistent (`appendonly yes`).
///
/// A waiting task with a small record takes about 1 KiB in the engine.
#[derive(Clone)]
pub struct RedisTaskStore {
    connection: Connection,
    keys: Keys,
    scripts: Arc<TaskScripts>,
    max_tasks: usize,
    max_unfinished: usize,
}

impl RedisTaskStore {
    pub(crate) fn new(connection: Connection, keys: Keys, options: &RedisOptions) -> Self {
        Self {
            connection,
            keys,
            scripts: Arc::new(TaskScripts::new()),
            max_tasks: options.tasks,
            max_unfinished: options.unfinished_tasks_per_principal,
        }
    }

    /// Adds the keys that all scripts of one task have.
    fn add_keys(&self, invocation: &mut ScriptInvocation<'_>, id: &str, tool: &str) {
        invocation
            .key(self.keys.task(id))
            .key(self.keys.of_tasks("owned"))
            .key(self.keys.of_tasks("unfinished"))
            .key(self.keys.of_tasks("expiry"))
            .key(self.keys.waiting_tasks(tool))
            .key(self.keys.leased_tasks(tool));
    }

    async fn send(&self, invocation: &ScriptInvocation<'_>) -> Result<Value, StoreError> {
        self.connection.send(invocation, Repeat::Harmless).await
    }

    async fn create_once(
        &self,
        id: &str,
        principal: &Principal,
        record: &TaskRecord,
        lease: Option<(&Worker, Duration)>,
    ) -> Result<StoredTask, StoreError> {
        let max_unfinished = match principal.as_str() {
            Some(_) => self.max_unfinished.to_string(),
            None => String::new(),
        };
        let (worker, duration) = match lease {
            Some((worker, duration)) => (worker.id.as_str(), milliseconds(duration)),
            None => ("", 0),
        };
        let mut invocation = self.scripts.create.prepare_invoke();
        self.add_keys(&mut invocation, id, &record.tool);
        invocation
            .arg(random_id()?)
            .arg(FORMAT)
            .arg(id)
            .arg(keys::owner(principal))
            .arg(principal.as_str().unwrap_or_default())
            .arg(format::json_of(record)?)
            .arg(record.runnable)
            .arg(record.is_final())
            .arg(record.created_at_ms)
            .arg(format::expiry_of(record))
            .arg(worker)
            .arg(duration)
            .arg(self.max_tasks)
            .arg(max_unfinished)
            .arg(&record.tool);
        match self.send(&invocation).await? {
            Value::BulkString(reason) => Err(match reason.as_slice() {
                b"owner full" => StoreError::OwnerFull,
                b"full" => StoreError::Full,
                _ => StoreError::Taken,
            }),
            value => stored_task(value)?
                .ok_or_else(|| StoreError::unavailable("the engine did not return the new task")),
        }
    }

    async fn load_of(&self, id: &str, owner: &str) -> Result<Option<StoredTask>, StoreError> {
        let mut invocation = self.scripts.load.prepare_invoke();
        invocation.key(self.keys.task(id)).arg(owner);
        stored_task(self.send(&invocation).await?)
    }

    /// Renews the lease of a worker, or ends it.
    async fn set_lease(
        &self,
        id: &str,
        worker: &Worker,
        duration: Option<Duration>,
    ) -> Result<bool, StoreError> {
        let Some(tool) = self.tool_of(id).await? else {
            return Ok(false);
        };
        let duration = duration.map(milliseconds);
        let duration = duration.map_or_else(String::new, |duration| duration.to_string());
        let mut invocation = self.scripts.set_lease.prepare_invoke();
        self.add_keys(&mut invocation, id, &tool);
        invocation.arg(&worker.id).arg(duration);
        let repeat = Repeat::Harmless;
        self.connection.send(&invocation, repeat).await
    }

    /// Removes a task: always, or only if it has expired. Returns `true` if it existed and had not expired.
    async fn remove_if(&self, id: &str, condition: &str) -> Result<bool, StoreError> {
        let tool = self.tool_of(id).await?.unwrap_or_default();
        let mut invocation = self.scripts.remove.prepare_invoke();
        self.add_keys(&mut invocation, id, &tool);
        invocation.arg(id).arg(condition);
        // A repetition would find no task.
        self.connection.send(&invocation, Repeat::Harmful).await
    }

    /// Returns the tool of a task, which never changes. It is part of the keys that scripts declare.
    async fn tool_of(&self, id: &str) -> Result<Option<String>, StoreError> {
        let mut command = cmd("HGET");
        command.arg(self.keys.task(id)).arg("tool");
        self.connection.send(&command, Repeat::Harmless).await
    }
}

impl fmt::Debug for RedisTaskStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisTaskStore")
            .field("keys", &self.keys)
            .finish_non_exhaustive()
    }
}

impl TaskStore for RedisTaskStore {
    fn create<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
        record: TaskRecord,
        lease: Option<(&'a Worker, Duration)>,
    ) -> StoreFuture<'a, StoredTask> {
        Box::pin(async move {
            if record.memory_bytes() > MAX_TASK_RECORD_BYTES {
                return Err(StoreError::Full);
            }
            match self.create_once(id, principal, &record, lease).await {
                Err(StoreError::OwnerFull | StoreError::Full) => {
                    // Expired tasks do not count.
                    self.remove_expired(REMOVED_WHEN_FULL).await?;
                    self.create_once(id, principal, &record, lease).await
                }
                created => created,
            }
        })
    }

    fn load<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
    ) -> StoreFuture<'a, Option<StoredTask>> {
        Box::pin(async move { self.load_of(id, &keys::owner(principal)).await })
    }

    fn find<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<StoredTask>> {
        Box::pin(self.load_of(id, ""))
    }

    fn replace<'a>(
        &'a self,
        id: &'a str,
        revision: u64,
        record: TaskRecord,
    ) -> StoreFuture<'a, Option<u64>> {
        Box::pin(async move {
            if record.memory_bytes() > MAX_TASK_RECORD_BYTES {
                return Err(StoreError::Full);
            }
            let mut invocation = self.scripts.replace.prepare_invoke();
            self.add_keys(&mut invocation, id, &record.tool);
            invocation
                .arg(random_id()?)
                .arg(revision)
                .arg(FORMAT)
                .arg(format::json_of(&record)?)
                .arg(record.runnable)
                .arg(record.is_final())
                .arg(format::expiry_of(&record));
            let repeat = Repeat::Harmless;
            self.connection.send(&invocation, repeat).await
        })
    }

    fn list<'a>(
        &'a self,
        principal: &'a Principal,
        after: Option<&'a str>,
        limit: usize,
    ) -> StoreFuture<'a, Vec<StoredTask>> {
        Box::pin(async move {
            let owner = keys::owner(principal);
            let mut tasks = Vec::new();
            let mut last = after.unwrap_or_default().to_owned();
            while tasks.len() < limit {
                let missing = (limit - tasks.len()).min(LIST_PAGE);
                let ids = self.ids_of(&owner, &last, missing).await?;
                let Some(id) = ids.last() else { break };
                last = id.clone();
                for id in &ids {
                    // Some may have expired, or may have been removed since.
                    tasks.extend(self.load_of(id, &owner).await?);
                }
            }
            Ok(tasks)
        })
    }

    fn claim<'a>(
        &'a self,
        worker: &'a Worker,
        lease: Duration,
        limit: usize,
    ) -> StoreFuture<'a, Vec<StoredTask>> {
        Box::pin(self.claim_tasks(worker, lease, limit))
    }

    fn renew<'a>(
        &'a self,
        id: &'a str,
        worker: &'a Worker,
        lease: Duration,
    ) -> StoreFuture<'a, bool> {
        Box::pin(self.set_lease(id, worker, Some(lease)))
    }

    fn release<'a>(&'a self, id: &'a str, worker: &'a Worker) -> StoreFuture<'a, bool> {
        Box::pin(self.set_lease(id, worker, None))
    }

    fn remove<'a>(&'a self, id: &'a str) -> StoreFuture<'a, bool> {
        Box::pin(self.remove_if(id, "always"))
    }

    fn limits(&self) -> TaskStoreLimits {
        TaskStoreLimits::new()
            .with_tasks(self.max_tasks)
            .with_unfinished_per_principal(self.max_unfinished)
    }
}

impl RedisTaskStore {
    /// Returns up to `limit` ids of tasks of an owner, in ascending order, after the id `after`.
    async fn ids_of(
        &self,
        owner: &str,
        after: &str,
        limit: usize,
    ) -> Result<Vec<String>, StoreError> {
        let mut command = cmd("ZRANGE");
        command
            .arg(self.keys.of_tasks("owned"))
            .arg(format!("({owner}:{after}"))
            // The next character after the colon.
            .arg(format!("({owner};"))
            .arg("BYLEX")
            .arg("LIMIT")
            .arg(0)
            .arg(limit);
        let members = self.connection.send(&command, Repeat::Harmless).await?;
        Ok(ids_in_members(owner, members))
    }
}
