//! Calls that become tasks on a 2026-07-28 server.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use toolwire::testing::assert_text;

use super::super::{
    builder, expect_call, input_required, outcome_of, roots, spawn_call, spawn_tool_call,
};
use super::{
    completed, create, created, expect_cancel, expect_poll, modern, respond_to_poll, task, text,
    with_tasks,
};

const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// Returns `true` if the duration differs from these milliseconds by at most a tenth.
fn is_about(duration: Duration, milliseconds: u64) -> bool {
    let (shortest, longest) = (milliseconds * 9 / 10, milliseconds * 11 / 10);
    // The clock of the runtime rounds up to milliseconds.
    (Duration::from_millis(shortest)..=Duration::from_millis(longest + 2)).contains(&duration)
}

#[tokio::test(start_paused = true)]
async fn call_waits_for_its_task() {
    let (client, mut server) = modern(with_tasks()).await;
    let call = spawn_tool_call(&client, "render");
    let request = expect_call(&mut server, "render").await;
    let declared = &request.meta(CAPABILITIES)["extensions"];
    assert_eq!(declared, &json!({EXTENSION: {}}));
    assert_eq!(request.params.get("task"), None);
    server.respond(&request, created()).await;

    let start = Instant::now();
    let poll = expect_poll(&mut server).await;
    assert!(is_about(start.elapsed(), 2000), "{:?}", start.elapsed());
    assert_eq!(poll.meta(CAPABILITIES), request.meta(CAPABILITIES));
    let working = task("working", json!({"resultType": "complete"}));
    server.respond(&poll, working).await;
    respond_to_poll(&mut server, completed(text("done"))).await;
    assert_text(&outcome_of(call).await.expect("a result"), "done");
    server.expect_silence().await;
    assert_eq!(client.pending_operations(), 0);
}

#[tokio::test(start_paused = true)]
async fn raw_request_waits_for_its_task() {
    let (client, mut server) = modern(with_tasks()).await;
    let call = spawn_call(client.request("tools/call", json!({"name": "render"})));
    create(&mut server).await;
    let mut result = text("done");
    result["resultType"] = json!("complete");
    respond_to_poll(&mut server, completed(result.clone())).await;
    let outcome = outcome_of(call).await.expect("a result");
    assert_eq!(outcome.to_value().expect("JSON"), result);

    let call = client.request("tools/call", json!({"name": "render"}));
    let call = spawn_call(call.without_input_handling());
    create(&mut server).await;
    let outcome = outcome_of(call).await.expect("a result");
    assert_eq!(outcome.to_value().expect("JSON"), created());
}

#[tokio::test(start_paused = true)]
async fn server_may_return_the_result_at_once() {
    let (client, mut server) = modern(with_tasks()).await;
    let call = spawn_tool_call(&client, "render");
    let request = expect_call(&mut server, "render").await;
    server.respond(&request, text("done")).await;
    assert_text(&outcome_of(call).await.expect("a result"), "done");
    server.expect_silence().await;
}

#[tokio::test(start_paused = true)]
async fn task_without_the_declared_extension_is_a_protocol_violation() {
    let (client, mut server) = modern(builder()).await;
    let call = spawn_tool_call(&client, "render");
    create(&mut server).await;
    let error = outcome_of(call).await.expect_err("not declared");
    assert!(error.is_protocol_violation(), "{error}");
    server.expect_silence().await;
}

#[tokio::test(start_paused = true)]
async fn newest_poll_interval_counts() {
    let (client, mut server) = modern(with_tasks()).await;
    let call = spawn_tool_call(&client, "render");
    create(&mut server).await;
    let mut expected = 2000;
    for (interval, next) in [
        (json!(500), 500),
        (json!(1), 100),
        (json!(90_000), 60_000),
        (Value::Null, 1000),
    ] {
        let start = Instant::now();
        let poll = expect_poll(&mut server).await;
        let waited = start.elapsed();
        assert!(is_about(waited, expected), "{waited:?} {expected}");
        let members = json!({"resultType": "complete", "pollIntervalMs": interval});
        server.respond(&poll, task("working", members)).await;
        expected = next;
    }
    let start = Instant::now();
    respond_to_poll(&mut server, completed(text("done"))).await;
    assert!(is_about(start.elapsed(), expected));
    outcome_of(call).await.expect("a result");
}

