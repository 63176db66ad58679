//! The stored record of a task.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use toolwire_types::tasks::TaskStatus;
use toolwire_types::{ErrorObject, ProtocolVersion, RawJson};

use crate::engine::json_bytes;

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
