//! Tasks as an experimental part of the core protocol, 2025-11-25 only.
//!
//! The sender of a request, client or server, requests a task by adding [`TaskMetadata`] to the parameters.

use serde::{Deserialize, Serialize};

use crate::meta::Meta;
use crate::raw::RawJson;
use crate::result::{Extra, lenient_optional_integer};
use crate::setters::setters;
use crate::tasks::TaskStatus;

/// The `task` member of request parameters, which requests that the request runs as a task.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TaskMetadata {
    /// The requested retention in milliseconds, counted from the creation of the task.
    #[serde(
        default,
        deserialize_with = "lenient_optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub ttl: Option<u64>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl TaskMetadata {
    /// Creates metadata without a `ttl`. The receiver then chooses the retention.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Sets the retention in milliseconds, counted from the creation of the task.
        with_ttl(ttl: some u64);
    }
}

/// The task that a message belongs to: the `_meta` value at
/// [`meta_key::RELATED_TASK`](crate::meta_key::RELATED_TASK).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RelatedTaskMetadata {
    /// The id of the task.
    pub task_id: String,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl RelatedTaskMetadata {
    /// Creates a reference to a task.
    #[must_use]
    pub fn new(task_id: impl Into<String>) -> Self {
        Self {
            task_id: task_id.into(),
            extra: Extra::new(),
        }
    }
}

/// A task and its status.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Task {
    /// The id, chosen by the receiver of the request.
    pub task_id: String,
    /// The status.
    pub status: TaskStatus,
    /// A description of the status for users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_message: Option<String>,
    /// The creation time, as an ISO 8601 date and time.
    pub created_at: String,
    /// The time of the last change, as an ISO 8601 date and time.
    pub last_updated_at: String,
    /// The retention in milliseconds, counted from the creation. `None` is serialized as `null` and means unlimited.
    #[serde(default, deserialize_with = "lenient_optional_integer")]
    pub ttl: Option<u64>,
    /// The time between two `tasks/get` requests, in milliseconds.
    #[serde(
        default,
        deserialize_with = "lenient_optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub poll_interval: Option<u64>,
    /// The `_meta` object. Used if the task is a complete result or the parameters of a notification.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Task {
    /// Creates a task with the status `working` and unlimited retention, last updated at its creation.
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

/// The result of a request that runs as a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CreateTaskResult {
    /// The task.
    pub task: Task,
    /// The `_meta` object.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl CreateTaskResult {
    /// Creates a result with a task.
    #[must_use]
    pub fn new(task: Task) -> Self {
        Self {
            task,
            meta: None,
            extra: Extra::new(),
        }
    }
}

/// The result of `tasks/get`: the task itself.
pub type GetTaskResult = Task;

/// The result of `tasks/cancel`: the task itself.
pub type CancelTaskResult = Task;

/// The parameters of `notifications/tasks/status`: the task itself.
pub type TaskStatusNotificationParams = Task;

/// The parameters of `tasks/result`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct GetTaskPayloadRequestParams {
    /// The id of the task.
    pub task_id: String,
    /// The `_meta` object.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl GetTaskPayloadRequestParams {
    /// Creates the parameters for a task.
    #[must_use]
    pub fn new(task_id: impl Into<String>) -> Self {
        Self {
            task_id: task_id.into(),
            meta: None,
        }
    }
}

/// The result of `tasks/result`: the result of the request that runs as a task.
pub type GetTaskPayloadResult = RawJson;

/// The result of `tasks/list`: one page of tasks.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListTasksResult {
    /// The tasks of this page.
    pub tasks: Vec<Task>,
    /// The cursor of the next page. Absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// The `_meta` object.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ListTasksResult {
    /// Creates a page. Without a cursor, it is the last page.
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
    fn tasks_round_trip_with_every_member() {
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
    fn unlimited_ttl_is_serialized_as_null() {
        let wire = json!({
            "taskId": "t", "status": "working", "createdAt": "now", "lastUpdatedAt": "now", "ttl": null,
        });
        assert_eq!(check::<Task>(wire.clone()).ttl, None);
        assert_eq!(serde_json::to_value(Task::new("t", "now")).unwrap(), wire);
        let limited = Task::new("t", "now").with_ttl(5).with_poll_interval(1);
        assert_eq!((limited.ttl, limited.poll_interval), (Some(5), Some(1)));
    }

    #[test]
    fn task_metadata_round_trips() {
        check::<TaskMetadata>(json!({}));
        check::<TaskMetadata>(json!({"ttl": 1, "later": 2}));
        check::<RelatedTaskMetadata>(json!({"taskId": "t"}));
        check::<GetTaskPayloadRequestParams>(json!({"taskId": "t", "_meta": {"b": 1}}));
    }
}
