//! The requests of the load, and what it reads of the responses.
//!
//! All requests have the same `_meta`, which declares what a client of tasks has to declare. A poll and a call therefore
//! differ only in their method and parameters.

use serde::Deserialize;
use serde_json::{Value, json};
use toolwire_types::tasks::extension::EXTENSION_ID;
use toolwire_types::{ProtocolVersion, meta_key};

use crate::http1::Target;

/// The text of a small call.
const TEXT: &str = "a small text with as many bytes as the other benchmarks send, which is one hundred: 0123456789 01234";

fn request(target: &Target, method: &str, name: &str, mut params: Value) -> Vec<u8> {
    params["_meta"] = json!({
        meta_key::PROTOCOL_VERSION: ProtocolVersion::LATEST.as_str(),
        meta_key::CLIENT_CAPABILITIES: {"elicitation": {}, "extensions": {EXTENSION_ID: {}}},
    });
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    target.post(method, Some(name), &message.to_string())
}

/// Returns a small call.
pub(super) fn call(target: &Target) -> Vec<u8> {
    let params = json!({"name": "echo", "arguments": {"text": TEXT}});
    request(target, "tools/call", "echo", params)
}

/// Returns a call that becomes a task.
pub(super) fn creation(target: &Target, order: usize) -> Vec<u8> {
    let params = json!({"name": "approve", "arguments": {"order": order}});
    request(target, "tools/call", "approve", params)
}

/// Returns a poll of a task.
pub(super) fn poll(target: &Target, id: &str) -> Vec<u8> {
    request(target, "tasks/get", id, json!({"taskId": id}))
}

/// Accepts the response of a small call.
pub(super) fn is_echoed(body: &[u8]) -> Option<()> {
    memchr::memmem::find(body, TEXT.as_bytes()).map(drop)
}

/// Returns the id of the task that a call has become.
pub(super) fn created_task(body: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Message {
        result: Created,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Created {
        result_type: String,
        task_id: String,
    }
    let Message { result } = serde_json::from_slice(body).ok()?;
    (result.result_type == "task").then_some(result.task_id)
}

/// Accepts the response of a poll of a task that waits for input.
pub(super) fn is_waiting(body: &[u8]) -> Option<()> {
    memchr::memmem::find(body, br#""status":"input_required""#).map(drop)
}

/// Returns whether a polled task waits for input. It may also still work.
pub(super) fn waits_or_works(body: &[u8]) -> Option<bool> {
    let is_waiting = is_waiting(body).is_some();
    let is_working = memchr::memmem::find(body, br#""status":"working""#).is_some();
    (is_waiting || is_working).then_some(is_waiting)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_are_recognised() {
        let created = br#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"task","taskId":"t1"}}"#;
        assert_eq!(created_task(created).as_deref(), Some("t1"));
        let completed = br#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}"#;
        assert_eq!(created_task(completed), None);
        let polled = |status: &str| format!(r#"{{"result":{{"status":"{status}"}}}}"#);
        for (status, expected) in [
            ("input_required", Some(true)),
            ("working", Some(false)),
            ("failed", None),
        ] {
            let body = polled(status);
            assert_eq!(waits_or_works(body.as_bytes()), expected, "{status}");
            assert_eq!(
                is_waiting(body.as_bytes()).is_some(),
                expected == Some(true)
            );
        }
        assert_eq!(TEXT.len(), 100);
    }
}
