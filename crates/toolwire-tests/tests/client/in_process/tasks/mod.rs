//! Tasks: calls whose results a client fetches later, in both designs.

mod core_design;
mod endings;
mod extension;
mod handles;
mod input;
mod notifications;

use std::time::Duration;

use serde_json::{Value, json};
use toolwire::testing::{ReceivedMessage, ScriptedServer};
use toolwire::types::ElicitResult;
use toolwire::{Client, ClientBuilder};

use super::{LEGACY, MODERN, builder, expect_call, text};

/// Longer than any pause between two polls.
const PATIENT: Duration = Duration::from_secs(120);

fn with_tasks() -> ClientBuilder {
    builder().with_tasks()
}

/// Returns the builder of a client that accepts every form.
fn interactive() -> ClientBuilder {
    with_tasks()
        .on_elicitation(|_| async { Ok(ElicitResult::accept().with_content([("name", "Ada")])) })
}

/// Connects to a scripted 2026-07-28 server, which does not offer notifications about tasks.
async fn modern(builder: ClientBuilder) -> (Client, ScriptedServer) {
    let (client, server) = ScriptedServer::connect(builder, MODERN).await;
    (client, server.with_timeout(PATIENT))
}

/// Connects to a scripted 2025-11-25 server that offers tasks.
async fn legacy(builder: ClientBuilder) -> (Client, ScriptedServer) {
    let (client, server) = ScriptedServer::connect(builder, LEGACY).await;
    (client, server.with_timeout(PATIENT))
}

/// Returns a task of the extension with this status and these members.
fn task(status: &str, members: Value) -> Value {
    let mut task = json!({
        "taskId": "t1",
        "status": status,
        "createdAt": "2026-11-17T10:00:00Z",
        "lastUpdatedAt": "2026-11-17T10:00:00Z",
        "ttlMs": 3_600_000,
        "pollIntervalMs": 2000,
    });
    merge(&mut task, members);
    task
}

fn merge(object: &mut Value, members: Value) {
    let Value::Object(members) = members else {
        panic!("the members are an object");
    };
    for (name, value) in members {
        object[name] = value;
    }
}

/// Returns the result of a call that became a task.
fn created() -> Value {
    task("working", json!({"resultType": "task"}))
}

/// Returns the result of `tasks/get` for a completed task.
fn completed(result: Value) -> Value {
    task(
        "completed",
        json!({"resultType": "complete", "result": result}),
    )
}

/// Returns the result of `tasks/get` for a task that requires input.
fn asking(requests: Value) -> Value {
    task(
        "input_required",
        json!({"resultType": "complete", "inputRequests": requests}),
    )
}

/// Responds to the call of the tool `render` with a task.
async fn create(server: &mut ScriptedServer) {
    let call = expect_call(server, "render").await;
    server.respond(&call, created()).await;
}

/// Expects a poll of the task.
async fn expect_poll(server: &mut ScriptedServer) -> ReceivedMessage {
    let poll = server.expect("tasks/get").await;
    assert_eq!(poll.params["taskId"], "t1", "{poll}");
    poll
}

/// Responds to the next poll.
async fn respond_to_poll(server: &mut ScriptedServer, result: Value) {
    let poll = expect_poll(server).await;
    server.respond(&poll, result).await;
}

/// Expects that the client cancels the task.
async fn expect_cancel(server: &mut ScriptedServer) {
    let cancel = server.expect("tasks/cancel").await;
    assert_eq!(cancel.params["taskId"], "t1", "{cancel}");
    server
        .respond(&cancel, json!({"resultType": "complete"}))
        .await;
}
