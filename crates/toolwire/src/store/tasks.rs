//! The store of tasks: work that outlives its request. Any node can load and continue a task.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use toolwire_types::tasks::TaskStatus;
use toolwire_types::{ErrorObject, ProtocolVersion, RawJson};

use crate::engine::{Principal, json_bytes};
use crate::store::StoreFuture;

/// The maximum size of a stored record in bytes: the largest arguments, journal and outcome, of which the first two may
/// be sealed, and the rest.
pub const MAX_TASK_RECORD_BYTES: usize = 12 * 1024 * 1024;

/// The stored state of one task. It contains everything that a node needs to report the task, and to run its handler
/// again.
///
/// A store reads only [`tool`](Self::tool), [`is_final`](Self::is_final), [`runnable`](Self::runnable) and
/// [`expires_at_ms`](Self::expires_at_ms). It keeps everything else unchanged. Times are milliseconds since 1970-01-01
/// UTC.
///
/// Nodes of different versions may share a store. So fields of newer versions are retained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TaskRecord {
    /// The name of the tool.
    pub tool: String,
    /// The status.
    pub status: TaskStatus,
    /// Whether the handler should run: the task is queued or running, or a response has arrived. `false` while an input
    /// request waits for its response, and after the end.
    pub runnable: bool,
    /// Whether any worker may start the handler: it has not started yet, or it waits at an input request. `false` while
    /// it works.
    pub restartable: bool,
    /// How often the handler was started again after its worker was lost.
    #[serde(default)]
    pub restarts: u32,
    /// A text about the current status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_message: Option<String>,
    /// When the task was created.
    pub created_at_ms: u64,
    /// When the status or its message changed.
    pub updated_at_ms: u64,
    /// How long the task exists, counted from its creation. `None` means without limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// How often clients should poll.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poll_interval_ms: Option<u64>,
    /// When the store forgets the task: some time after the end of its life. `None` means never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at_ms: Option<u64>,
    /// The protocol version of the call.
    pub version: ProtocolVersion,
    /// The call: its arguments, the client's capabilities and the caller. Sealed if the server has keys.
    pub call: RawJson,
    /// The responses and the results of effects so far. Sealed if the server has keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journal: Option<RawJson>,
    /// The input requests without a response, by the keys that clients see: the JSON text of
    /// [`InputRequests`](toolwire_types::InputRequests), because it is read with every poll.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_requests: Option<RawJson>,
    /// The outcome of a task that ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<TaskOutcome>,
    /// The fields of newer versions.
    #[serde(flatten)]
    newer: Map<String, Value>,
}

/// The outcome of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum TaskOutcome {
    /// The call has a result, as the version of the call has it.
    Completed {
        /// The result.
        result: RawJson,
        /// Whether the tool reported an error in it.
        is_error: bool,
    },
    /// The error of the call.
    Error(ErrorObject),
}

impl TaskRecord {
    /// Creates the record of a task that has not started. It never expires.
    #[must_use]
    pub fn new(
        tool: impl Into<String>,
        version: ProtocolVersion,
        call: RawJson,
        created_at_ms: u64,
    ) -> Self {
        Self {
            tool: tool.into(),
            status: TaskStatus::Working,
            runnable: true,
            restartable: true,
            restarts: 0,
            status_message: None,
            created_at_ms,
            updated_at_ms: created_at_ms,
            ttl_ms: None,
            poll_interval_ms: None,
            expires_at_ms: None,
            version,
            call,
            journal: None,
            input_requests: None,
            outcome: None,
            newer: Map::new(),
        }
    }

    /// Returns `true` if the status never changes again. A store never replaces such a record.
    #[must_use]
    pub fn is_final(&self) -> bool {
        self.status.is_terminal()
    }

    /// Returns `true` if the store has forgotten the task at this time.
    #[must_use]
    pub fn is_expired(&self, now_ms: u64) -> bool {
        self.expires_at_ms.is_some_and(|expiry| expiry <= now_ms)
    }

    /// Returns the approximate size of this record in memory, in bytes, for stores that limit it.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let json = |json: &RawJson| json.get().len();
        let outcome = match &self.outcome {
            Some(TaskOutcome::Completed { result, .. }) => json(result),
            Some(TaskOutcome::Error(error)) => json_bytes(error),
            None => 0,
        };
        size_of::<Self>()
            + self.tool.len()
            + self.status_message.as_ref().map_or(0, String::len)
            + json(&self.call)
            + self.journal.as_ref().map_or(0, json)
            + self.input_requests.as_ref().map_or(0, json)
            + outcome
            + if self.newer.is_empty() {
                0
            } else {
                json_bytes(&self.newer)
            }
    }
}

/// A stored task.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct StoredTask {
    /// The id of the task.
    pub id: String,
    /// The principal that the task belongs to.
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

/// A store of tasks.
///
/// A task of another principal is treated exactly like an absent one. A record that expired is gone.
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
    /// tasks (the anonymous principal stands for many users and has no limit of its own),
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

    /// Returns how often a node should look for changes of other nodes: responses, cancellations, tasks to claim.
    /// Default: one second. `None` if all changes are made through this value.
    fn poll_interval(&self) -> Option<Duration> {
        Some(Duration::from_secs(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_text_counts_with_its_length() {
        let call = RawJson::empty_object();
        let mut record = TaskRecord::new("render", ProtocolVersion::LATEST, call, 0);
        let before = record.memory_bytes();
        // As a tree, this result would take much more memory than its text.
        let result = format!("[{}{{}}]", r#"{"a":"b"},"#.repeat(400_000));
        let length = result.len();
        record.outcome = Some(TaskOutcome::Completed {
            result: RawJson::from_string(result).unwrap(),
            is_error: false,
        });
        assert_eq!(record.memory_bytes(), before + length);
        assert!(record.memory_bytes() <= MAX_TASK_RECORD_BYTES);
    }

    /// A record as version 0.1.0 writes it.
    const RECORD_0_1_0: &str = "{\"tool\":\"bake\",\"status\":\"completed\",\"runnable\":false,\
        \"restartable\":false,\"restarts\":1,\"statusMessage\":\"baked\",\"createdAtMs\":1,\"updatedAtMs\":2,\
        \"ttlMs\":60000,\"version\":\"2026-07-28\",\"call\":{\"layers\":3.50},\"journal\":[1],\
        \"outcome\":{\"completed\":{\"result\":{\"content\":[]},\"is_error\":false}}}";

    fn parse(text: &str) -> TaskRecord {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn records_of_earlier_versions_are_read_and_written_unchanged() {
        let record = parse(RECORD_0_1_0);
        assert!(record.is_final());
        assert_eq!(serde_json::to_string(&record).unwrap(), RECORD_0_1_0);
    }

    #[test]
    fn fields_of_newer_versions_survive_a_change() {
        let newer = RECORD_0_1_0.replace("\"ttlMs\"", "\"quota\":{\"calls\":[7]},\"ttlMs\"");
        let mut record = parse(&newer);
        let bytes = record.memory_bytes() - parse(RECORD_0_1_0).memory_bytes();
        assert!(bytes >= r#"{"quota":{"calls":[7]}}"#.len(), "{bytes}");
        record.status_message = Some("eaten".to_owned());
        let written = serde_json::to_string(&record).unwrap();
        assert!(written.contains(r#""quota":{"calls":[7]}"#), "{written}");
        assert!(written.contains("eaten"), "{written}");
    }
}
