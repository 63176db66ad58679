//! Tasks as the extension `io.modelcontextprotocol/tasks`, on 2026-07-28 and later.
//!
//! A client declares the extension with a request; the server may then answer `tools/call` with a task. Outcome and
//! questions come with `tasks/get`, answers go out with `tasks/update`.

use serde::{Deserialize, Serialize};

use crate::input::{InputRequests, InputResponses};
use crate::jsonrpc::ErrorObject;
use crate::meta::Meta;
use crate::raw::RawJson;
use crate::result::{EmptyResult, Extra, ResultType, lenient_optional_integer};
use crate::setters::setters;
use crate::tasks::TaskStatus;

/// The id under which both sides declare the extension.
pub const EXTENSION_ID: &str = "io.modelcontextprotocol/tasks";

/// A task and where it stands, without its outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Task {
    /// Its id, chosen by the server and hard to guess.
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
    pub ttl_ms: Option<u64>,
    /// How long to wait between two `tasks/get`, in milliseconds.
    #[serde(
        default,
        deserialize_with = "lenient_optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub poll_interval_ms: Option<u64>,
    /// Members this crate does not know, of the task or of the result that holds it.
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
            ttl_ms: None,
            poll_interval_ms: None,
            extra: Extra::new(),
        }
    }

    setters! {
        /// Sets the retention in milliseconds, counted from the creation of the task.
        with_ttl_ms(ttl_ms: some u64);
        /// Sets the time between two `tasks/get` requests, in milliseconds.
        with_poll_interval_ms(poll_interval_ms: some u64);
        with_status_message(status_message: into String);
    }
}

/// The answer to a request that became a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CreateTaskResult {
    /// The kind of result: [`ResultType::Task`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The task; its members stand in the result itself.
    #[serde(flatten)]
    pub task: Task,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl CreateTaskResult {
    /// Answers with a task.
    #[must_use]
    pub fn new(task: Task) -> Self {
        Self {
            result_type: Some(ResultType::Task),
            task,
            meta: None,
        }
    }
}

/// A task with what its status brings along: questions, a result or an error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct DetailedTask {
    /// The kind of result, where this is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The task; its members stand in the object itself.
    #[serde(flatten)]
    pub task: Task,
    /// Every question still open, when the status is `input_required`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_requests: Option<InputRequests>,
    /// What the request is answered with, when the status is `completed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<RawJson>,
    /// The error the request is answered with, when the status is `failed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorObject>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl DetailedTask {
    /// A task that is being worked on.
    #[must_use]
    pub fn working(task: Task) -> Self {
        Self::with_status(task, TaskStatus::Working)
    }

    /// A task that waits for answers.
    #[must_use]
    pub fn input_required(task: Task, input_requests: InputRequests) -> Self {
        Self {
            input_requests: Some(input_requests),
            ..Self::with_status(task, TaskStatus::InputRequired)
        }
    }

    /// A task that is done.
    #[must_use]
    pub fn completed(task: Task, result: RawJson) -> Self {
        Self {
            result: Some(result),
            ..Self::with_status(task, TaskStatus::Completed)
        }
    }

    /// A task whose request ended in a JSON-RPC error.
    #[must_use]
    pub fn failed(task: Task, error: ErrorObject) -> Self {
        Self {
            error: Some(error),
            ..Self::with_status(task, TaskStatus::Failed)
        }
    }

    /// A task that was cancelled.
    #[must_use]
    pub fn cancelled(task: Task) -> Self {
        Self::with_status(task, TaskStatus::Cancelled)
    }

    fn with_status(mut task: Task, status: TaskStatus) -> Self {
        task.status = status;
        Self {
            result_type: None,
            task,
            input_requests: None,
            result: None,
            error: None,
            meta: None,
        }
    }
}

/// The answer to `tasks/get`: the task itself, with `resultType` `complete`.
pub type GetTaskResult = DetailedTask;

/// The parameters of `notifications/tasks`: the task itself.
pub type TaskStatusNotificationParams = DetailedTask;