#[tokio::test(start_paused = true)]
async fn failed_polls_do_not_end_the_wait() {
    let (client, mut server) = modern(with_tasks()).await;
    let call = client.call_tool("render", json!({}));
    let call = spawn_call(call.with_timeout(Duration::from_secs(1)));
    create(&mut server).await;
    let poll = expect_poll(&mut server).await;
    server
        .respond_error(&poll, -32603, "the database is locked", Value::Null)
        .await;
    let start = Instant::now();
    let poll = expect_poll(&mut server).await;
    assert!(is_about(start.elapsed(), 4000), "{:?}", start.elapsed());
    // This one times out.
    let cancelled = server.expect_notification("notifications/cancelled").await;
    assert_eq!(cancelled.params["requestId"], poll.id);
    let start = Instant::now();
    respond_to_poll(&mut server, completed(text("done"))).await;
    assert!(is_about(start.elapsed(), 8000), "{:?}", start.elapsed());
    assert_text(&outcome_of(call).await.expect("a result"), "done");
}

#[tokio::test(start_paused = true)]
async fn dropped_call_cancels_its_task() {
    let (client, mut server) = modern(with_tasks()).await;
    let call = spawn_tool_call(&client, "render");
    create(&mut server).await;
    respond_to_poll(&mut server, task("working", json!({}))).await;
    server.expect_silence().await;
    call.abort();
    expect_cancel(&mut server).await;
    server.expect_silence().await;
    assert_eq!(client.pending_operations(), 0);
}

#[tokio::test(start_paused = true)]
async fn closing_the_client_delivers_the_cancellation_of_a_task() {
    let (client, mut server) = modern(with_tasks()).await;
    let call = spawn_tool_call(&client, "render");
    create(&mut server).await;
    server.expect_silence().await;
    call.abort();
    assert!(call.await.expect_err("aborted").is_cancelled());
    let closing = tokio::spawn(async move { client.close().await });
    expect_cancel(&mut server).await;
    closing.await.expect("no panic");
    server.expect_disconnect().await;
}

#[tokio::test(start_paused = true)]
async fn call_with_input_rounds_may_become_a_task() {
    let builder = with_tasks().with_roots([]);
    let (client, mut server) = modern(builder).await;
    let call = spawn_tool_call(&client, "render");
    let request = expect_call(&mut server, "render").await;
    let rounds = input_required(&[roots()], Some("state"));
    server.respond(&request, rounds).await;
    let request = expect_call(&mut server, "render").await;
    assert_eq!(request.params["requestState"], "state");
    server.respond(&request, created()).await;
    respond_to_poll(&mut server, completed(text("done"))).await;
    assert_text(&outcome_of(call).await.expect("a result"), "done");
}

#[tokio::test(start_paused = true)]
async fn listener_gets_each_change_of_the_status_once() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let listener = Arc::clone(&seen);
    let builder = with_tasks().on_task_status(move |task| {
        let message = task.task.status_message.unwrap_or_default();
        listener
            .lock()
            .expect("no panic")
            .push((task.task.status.is_terminal(), message));
    });
    let (client, mut server) = modern(builder).await;
    let call = spawn_tool_call(&client, "render");
    create(&mut server).await;
    for message in ["1/3", "1/3", "2/3"] {
        let working = task("working", json!({"statusMessage": message}));
        respond_to_poll(&mut server, working).await;
    }
    respond_to_poll(&mut server, completed(text("done"))).await;
    outcome_of(call).await.expect("a result");
    let expected = [(false, ""), (false, "1/3"), (false, "2/3"), (true, "")];
    let seen = seen.lock().expect("no panic");
    let seen: Vec<_> = seen
        .iter()
        .map(|(end, text)| (*end, text.as_str()))
        .collect();
    assert_eq!(seen, expected);
}
