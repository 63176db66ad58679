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

    /// Returns this ending if its outcome has at most `limit` bytes. Otherwise returns an error that names the limit.
    pub(crate) fn within(self, limit: usize) -> Result<Self, ErrorObject> {
        let (bytes, name) = match &self {
            Self::Result { result, .. } => (result.get().len(), "result"),
            Self::Failed(error) => {
                let json = RawJson::from_serialize(error);
                (json.map_or(usize::MAX, |json| json.get().len()), "error")
            }
            Self::Cancelled => (0, "outcome"),
        };
        if bytes > limit {
            let message = format!("the {name} of the task has more than {limit} bytes");
            return Err(ErrorObject::internal(message));
        }
        Ok(self)
    }

    /// Ends a task. Its TTL grows, so that the outcome stays readable.
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
                record.status_message = Some(bounded_message(error.message.to_string()));
                record.outcome = Some(TaskOutcome::Error(error));
            }
            Self::Cancelled => record.status = TaskStatus::Cancelled,
        }
    }
}

/// The maximum size of a status message in bytes.
const MAX_MESSAGE_BYTES: usize = 4096;

/// Returns a status message, shortened if it is too long.
pub(crate) fn bounded_message(mut message: String) -> String {
    const END: &str = "…";
    if message.len() > MAX_MESSAGE_BYTES {
        let mut end = MAX_MESSAGE_BYTES - END.len();
        while !message.is_char_boundary(end) {
            end -= 1;
        }
        message.truncate(end);
        message.push_str(END);
    }
    message
}

/// Returns the current time in milliseconds since 1970-01-01.
pub(crate) fn now_ms() -> u64 {
    u64::try_from(since_epoch().as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_of_an_outcome_is_limited() {
        let error = |bytes: usize| Ending::Failed(ErrorObject::new(7, "x".repeat(bytes)));
        let rest = r#"{"code":7,"message":""}"#.len();
        assert!(error(1000 - rest).within(1000).is_ok());
        let rejected = error(1001 - rest).within(1000).unwrap_err();
        assert!(rejected.message.contains("error of the task"), "{rejected}");
        assert!(rejected.message.contains("1000 bytes"), "{rejected}");
        assert!(Ending::Cancelled.within(0).is_ok());
    }

    #[test]
    fn long_status_message_is_shortened() {
        let check = |message: String, end: &str, bytes: usize| {
            let bounded = bounded_message(message);
            assert_eq!(bounded.len(), bytes);
            assert!(bounded.ends_with(end), "{bounded}");
        };
        check("x".repeat(4096), "x", 4096);
        check("x".repeat(4097), "x…", 4096);
        // The limit is inside of a character.
        check("ä".repeat(3000), "ä…", 4095);
    }
}