/// The parameters of `tasks/update`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct UpdateTaskRequestParams {
    /// The task.
    pub task_id: String,
    /// Answers to some or all of its questions, by key.
    pub input_responses: InputResponses,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl UpdateTaskRequestParams {
    /// Answers questions of a task.
    #[must_use]
    pub fn new(task_id: impl Into<String>, input_responses: InputResponses) -> Self {
        Self {
            task_id: task_id.into(),
            input_responses,
            meta: None,
        }
    }
}

/// The answer to `tasks/update`: received.
pub type UpdateTaskResult = EmptyResult;

/// The answer to `tasks/cancel`: received. Whether the task really ends as cancelled is seen with `tasks/get`.
pub type CancelTaskResult = EmptyResult;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::round_trip::check;

    fn wire(status: &str, more: &serde_json::Value) -> serde_json::Value {
        let mut wire = json!({
            "taskId": "t", "status": status, "createdAt": "a", "lastUpdatedAt": "b", "ttlMs": null,
        });
        let more = more.as_object().cloned().unwrap_or_default();
        wire.as_object_mut().unwrap().extend(more);
        wire
    }

    #[test]
    fn a_new_task_is_flat() {
        let sample = wire(
            "working",
            &json!({
                "resultType": "task", "statusMessage": "m", "ttlMs": 1000, "pollIntervalMs": 5,
                "_meta": {"a": 1.0}, "later": {"x": [1]},
            }),
        );
        let result = check::<CreateTaskResult>(sample);
        assert_eq!(result.task.ttl_ms, Some(1000));
        assert_eq!(result.task.extra.keys().collect::<Vec<_>>(), ["later"]);
        let built = CreateTaskResult::new(
            Task::new("t", "now")
                .with_ttl_ms(1)
                .with_poll_interval_ms(2),
        );
        assert_eq!(
            serde_json::to_value(built).unwrap(),
            json!({
                "resultType": "task", "taskId": "t", "status": "working", "createdAt": "now", "lastUpdatedAt": "now",
                "ttlMs": 1, "pollIntervalMs": 2,
            })
        );
    }

    #[test]
    fn every_status_brings_its_own_along() {
        check::<GetTaskResult>(wire("working", &json!({"resultType": "complete"})));
        check::<GetTaskResult>(wire("cancelled", &json!({"later": 1})));
        check::<GetTaskResult>(wire(
            "completed",
            &json!({"result": {"content": [], "isError": true}}),
        ));
        check::<GetTaskResult>(wire(
            "failed",
            &json!({"error": {"code": -32603, "message": "m", "data": {"x": 1}}}),
        ));
        let asking = check::<TaskStatusNotificationParams>(wire(
            "input_required",
            &json!({
                "inputRequests": {"k": {"method": "roots/list"}},
                "_meta": {"io.modelcontextprotocol/subscriptionId": 4},
            }),
        ));
        assert_eq!(asking.input_requests.unwrap().len(), 1);
    }

    #[test]
    fn constructors_keep_status_and_content_together() {
        let task = || Task::new("t", "now").with_status_message("m");
        let check = |detailed: DetailedTask, status| assert_eq!(detailed.task.status, status);
        check(DetailedTask::working(task()), TaskStatus::Working);
        check(DetailedTask::cancelled(task()), TaskStatus::Cancelled);
        check(
            DetailedTask::completed(task(), RawJson::empty_object()),
            TaskStatus::Completed,
        );
        check(
            DetailedTask::failed(task(), ErrorObject::internal("m")),
            TaskStatus::Failed,
        );
        check(
            DetailedTask::input_required(task(), InputRequests::new()),
            TaskStatus::InputRequired,
        );
    }

    #[test]
    fn updates_survive() {
        check::<UpdateTaskRequestParams>(
            json!({"taskId": "t", "inputResponses": {"k": {"action": "accept"}}, "_meta": {}}),
        );
        check::<UpdateTaskResult>(json!({"resultType": "complete"}));
        check::<CancelTaskResult>(json!({"resultType": "complete"}));
    }
}
