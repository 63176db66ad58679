//! Servers that send notifications about tasks (`subscriptions/listen` with `taskIds`).

use serde_json::{Value, json};
use tokio::time::Instant;
use toolwire::Client;
use toolwire::testing::{ReceivedMessage, ScriptedServer, assert_text};

use super::super::{outcome_of, spawn_tool_call};
use super::{PATIENT, completed, create, respond_to_poll, task, text, with_tasks};

const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// Connects to a scripted server that declares the extension.
async fn connect() -> (Client, ScriptedServer) {
    let (mut server, connecting) = ScriptedServer::listening(with_tasks());
    let connecting = tokio::spawn(connecting);
    server.accept().await;
    let probe = server.expect("server/discover").await;
    let result = json!({
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}},
    });
    server.respond(&probe, result).await;
    let client = connecting.await.expect("no panic").expect("connected");
    (client, server.with_timeout(PATIENT))
}

async fn acknowledge(server: &ScriptedServer, listen: &ReceivedMessage, accepted: Value) {
    let params = json!({"notifications": accepted, "_meta": {SUBSCRIPTION: listen.id}});
    server
        .notify("notifications/subscriptions/acknowledged", params)
        .await;
}

async fn notify(server: &ScriptedServer, listen: &ReceivedMessage, mut task: Value) {
    task["_meta"] = json!({SUBSCRIPTION: listen.id});
    server.notify("notifications/tasks", task).await;
}

#[tokio::test(start_paused = true)]
async fn notified_task_needs_no_polls() {
    let (client, mut server) = connect().await;
    let call = spawn_tool_call(&client, "render");
    create(&mut server).await;
    let start = Instant::now();
    let listen = server.expect("subscriptions/listen").await;
    let filter = json!({"taskIds": ["t1"]});
    assert_eq!(listen.params["notifications"], filter);
    acknowledge(&server, &listen, filter).await;
    notify(&server, &listen, task("working", json!({}))).await;
    let result = task("completed", json!({"result": text("done")}));
    notify(&server, &listen, result).await;
    assert_text(&outcome_of(call).await.expect("a result"), "done");
    assert!(start.elapsed().is_zero(), "{:?}", start.elapsed());
    let cancelled = server.expect_notification("notifications/cancelled").await;
    assert_eq!(cancelled.params["requestId"], listen.id);
    server.expect_silence().await;
    assert_eq!(client.pending_operations(), 0);
}

#[tokio::test(start_paused = true)]
async fn lost_notification_is_replaced_by_a_poll() {
    let (client, mut server) = connect().await;
    let call = spawn_tool_call(&client, "render");
    create(&mut server).await;
    let listen = server.expect("subscriptions/listen").await;
    acknowledge(&server, &listen, json!({"taskIds": ["t1"]})).await;
    notify(&server, &listen, task("working", json!({}))).await;
    respond_to_poll(&mut server, completed(text("done"))).await;
    assert_text(&outcome_of(call).await.expect("a result"), "done");
}

#[tokio::test(start_paused = true)]
async fn malformed_notification_is_replaced_by_a_poll() {
    let (client, mut server) = connect().await;
    let call = spawn_tool_call(&client, "render");
    create(&mut server).await;
    let listen = server.expect("subscriptions/listen").await;
    acknowledge(&server, &listen, json!({"taskIds": ["t1"]})).await;
    notify(&server, &listen, task("completed", json!({}))).await;
    respond_to_poll(&mut server, completed(text("done"))).await;
    assert_text(&outcome_of(call).await.expect("a result"), "done");
}

#[tokio::test(start_paused = true)]
async fn server_that_grants_no_notifications_is_polled() {
    for is_rejected in [true, false] {
        let (client, mut server) = connect().await;
        let call = spawn_tool_call(&client, "render");
        create(&mut server).await;
        let listen = server.expect("subscriptions/listen").await;
        if is_rejected {
            server
                .respond_error(&listen, -32601, "unknown method", Value::Null)
                .await;
        } else {
            acknowledge(&server, &listen, json!({})).await;
            let cancelled = server.expect_notification("notifications/cancelled").await;
            assert_eq!(cancelled.params["requestId"], listen.id);
        }
        let start = Instant::now();
        respond_to_poll(&mut server, completed(text("done"))).await;
        assert!(start.elapsed().as_millis() <= 2202, "{:?}", start.elapsed());
        assert_text(&outcome_of(call).await.expect("a result"), "done");
    }
}
