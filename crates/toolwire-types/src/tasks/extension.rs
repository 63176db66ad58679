//! Tasks as the extension `io.modelcontextprotocol/tasks`, since 2026-07-28.
//!
//! A client declares the extension in a request. The server may then respond to `tools/call` with a task. The client
//! gets results and input requests with `tasks/get`, and sends input responses with `tasks/update`.

use serde::{Deserialize, Serialize};

use crate::input::{InputRequests, InputResponses};
use crate::jsonrpc::ErrorObject;
use crate::meta::Meta;
use crate::raw::RawJson;
use crate::result::{EmptyResult, Extra, ResultType, lenient_optional_integer};
use crate::setters::setters;
use crate::tasks::TaskStatus;

/// The id with which client and server declare the extension.
pub const EXTENSION_ID: &str = "io.modelcontextprotocol/tasks";

/// A task and its status, without its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Task {
    /// The id, chosen by the server and hard to guess.
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
    pub ttl_ms: Option<u64>,
    /// The time between two `tasks/get` requests, in milliseconds.
    #[serde(
        default,
        deserialize_with = "lenient_optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub poll_interval_ms: Option<u64>,
    /// Members that this crate does not define, of the task or of the result that contains it.
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

/// The result of a request that runs as a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CreateTaskResult {
    /// The kind of result: [`ResultType::Task`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The task. Its members are members of the result.
    #[serde(flatten)]
    pub task: Task,
    /// The `_meta` object.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl CreateTaskResult {
    /// Creates a result with a task.
    #[must_use]
    pub fn new(task: Task) -> Self {
        Self {
            result_type: Some(ResultType::Task),
            task,
            meta: None,
        }
    }
}

/// A task with the details of its status: input requests, a result or an error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct DetailedTask {
    /// The kind of result, if this is a result and not a notification.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The task. Its members are members of this object.
    #[serde(flatten)]
    pub task: Task,
    /// The pending input requests, if the status is `input_required`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_requests: Option<InputRequests>,
    /// The result of the request, if the status is `completed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<RawJson>,
    /// The error of the request, if the status is `failed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorObject>,
    /// The `_meta` object.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl DetailedTask {
    /// Creates a task that is running.
    #[must_use]
    pub fn working(task: Task) -> Self {
        Self::with_status(task, TaskStatus::Working)
    }

    /// Creates a task that waits for input responses.
    #[must_use]
    pub fn input_required(task: Task, input_requests: InputRequests) -> Self {
        Self {
            input_requests: Some(input_requests),
            ..Self::with_status(task, TaskStatus::InputRequired)
        }
    }

    /// Creates a completed task.
    #[must_use]
    pub fn completed(task: Task, result: RawJson) -> Self {
        Self {
            result: Some(result),
            ..Self::with_status(task, TaskStatus::Completed)
        }
    }

    /// Creates a task whose request failed with a JSON-RPC error.
    #[must_use]
    pub fn failed(task: Task, error: ErrorObject) -> Self {
        Self {
            error: Some(error),
            ..Self::with_status(task, TaskStatus::Failed)
        }
    }

    /// Creates a cancelled task.
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

/// The result of `tasks/get`: the task itself, with `resultType` `complete`.
pub type GetTaskResult = DetailedTask;

/// The parameters of `notifications/tasks`: the task itself.
pub type TaskStatusNotificationParams = DetailedTask;

/// The parameters of `tasks/update`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct UpdateTaskRequestParams {
    /// The id of the task.
    pub task_id: String,
    /// The responses to some or all of the input requests, by key.
    pub input_responses: InputResponses,
    /// The `_meta` object.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl UpdateTaskRequestParams {
    /// Creates the parameters that send input responses to a task.
    #[must_use]
    pub fn new(task_id: impl Into<String>, input_responses: InputResponses) -> Self {
        Self {
            task_id: task_id.into(),
            input_responses,
            meta: None,
        }
    }
}

/// The result of `tasks/update`, an acknowledgement.
pub type UpdateTaskResult = EmptyResult;

/// The result of `tasks/cancel`, an acknowledgement. `tasks/get` returns whether the task was in fact cancelled.
pub type CancelTaskResult = EmptyResult;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::round_trip::check;

    fn wire(status: &str, members: &serde_json::Value) -> serde_json::Value {
        let mut wire = json!({
            "taskId": "t", "status": status, "createdAt": "a", "lastUpdatedAt": "b", "ttlMs": null,
        });
        let members = members.as_object().cloned().unwrap_or_default();
        wire.as_object_mut().unwrap().extend(members);
        wire
    }

    #[test]
    fn created_task_is_flattened_into_the_result() {
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
    fn tasks_of_every_status_round_trip() {
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
        let input_required = check::<TaskStatusNotificationParams>(wire(
            "input_required",
            &json!({
                "inputRequests": {"k": {"method": "roots/list"}},
                "_meta": {"io.modelcontextprotocol/subscriptionId": 4},
            }),
        ));
        assert_eq!(input_required.input_requests.unwrap().len(), 1);
    }

    #[test]
    fn constructors_set_the_status() {
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
    fn update_and_cancel_messages_round_trip() {
        check::<UpdateTaskRequestParams>(
            json!({"taskId": "t", "inputResponses": {"k": {"action": "accept"}}, "_meta": {}}),
        );
        check::<UpdateTaskResult>(json!({"resultType": "complete"}));
        check::<CancelTaskResult>(json!({"resultType": "complete"}));
    }
}
