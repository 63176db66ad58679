//! The results that name a task, read by a client: both designs of tasks in one shape.
//!
//! The extension of 2026-07-28 and the core design of 2025-11-25 write a task differently. A client reads both as a
//! [`DetailedTask`]. The core design has its outcome in `tasks/result`, so such a task has neither result nor error.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use toolwire_types::tasks::extension::{CreateTaskResult, DetailedTask, Task};
use toolwire_types::tasks::{TaskStatus, core};
use toolwire_types::{ProtocolVersion, RawJson};

use crate::features::VersionFeatures;
use crate::result_kind::{ResultKind, classify};

/// Returns the task that the result of `tools/call` names. Returns `None` if the call did not become a task.
///
/// The caller has declared the extension, or has requested a task in the core design.
///
/// # Errors
/// Returns a reason if the result is malformed.
pub fn created_task(
    version: ProtocolVersion,
    result: &RawValue,
) -> Result<Option<DetailedTask>, String> {
    #[derive(Deserialize)]
    struct CoreResult<'a> {
        #[serde(borrow)]
        task: Option<&'a RawValue>,
        content: Option<IgnoredAny>,
    }

    let task = if version.has_core_tasks() {
        // Spec 2025-11-25, basic/utilities/tasks: a server that does not offer tasks returns the ordinary result.
        let members: CoreResult<'_> =
            serde_json::from_str(result.get()).map_err(|error| error.to_string())?;
        match members.task.filter(|_| members.content.is_none()) {
            Some(task) => core_task(task.get())?,
            None => return Ok(None),
        }
    } else {
        match classify(version, "tools/call", |_| true, result) {
            ResultKind::Task => {}
            _ => return Ok(None),
        }
        let created: CreateTaskResult =
            serde_json::from_str(result.get()).map_err(|error| error.to_string())?;
        let status = created.task.status;
        with_status(created.task, status)
    };
    if task.task.task_id.is_empty() {
        return Err("`taskId` is empty".to_owned());
    }
    Ok(Some(task))
}

/// Returns the task that the result of `tasks/get` contains.
///
/// # Errors
/// Returns a reason if the result is malformed, or contains another task than the one with this id.
pub fn task_state(
    version: ProtocolVersion,
    id: &str,
    result: &RawJson,
) -> Result<DetailedTask, String> {
    let task = if version.has_core_tasks() {
        core_task(result.get())?
    } else {
        let task: DetailedTask = result.parse().map_err(|error| error.to_string())?;
        // Tasks extension, "Task": a completed task has the result of its request.
        if task.task.status == TaskStatus::Completed && task.result.is_none() {
            return Err("the completed task has no `result`".to_owned());
        }
        task
    };
    if task.task.task_id != id {
        return Err(format!(
            "it contains the task {:?} instead of {id:?}",
            task.task.task_id
        ));
    }
    Ok(task)
}

fn core_task(task: &str) -> Result<DetailedTask, String> {
    let core: core::Task = serde_json::from_str(task).map_err(|error| error.to_string())?;
    let mut task = Task::new(core.task_id, core.created_at);
    task.status_message = core.status_message;
    task.last_updated_at = core.last_updated_at;
    task.ttl_ms = core.ttl;
    task.poll_interval_ms = core.poll_interval;
    task.extra = core.extra;
    let mut task = with_status(task, core.status);
    task.meta = core.meta;
    Ok(task)
}

fn with_status(task: Task, status: TaskStatus) -> DetailedTask {
    let mut task = DetailedTask::working(task);
    task.task.status = status;
    task
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const CORE: ProtocolVersion = ProtocolVersion::V2025_11_25;
    const EXTENSION: ProtocolVersion = ProtocolVersion::V2026_07_28;

    fn created(
        version: ProtocolVersion,
        result: &Value,
    ) -> Result<Option<(String, Option<u64>)>, String> {
        let result = RawJson::from_value(result);
        let task = created_task(version, result.as_raw_value())?;
        Ok(task.map(|task| (task.task.task_id, task.task.poll_interval_ms)))
    }

    #[test]
    fn created_task_is_read_in_both_designs() {
        let times = json!({"createdAt": "a", "lastUpdatedAt": "a", "status": "working"});
        let mut extension = times.clone();
        extension["resultType"] = json!("task");
        extension["taskId"] = json!("t");
        extension["ttlMs"] = json!(null);
        extension["pollIntervalMs"] = json!(5);
        let task = Ok(Some(("t".to_owned(), Some(5))));
        assert_eq!(created(EXTENSION, &extension), task);
        let mut core = times;
        core["taskId"] = json!("t");
        core["ttl"] = json!(1);
        core["pollInterval"] = json!(5);
        assert_eq!(created(CORE, &json!({ "task": core })), task);
        // The form of one design is no task in the other one.
        assert_eq!(created(CORE, &extension), Ok(None));
        assert_eq!(created(EXTENSION, &json!({ "task": core })), Ok(None));
        let result = json!({"content": [], "task": core});
        assert_eq!(created(CORE, &result), Ok(None));
    }

    #[test]
    fn malformed_tasks_are_rejected() {
        let extension = |rest: Value| {
            let mut task = json!({
                "resultType": "task", "taskId": "t", "status": "working", "createdAt": "a",
                "lastUpdatedAt": "a", "ttlMs": null,
            });
            for (name, value) in rest.as_object().expect("an object") {
                task[name] = value.clone();
            }
            created(EXTENSION, &task)
        };
        assert!(extension(json!({})).is_ok());
        for malformed in [
            json!({"taskId": null}),
            json!({"taskId": 1}),
            json!({"taskId": ""}),
            json!({"status": "paused"}),
            json!({"createdAt": 1}),
        ] {
            assert!(extension(malformed.clone()).is_err(), "{malformed}");
        }
        for malformed in [json!({}), json!([]), json!({"taskId": "t"})] {
            let result = json!({ "task": malformed });
            assert!(created(CORE, &result).is_err(), "{result}");
        }
    }

    #[test]
    fn state_has_the_requested_id_and_its_outcome() {
        let check = |version, state: Value, expected: bool| {
            let mut task = json!({"taskId": "t", "createdAt": "a", "lastUpdatedAt": "a"});
            for (name, value) in state.as_object().expect("an object") {
                task[name] = value.clone();
            }
            let read = task_state(version, "t", &RawJson::from_value(&task));
            assert_eq!(read.is_ok(), expected, "{task} {read:?}");
        };
        check(EXTENSION, json!({"status": "working"}), true);
        check(EXTENSION, json!({"status": "completed"}), false);
        let completed = json!({"status": "completed", "result": {"content": []}});
        check(EXTENSION, completed, true);
        check(CORE, json!({"status": "completed"}), true);
        for version in [CORE, EXTENSION] {
            check(version, json!({"status": "working", "taskId": "u"}), false);
            check(version, json!({"status": "later"}), false);
        }
    }
}
