//! How a task ends, and what its record then contains.

use toolwire_proto::requests::is_overloaded;
use toolwire_proto::task_rules;
use toolwire_types::tasks::TaskStatus;
use toolwire_types::{ErrorObject, RawJson};

use crate::engine::since_epoch;
use crate::store::{TaskOutcome, TaskRecord};

/// How a task ends.
#[derive(Debug, Clone)]
pub(crate) enum Ending {
    Result { result: RawJson, is_error: bool },
    Failed(ErrorObject),
    Cancelled,
}

impl Ending {
    /// Returns the ending of a task whose life is over.
    pub(crate) fn expired() -> Self {
        Self::Failed(ErrorObject::internal("the task expired"))
    }

    /// Returns the ending of a task whose process stopped while its handler worked.
    pub(crate) fn lost() -> Self {
        Self::Failed(ErrorObject::internal(
            "the server stopped while the task ran; call the tool again",
        ))
    }

    pub(crate) fn apply(&self, record: &mut TaskRecord, now_ms: u64) {
        let ttl_ms = task_rules::final_ttl(record.ttl_ms, record.created_at_ms, now_ms);
        record.ttl_ms = ttl_ms;
        record.expires_at_ms = task_rules::forgotten_at(ttl_ms, record.created_at_ms);
        self.set_outcome(record);
    }

    /// Sets the status and the outcome of a task, but not how long the store has it.
    pub(crate) fn set_outcome(&self, record: &mut TaskRecord) {
        record.runnable = false;
        record.restartable = false;
        record.input_requests = None;
        match self {
            Self::Result { result, is_error } => {
                record.status = TaskStatus::Completed;
                record.outcome = Some(TaskOutcome::Completed {
                    result: result.clone(),
                    is_error: *is_error,
                });
            }
            Self::Failed(error) => {
                let mut error = error.clone();
                if is_overloaded(&error) {
                    // The task has ended, so the client must not wait for a better outcome.
                    error.data = None;
                }
                record.status = TaskStatus::Failed;
                record.status_message = Some(error.message.to_string());
                record.outcome = Some(TaskOutcome::Error(error));
            }
            Self::Cancelled => record.status = TaskStatus::Cancelled,
        }
    }
}

/// Returns the current time in milliseconds since 1970-01-01.
pub(crate) fn now_ms() -> u64 {
    u64::try_from(since_epoch().as_millis()).unwrap_or(u64::MAX)
}
