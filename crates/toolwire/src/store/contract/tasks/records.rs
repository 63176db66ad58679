//! The records of the contract tests.

use serde_json::json;
use toolwire_types::tasks::TaskStatus;
use toolwire_types::{ErrorObject, ProtocolVersion, RawJson};

use crate::engine::Principal;
use crate::store::contract::{unique_name, user};
use crate::store::{MAX_TASK_RECORD_BYTES, TaskOutcome, TaskRecord, now_ms};

/// How long the records of the tests exist. A store that is shared forgets them later.
const LIFETIME_MS: u64 = 10 * 60 * 1000;

/// Returns a principal without tasks.
pub(super) fn new_owner() -> Principal {
    user(&unique_name("owner"))
}

/// Returns the record of a task that has not started.
pub(super) fn record(tool: &str) -> TaskRecord {
    let call = RawJson::from_value(&json!({"arguments": {"tool": tool}}));
    let now_ms = now_ms();
    let mut record = TaskRecord::new(tool, ProtocolVersion::LATEST, call, now_ms);
    record.expires_at_ms = Some(now_ms + LIFETIME_MS);
    record
}

/// Returns the record of a task that has ended.
pub(super) fn completed(tool: &str) -> TaskRecord {
    let mut record = record(tool);
    record.status = TaskStatus::Completed;
    record.runnable = false;
    record.restartable = true;
    record.outcome = Some(TaskOutcome::Completed {
        result: raw(r#"{ "content" : [ ],"isError":false}"#),
        is_error: false,
    });
    record
}

/// Returns a record in which every member is set, also one of a newer version.
pub(super) fn complete_record() -> TaskRecord {
    let mut record = record("render");
    record.status = TaskStatus::InputRequired;
    record.runnable = false;
    record.restartable = true;
    record.restarts = 2;
    record.status_message = Some("3/10 \"ä\"\n\u{1F3A8}".to_owned());
    record.updated_at_ms = record.created_at_ms + 1;
    record.ttl_ms = Some(3_600_000);
    record.poll_interval_ms = Some(2000);
    // White space, escapes and the order of members are stored as they are.
    record.call = raw("{ \"z\": 1.0,\n\t\"a\" : \"\\u00e4\\/\", \"n\":1e400 }");
    record.journal = Some(raw("[ 1 ,2, \"\\ud83c\\udfa8\" ]"));
    record.input_requests = Some(requests());
    record.outcome = Some(TaskOutcome::Error(
        ErrorObject::invalid_params("no such scene").with_data(json!({"scene": "pier"})),
    ));
    with_newer_member(&record)
}

/// Returns a record with a member that only a newer version knows.
pub(super) fn with_newer_member(record: &TaskRecord) -> TaskRecord {
    let text = serde_json::to_string(record).expect("a record is JSON");
    let start = text.strip_suffix('}').expect("a record is an object");
    let newer = format!("{start},\"colours\":[\"red\",7]}}");
    serde_json::from_str(&newer).expect("a record of a newer version")
}

pub(super) fn requests() -> RawJson {
    let requests = json!({
        "publish": {"method": "elicitation/create", "params": {
            "mode": "form", "message": "Publish?",
            "requestedSchema": {"type": "object", "properties": {"sure": {"type": "boolean"}}},
        }},
    });
    RawJson::from(requests)
}

/// Returns a record of exactly the largest size.
pub(super) fn largest_record() -> TaskRecord {
    let mut record = completed("render");
    let result = |length: usize| TaskOutcome::Completed {
        result: raw(&format!("\"{}\"", "x".repeat(length))),
        is_error: false,
    };
    record.outcome = Some(result(0));
    let rest = MAX_TASK_RECORD_BYTES - record.memory_bytes();
    record.outcome = Some(result(rest));
    record.status = TaskStatus::Working;
    record
}

pub(super) fn raw(text: &str) -> RawJson {
    RawJson::from_string(text.to_owned()).expect("JSON")
}
