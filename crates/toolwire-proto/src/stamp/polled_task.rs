//! The result of `tasks/get` in the extension, stamped and written in one step, because clients poll often.

use serde::Serialize;
use toolwire_types::tasks::TaskStatus;
use toolwire_types::{ErrorObject, RawJson, json};

use crate::features::VersionFeatures;
use crate::stamp::Target;
use crate::stamp::tool_result::write_server_info;
use crate::task_rules::TimeText;

/// A task as a poll reports it. It borrows everything, so that neither input requests nor an outcome are copied before
/// they are written.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(
    clippy::exhaustive_structs,
    reason = "the members are those of the specification"
)]
pub struct PolledTask<'a> {
    /// The id.
    pub task_id: &'a str,
    /// The status.
    pub status: TaskStatus,
    /// A description of the status for users.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_message: Option<&'a str>,
    /// The creation time.
    pub created_at: TimeText,
    /// The time of the last change.
    pub last_updated_at: TimeText,
    /// The retention in milliseconds, counted from the creation. `None` is written as `null` and means unlimited.
    pub ttl_ms: Option<u64>,
    /// The time between two polls, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll_interval_ms: Option<u64>,
    /// The pending input requests, if the status is `input_required`: the JSON text of
    /// [`InputRequests`](toolwire_types::InputRequests).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_requests: Option<&'a RawJson>,
    /// The result of the request, if the status is `completed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<&'a RawJson>,
    /// The error of the request, if the status is `failed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<&'a ErrorObject>,
}

/// The length of a task without its message, input requests and outcome, and of the metadata around the server's name.
const AROUND: usize = 384;

impl PolledTask<'_> {
    /// Returns the estimated length of the result.
    #[must_use]
    pub fn size(&self, target: &Target<'_>) -> usize {
        let length = |json: Option<&RawJson>| json.map_or(0, |json| json.get().len());
        AROUND
            + self.status_message.map_or(0, str::len)
            + length(self.input_requests)
            + length(self.result)
            + length(target.server_info_in_meta())
    }
}

/// Appends the result of a poll in the form of its revision. The output equals that of a stamped
/// [`DetailedTask`](toolwire_types::tasks::extension::DetailedTask).
///
/// # Errors
/// Returns an error if a part of the task cannot be serialized as JSON.
pub fn write_polled_task(
    out: &mut Vec<u8>,
    task: &PolledTask<'_>,
    target: &Target<'_>,
) -> serde_json::Result<()> {
    if target.version.has_result_type() {
        out.extend_from_slice(br#"{"resultType":"complete""#);
        let start_of_task = out.len();
        json::write(out, task)?;
        // The task continues the object.
        out[start_of_task] = b',';
    } else {
        json::write(out, task)?;
    }
    if let Some(server_info) = target.server_info_in_meta() {
        write_server_info(out, server_info);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use toolwire_types::tasks::extension::{DetailedTask, Task};
    use toolwire_types::{InputRequest, InputRequests, ProtocolVersion};

    use super::*;
    use crate::stamp::Stamp as _;
    use crate::task_rules::time_text;

    #[test]
    fn output_equals_that_of_the_detailed_task() {
        let info = RawJson::from(json!({"name": "s", "version": "1"}));
        let target = Target::new(ProtocolVersion::V2026_07_28).with_server_info(&info);
        let requests = InputRequests::new().with("roots", InputRequest::roots());
        let requests = RawJson::from_serialize(&requests).unwrap();
        let result = RawJson::from(json!({"content": [], "resultType": "complete"}));
        let error = ErrorObject::internal("broken");
        let polled = |status| PolledTask {
            task_id: "t",
            status,
            status_message: None,
            created_at: TimeText(0),
            last_updated_at: TimeText(1_794_819_600_000),
            ttl_ms: None,
            poll_interval_ms: None,
            input_requests: None,
            result: None,
            error: None,
        };
        let check = |polled: PolledTask<'_>, detail: fn(Task, [Value; 3]) -> DetailedTask| {
            let mut task = Task::new("t", time_text(0));
            task.last_updated_at = time_text(1_794_819_600_000);
            task.ttl_ms = polled.ttl_ms;
            task.poll_interval_ms = polled.poll_interval_ms;
            task.status_message = polled.status_message.map(str::to_owned);
            let details = [
                serde_json::to_value(&requests).unwrap(),
                serde_json::to_value(&result).unwrap(),
                serde_json::to_value(&error).unwrap(),
            ];
            let mut detailed = detail(task, details);
            detailed.stamp(&target);
            let mut written = Vec::new();
            write_polled_task(&mut written, &polled, &target).unwrap();
            let written = String::from_utf8(written).unwrap();
            assert_eq!(written, serde_json::to_string(&detailed).unwrap());
        };
        check(polled(TaskStatus::Working), |task, _| {
            DetailedTask::working(task)
        });
        let mut cancelled = polled(TaskStatus::Cancelled);
        cancelled.ttl_ms = Some(1000);
        cancelled.poll_interval_ms = Some(5);
        cancelled.status_message = Some("\"done\"");
        check(cancelled, |task, _| DetailedTask::cancelled(task));
        let mut asking = polled(TaskStatus::InputRequired);
        asking.input_requests = Some(&requests);
        check(asking, |task, [requests, _, _]| {
            DetailedTask::input_required(task, serde_json::from_value(requests).unwrap())
        });
        let mut completed = polled(TaskStatus::Completed);
        completed.result = Some(&result);
        check(completed, |task, [_, result, _]| {
            DetailedTask::completed(task, result.into())
        });
        let mut failed = polled(TaskStatus::Failed);
        failed.error = Some(&error);
        check(failed, |task, [_, _, error]| {
            DetailedTask::failed(task, serde_json::from_value(error).unwrap())
        });
    }
}
