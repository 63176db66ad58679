//! A client with tasks.

use std::time::Duration;

use serde_json::{Value, json};
use toolwire::Server;
use toolwire::tasks::Tasks;
use toolwire_tests::peer::{Peer, modern_with, within};

/// Returns a server with tasks in memory, which clients poll often.
pub(crate) fn server() -> Server {
    toolwire_tests::peer::server()
        .with_tasks(Tasks::in_memory().with_poll_interval(Duration::from_millis(10)))
}

/// The capabilities of a 2026-07-28 client with tasks and forms.
pub(crate) fn capabilities() -> Value {
    json!({"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}})
}

/// Returns a 2026-07-28 request of a client with tasks.
pub(crate) fn request(id: &str, method: &str, params: Value) -> Value {
    modern_with(id, method, params, capabilities())
}

/// Returns a `tools/call` of a client with tasks.
pub(crate) fn call(tool: &str, arguments: Value) -> Value {
    request(
        "call",
        "tools/call",
        json!({"name": tool, "arguments": arguments}),
    )
}

/// Returns `tasks/get`.
pub(crate) fn get(id: &str) -> Value {
    request("get", "tasks/get", json!({"taskId": id}))
}

/// Returns `tasks/update` with one answer.
pub(crate) fn update(id: &str, key: &str, answer: Value) -> Value {
    let params = json!({"taskId": id, "inputResponses": {key: answer}});
    request("update", "tasks/update", params)
}

/// Returns `tasks/cancel`.
pub(crate) fn cancel(id: &str) -> Value {
    request("cancel", "tasks/cancel", json!({"taskId": id}))
}

/// Returns an accepted form with these fields.
pub(crate) fn accept(content: Value) -> Value {
    json!({"action": "accept", "content": content})
}

/// Calls a tool, expects a task, and returns its id.
pub(crate) async fn start(peer: &mut Peer, tool: &str, arguments: Value) -> String {
    let created = peer.result_of(call(tool, arguments)).await;
    assert_eq!(created["resultType"], "task", "{created}");
    id_of(&created)
}

/// Returns the id of a task.
pub(crate) fn id_of(task: &Value) -> String {
    task["taskId"]
        .as_str()
        .expect("a task has an id")
        .to_owned()
}

/// Polls until the task has this status, and returns it.
pub(crate) async fn wait_for(peer: &mut Peer, id: &str, status: &str) -> Value {
    within(async {
        loop {
            let task = peer.result_of(get(id)).await;
            if task["status"] == status {
                return task;
            }
            let ended = ["completed", "failed", "cancelled"];
            let ended = ended.iter().any(|ended| task["status"] == *ended);
            assert!(!ended, "expected {status}: {task}");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await
}
