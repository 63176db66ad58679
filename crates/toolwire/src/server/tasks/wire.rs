//! Tasks on the wire, in the form of the version of each request.

use std::borrow::Cow;
use std::time::Duration;

use tokio::time::Instant;
use toolwire_proto::features::VersionFeatures;
use toolwire_proto::stamp::{self, PolledTask};
use toolwire_proto::subscriptions;
use toolwire_proto::task_rules::{TimeText, has_ended, status_in_core, time_text};
use toolwire_types::tasks::{TaskStatus, core, extension};
use toolwire_types::{ErrorObject, Notification, ProtocolVersion, RawJson};

use crate::engine::{EncodedResult, Outcome, deadline_after};
use crate::server::request::Exchange;
use crate::server::snapshot::Snapshot;
use crate::server::tasks::ending::{Ending, now_ms};
use crate::server::tasks::open_requests::open_requests;
use crate::store::{StoredTask, TaskOutcome, TaskRecord};

/// Returns the record as readers see it. An unfinished task whose life has ended has failed, even if that was not
/// written yet. Its TTL is the stored one, because the store forgets the task by that.
pub(crate) fn visible(stored: &StoredTask) -> Cow<'_, TaskRecord> {
    let record = &*stored.record;
    if !record.is_final() && has_ended(record.ttl_ms, record.created_at_ms, now_ms()) {
        let mut record = record.clone();
        let end = record
            .created_at_ms
            .saturating_add(record.ttl_ms.unwrap_or_default());
        Ending::expired().set_outcome(&mut record);
        record.updated_at_ms = end;
        Cow::Owned(record)
    } else {
        Cow::Borrowed(record)
    }
}

/// Returns when the life of an unfinished task ends. Nothing is published then, so those who wait for the task look at it
/// again.
pub(crate) fn end_of_life(stored: &StoredTask) -> Option<Instant> {
    let record = &*stored.record;
    let ttl = record.ttl_ms.filter(|_| !record.is_final())?;
    let end = record.created_at_ms.saturating_add(ttl);
    let remaining = Duration::from_millis(end.saturating_sub(now_ms()));
    Some(deadline_after(Instant::now(), remaining))
}

/// Returns `true` if the tool reported an error in the result of a task.
pub(crate) fn is_tool_error(record: &TaskRecord) -> bool {
    matches!(
        &record.outcome,
        Some(TaskOutcome::Completed { is_error: true, .. })
    )
}

/// Returns the task in the core design.
pub(crate) fn core_task(id: &str, record: &TaskRecord) -> core::Task {
    let mut task = core::Task::new(id, time_text(record.created_at_ms));
    task.status = status_in_core(record.status, is_tool_error(record));
    task.status_message.clone_from(&record.status_message);
    task.last_updated_at = time_text(record.updated_at_ms);
    task.ttl = record.ttl_ms;
    task.poll_interval = record.poll_interval_ms;
    task
}

/// Returns the task in the extension, without the details of its status.
pub(crate) fn extension_task(id: &str, record: &TaskRecord) -> extension::Task {
    let mut task = extension::Task::new(id, time_text(record.created_at_ms));
    task.status = record.status;
    task.status_message.clone_from(&record.status_message);
    task.last_updated_at = time_text(record.updated_at_ms);
    task.ttl_ms = record.ttl_ms;
    task.poll_interval_ms = record.poll_interval_ms;
    task
}

/// Returns the task in the extension, with its input requests or its outcome. Returns an error if the input requests
/// cannot be read.
fn detailed_task(id: &str, record: &TaskRecord) -> Result<extension::DetailedTask, ErrorObject> {
    let task = extension_task(id, record);
    Ok(match (record.status, &record.outcome) {
        (TaskStatus::InputRequired, _) => {
            extension::DetailedTask::input_required(task, open_requests(record)?)
        }
        (TaskStatus::Completed, Some(TaskOutcome::Completed { result, .. })) => {
            extension::DetailedTask::completed(task, result.clone())
        }
        (TaskStatus::Failed, Some(TaskOutcome::Error(error))) => {
            extension::DetailedTask::failed(task, error.clone())
        }
        (TaskStatus::Cancelled, _) => extension::DetailedTask::cancelled(task),
        _ => extension::DetailedTask::working(task),
    })
}

/// Encodes the response to a poll in the extension, directly from the record. `restamped` replaces its result.
pub(crate) fn polled(
    exchange: &Exchange,
    id: &str,
    record: &TaskRecord,
    restamped: Option<&RawJson>,
) -> Outcome {
    let (result, error) = match &record.outcome {
        Some(TaskOutcome::Completed { result, .. }) => (Some(restamped.unwrap_or(result)), None),
        Some(TaskOutcome::Error(error)) => (None, Some(error)),
        None => (None, None),
    };
    let has = |status| record.status == status;
    let task = PolledTask {
        task_id: id,
        status: record.status,
        status_message: record.status_message.as_deref(),
        created_at: TimeText(record.created_at_ms),
        last_updated_at: TimeText(record.updated_at_ms),
        ttl_ms: record.ttl_ms,
        poll_interval_ms: record.poll_interval_ms,
        input_requests: record
            .input_requests
            .as_ref()
            .filter(|_| has(TaskStatus::InputRequired)),
        result: result.filter(|_| has(TaskStatus::Completed)),
        error: error.filter(|_| has(TaskStatus::Failed)),
    };
    let target = exchange.snapshot().target(exchange.context.version());
    let (request_id, size) = (exchange.context.request_id(), task.size(&target));
    EncodedResult::write(request_id, size, |message| {
        stamp::write_polled_task(message, &task, &target)
    })
}

/// Encodes the response to a call that became a task.
pub(crate) fn created(
    snapshot: &Snapshot,
    stored: &StoredTask,
    version: ProtocolVersion,
) -> Outcome {
    if version.has_core_tasks() {
        let task = core_task(&stored.id, &stored.record);
        snapshot.finish(core::CreateTaskResult::new(task), version)
    } else {
        let task = extension_task(&stored.id, &stored.record);
        snapshot.finish(extension::CreateTaskResult::new(task), version)
    }
}

/// Returns the notification of a changed task. It contains the whole task. Returns `None` if the record cannot be read.
pub(crate) fn notification(stored: &StoredTask) -> Option<Notification> {
    let task = detailed_task(&stored.id, &visible(stored));
    let task = task.inspect_err(|error| {
        tracing::error!(error = %error.message, "the change of a task is not reported");
    });
    let task = RawJson::from_serialize(&task.ok()?).ok()?;
    Some(subscriptions::task_notification(task))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::engine::Principal;

    #[test]
    fn task_with_unreadable_input_requests_is_not_reported() {
        let check = |text: &str, expected: bool| {
            let call = RawJson::empty_object();
            let mut record = TaskRecord::new("tool", ProtocolVersion::LATEST, call, now_ms());
            record.status = TaskStatus::InputRequired;
            record.input_requests = Some(RawJson::from_string(text.to_owned()).unwrap());
            let stored = StoredTask::new("id", Principal::default(), Arc::new(record), 1);
            let reported = notification(&stored).map(|notification| notification.params.unwrap());
            assert_eq!(reported.is_some(), expected, "{text}");
            assert!(
                reported.is_none_or(|params| params.get().contains(text)),
                "{text}"
            );
        };
        check(r#"{"a":{"method":"roots/list"}}"#, true);
        check(r#"{"a":1}"#, false);
    }
}
