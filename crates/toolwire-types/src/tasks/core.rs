//! Tasks as an experimental part of the core, 2025-11-25 only.
//!
//! The sender of a request asks for a task by adding [`TaskMetadata`] to its parameters; either side may do so.

use serde::{Deserialize, Serialize};

use crate::meta::Meta;
use crate::raw::RawJson;
use crate::result::{Extra, lenient_optional_integer};
use crate::setters::setters;
use crate::tasks::TaskStatus;

/// The wish to run a request as a task: the `task` member of its parameters.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TaskMetadata {
    /// How long the task should be kept, in milliseconds from its creation.
    #[serde(
        default,
        deserialize_with = "lenient_optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub ttl: Option<u64>,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl TaskMetadata {
    /// Leaves it to the receiver how long the task is kept.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Sets the retention in milliseconds, counted from the creation of the task.
        with_ttl(ttl: some u64);
    }
}

/// Which task a message belongs to: the `_meta` value at
/// [`meta_key::RELATED_TASK`](crate::meta_key::RELATED_TASK).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RelatedTaskMetadata {
    /// The task.
    pub task_id: String,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl RelatedTaskMetadata {
    /// Names a task.
    #[must_use]
    pub fn new(task_id: impl Into<String>) -> Self {
        Self {
            task_id: task_id.into(),
            extra: Extra::new(),
        }
    }
}

/// A task and where it stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Task {
    /// Its id, chosen by the receiver of the request.
    pub task_id: String,
    /// Where it stands.
    pub status: TaskStatus,
    /// More about where it stands, for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_message: Option<String>,
    /// When it was created, as an ISO 8601 date and time.
    pub created_at: String,
    /// When it last changed, as an ISO 8601 date and time.
    pub last_updated_at: String,
    /// How long it is kept, in milliseconds from its creation; `None` is written as `null` and means for ever.
    #[serde(default, deserialize_with = "lenient_optional_integer")]
    pub ttl: Option<u64>,
    /// How long to wait between two `tasks/get`, in milliseconds.
    #[serde(
        default,
        deserialize_with = "lenient_optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub poll_interval: Option<u64>,
    /// Metadata, where the task is a whole result or the whole parameters of a notification.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Task {
    /// A task that has just been created: working, last changed when it was created, kept for ever.
    #[must_use]
    pub fn new(task_id: impl Into<String>, created_at: impl Into<String>) -> Self {
        let created_at = created_at.into();
        Self {
            task_id: task_id.into(),
            status: TaskStatus::Working,
            status_message: None,
            last_updated_at: created_at.clone(),
            created_at,
            ttl: None,
            poll_interval: None,
            meta: None,
            extra: Extra::new(),
        }
    }

    setters! {
        /// Sets the retention in milliseconds, counted from the creation of the task.
        with_ttl(ttl: some u64);
        /// Sets the time between two `tasks/get` requests, in milliseconds.
        with_poll_interval(poll_interval: some u64);
    }
}

/// The answer to a request that became a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CreateTaskResult {
    /// The task.
    pub task: Task,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl CreateTaskResult {
    /// Answers with a task.
    #[must_use]
    pub fn new(task: Task) -> Self {
        Self {
            task,
            meta: None,
            extra: Extra::new(),
        }
    }
}

/// The answer to `tasks/get`: the task itself.
pub type GetTaskResult = Task;

/// The answer to `tasks/cancel`: the task itself.
pub type CancelTaskResult = Task;

/// The parameters of `notifications/tasks/status`: the task itself.
pub type TaskStatusNotificationParams = Task;

/// The parameters of `tasks/result`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct GetTaskPayloadRequestParams {
    /// The task.
    pub task_id: String,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl GetTaskPayloadRequestParams {
    /// Asks for the result of a task.
    #[must_use]
    pub fn new(task_id: impl Into<String>) -> Self {
        Self {
            task_id: task_id.into(),
            meta: None,
        }
    }
}

/// The answer to `tasks/result`: whatever the request itself would have been answered with.
pub type GetTaskPayloadResult = RawJson;

/// The answer to `tasks/list`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListTasksResult {
    /// The tasks of this page.
    pub tasks: Vec<Task>,
    /// Where to go on; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ListTasksResult {
    /// The last page.
    #[must_use]
    pub fn new(tasks: impl IntoIterator<Item = Task>) -> Self {
        Self {
            tasks: tasks.into_iter().collect(),
            ..Self::default()
        }
    }

    setters! {
        with_next_cursor(next_cursor: into String);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::round_trip::check;

    #[test]
    fn tasks_survive_wherever_they_stand() {
        let task = json!({
            "taskId": "t", "status": "input_required", "statusMessage": "m", "createdAt": "a", "lastUpdatedAt": "b",
            "ttl": 60000, "pollInterval": 5, "later": [1],
        });
        check::<Task>(task.clone());
        check::<CreateTaskResult>(json!({
            "task": task, "later": 1,
            "_meta": {"io.modelcontextprotocol/model-immediate-response": "wait"},
        }));
        check::<ListTasksResult>(json!({"tasks": [task], "nextCursor": "n"}));
        let mut result = task;
        result["_meta"] = json!({"a": 1});
        check::<GetTaskResult>(result);
    }

    #[test]
    fn an_unlimited_lifetime_is_written_as_null() {
        let wire = json!({
            "taskId": "t", "status": "working", "createdAt": "now", "lastUpdatedAt": "now", "ttl": null,
        });
        assert_eq!(check::<Task>(wire.clone()).ttl, None);
        assert_eq!(serde_json::to_value(Task::new("t", "now")).unwrap(), wire);
        let limited = Task::new("t", "now").with_ttl(5).with_poll_interval(1);
        assert_eq!((limited.ttl, limited.poll_interval), (Some(5), Some(1)));
    }

    #[test]
    fn wishes_and_relations_survive() {
        check::<TaskMetadata>(json!({}));
        check::<TaskMetadata>(json!({"ttl": 1, "later": 2}));
        check::<RelatedTaskMetadata>(json!({"taskId": "t"}));
        check::<GetTaskPayloadRequestParams>(json!({"taskId": "t", "_meta": {"b": 1}}));
    }
}
