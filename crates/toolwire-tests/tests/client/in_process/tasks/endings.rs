//! How tasks of the extension end without a result.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::super::{outcome_of, spawn_call, spawn_tool_call};
use super::{
    completed, create, expect_cancel, expect_poll, modern, respond_to_poll, task, text, with_tasks,
};

#[tokio::test(start_paused = true)]
async fn failed_task_returns_its_error() {
    let (client, mut server) = modern(with_tasks()).await;
    let call = spawn_tool_call(&client, "render");
    create(&mut server).await;
    let error = json!({"code": -32050, "message": "no scene", "data": {"scene": 1}});
    let failed = task("failed", json!({"resultType": "complete", "error": error}));
    respond_to_poll(&mut server, failed).await;
    let error = outcome_of(call).await.expect_err("it failed");
    let rpc = error.rpc().expect("the error of the task");
    assert_eq!((rpc.code, &*rpc.message), (-32050, "no scene"));
    assert!(rpc.data.is_some());
    server.expect_silence().await;
}

#[tokio::test(start_paused = true)]
async fn failed_tool_is_a_result() {
    let (client, mut server) = modern(with_tasks()).await;
    let call = spawn_tool_call(&client, "render");
    create(&mut server).await;
    let mut result = text("no scene");
    result["isError"] = json!(true);
    respond_to_poll(&mut server, completed(result)).await;
    let result = outcome_of(call).await.expect("a result");
    assert_eq!(result.is_error, Some(true));
}

#[tokio::test(start_paused = true)]
async fn cancelled_task_has_an_error_of_its_own() {
    let (client, mut server) = modern(with_tasks()).await;
    let call = spawn_tool_call(&client, "render");
    create(&mut server).await;
    respond_to_poll(&mut server, task("cancelled", json!({}))).await;
    let error = outcome_of(call).await.expect_err("it was cancelled");
    assert!(error.is_task_cancelled(), "{error}");
    assert!(error.rpc().is_none() && !error.is_task_gone());
    assert!(error.to_string().contains("t1"), "{error}");
    server.expect_silence().await;
}

#[tokio::test(start_paused = true)]
async fn unknown_task_is_gone() {
    let (client, mut server) = modern(with_tasks()).await;
    let call = spawn_tool_call(&client, "render");
    create(&mut server).await;
    let poll = expect_poll(&mut server).await;
    server
        .respond_error(&poll, -32602, "unknown task", Value::Null)
        .await;
    let error = outcome_of(call).await.expect_err("it is unknown");
    assert!(
        error.is_task_gone() && !error.is_task_cancelled(),
        "{error}"
    );
    assert!(format!("{error:?}").contains("unknown task"), "{error:?}");
    server.expect_silence().await;
}

#[tokio::test(start_paused = true)]
async fn second_internal_error_in_a_row_ends_the_wait() {
    let (client, mut server) = modern(with_tasks()).await;
    let call = spawn_tool_call(&client, "render");
    create(&mut server).await;
    for _ in 0..2 {
        let poll = expect_poll(&mut server).await;
        server
            .respond_error(&poll, -32603, "broken", Value::Null)
            .await;
    }
    let error = outcome_of(call).await.expect_err("two errors");
    assert_eq!(error.rpc().map(|rpc| rpc.code), Some(-32603));
    expect_cancel(&mut server).await;
}

#[tokio::test(start_paused = true)]
async fn rejected_poll_ends_the_wait() {
    let (client, mut server) = modern(with_tasks()).await;
    let call = spawn_tool_call(&client, "render");
    create(&mut server).await;
    let poll = expect_poll(&mut server).await;
    server
        .respond_error(&poll, -32601, "unknown method", Value::Null)
        .await;
    let error = outcome_of(call).await.expect_err("rejected");
    assert_eq!(error.rpc().map(|rpc| rpc.code), Some(-32601));
    expect_cancel(&mut server).await;
}

#[tokio::test(start_paused = true)]
async fn closed_connection_ends_the_wait() {
    let (client, mut server) = modern(with_tasks()).await;
    let call = spawn_tool_call(&client, "render");
    create(&mut server).await;
    expect_poll(&mut server).await;
    server.disconnect();
    let error = outcome_of(call).await.expect_err("closed");
    assert!(error.is_closed(), "{error}");
}

#[tokio::test(start_paused = true)]
async fn task_that_outlives_its_retention_is_given_up_and_cancelled() {
    let (client, mut server) = modern(with_tasks()).await;
    let call = spawn_tool_call(&client, "render");
    create(&mut server).await;
    let start = Instant::now();
    let poll = loop {
        let message = server.receive().await;
        if message["method"] == "tasks/cancel" {
            break message;
        }
        assert_eq!(message["method"], "tasks/get", "{message}");
        let working = task("working", json!({"ttlMs": 10_000, "pollIntervalMs": 7000}));
        let response = json!({"jsonrpc": "2.0", "id": message["id"], "result": working});
        server.send(response).await;
    };
    assert_eq!(poll["params"]["taskId"], "t1");
    let error = outcome_of(call).await.expect_err("expired");
    assert!(error.is_timeout(), "{error}");
    assert!(error.to_string().contains("t1"), "{error}");
    // The retention of 10 s, and a minute.
    let waited = start.elapsed();
    assert!(
        (Duration::from_secs(70)..Duration::from_secs(71)).contains(&waited),
        "{waited:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn total_timeout_of_a_call_includes_its_task() {
    let (client, mut server) = modern(with_tasks()).await;
    let call = client.call_tool("render", json!({}));
    let call = spawn_call(call.with_max_timeout(Duration::from_secs(3)));
    create(&mut server).await;
    respond_to_poll(&mut server, task("working", json!({}))).await;
    let start = Instant::now();
    expect_cancel(&mut server).await;
    assert!(start.elapsed() < Duration::from_secs(2));
    let error = outcome_of(call).await.expect_err("too late");
    assert!(error.is_timeout(), "{error}");
}

#[tokio::test(start_paused = true)]
async fn malformed_task_is_a_protocol_violation() {
    for malformed in [
        json!({"taskId": null}),
        json!({"taskId": ""}),
        json!({"taskId": 7}),
        json!({"status": "paused"}),
        json!({"createdAt": null}),
    ] {
        let (client, mut server) = modern(with_tasks()).await;
        let call = spawn_tool_call(&client, "render");
        let request = server.expect("tools/call").await;
        let mut result = super::created();
        super::merge(&mut result, malformed.clone());
        server.respond(&request, result).await;
        let error = outcome_of(call).await.expect_err("malformed");
        assert!(error.is_protocol_violation(), "{malformed}: {error}");
        server.expect_silence().await;
    }
}

#[tokio::test(start_paused = true)]
async fn malformed_state_of_a_task_is_a_protocol_violation() {
    for malformed in [
        task("working", json!({"taskId": "another"})),
        task("completed", json!({})),
        task("paused", json!({})),
        task("working", json!({"resultType": "task"})),
        completed(json!({"resultType": "input_required", "requestState": "s"})),
        json!({}),
    ] {
        let (client, mut server) = modern(with_tasks()).await;
        let call = spawn_tool_call(&client, "render");
        create(&mut server).await;
        respond_to_poll(&mut server, malformed.clone()).await;
        let error = outcome_of(call).await.expect_err("malformed");
        assert!(error.is_protocol_violation(), "{malformed}: {error}");
    }
}
