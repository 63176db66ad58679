//! Calls that become tasks on a 2025-11-25 server.

use std::time::Duration;

use serde_json::{Value, json};
use toolwire::testing::{ReceivedMessage, ScriptedServer, assert_text};
use toolwire::{Called, Client};

use super::super::{expect_call, form, outcome_of, spawn_call, spawn_tool_call, text};
use super::{interactive, legacy, with_tasks};

/// Returns a task of the core design.
fn task(status: &str) -> Value {
    json!({
        "taskId": "t1",
        "status": status,
        "createdAt": "2025-11-25T10:00:00Z",
        "lastUpdatedAt": "2025-11-25T10:00:00Z",
        "ttl": 60_000,
        "pollInterval": 500,
    })
}

fn tools() -> Value {
    let tool = |name: &str, execution: Value| json!({"name": name, "inputSchema": {"type": "object"}, "execution": execution});
    json!({"tools": [
        tool("render", json!({"taskSupport": "required"})),
        tool("draw", json!({"taskSupport": "optional"})),
        tool("show", json!({"taskSupport": "forbidden"})),
        tool("print", json!({})),
    ]})
}

/// Connects to a server, and lists its tools.
async fn connect() -> (Client, ScriptedServer) {
    let (client, mut server) = legacy(interactive()).await;
    let listing = client.list_tools();
    let (listed, ()) = tokio::join!(listing.into_future(), async {
        let request = server.expect("tools/list").await;
        server.respond(&request, tools()).await;
    });
    assert_eq!(listed.expect("tools").len(), 4);
    (client, server)
}

/// Responds to the call of the tool `render` with a task.
async fn create(server: &mut ScriptedServer) -> ReceivedMessage {
    let call = expect_call(server, "render").await;
    assert_eq!(call.params["task"], json!({}), "{call}");
    server
        .respond(&call, json!({"task": task("working")}))
        .await;
    call
}

async fn respond_to_poll(server: &mut ScriptedServer, status: &str) {
    let poll = server.expect("tasks/get").await;
    assert_eq!(poll.params["taskId"], "t1", "{poll}");
    server.respond(&poll, task(status)).await;
}

async fn expect_fetch(server: &mut ScriptedServer) -> ReceivedMessage {
    let fetch = server.expect("tasks/result").await;
    assert_eq!(fetch.params["taskId"], "t1", "{fetch}");
    fetch
}

#[tokio::test(start_paused = true)]
async fn extension_is_not_declared_in_the_handshake() {
    let (mut server, connecting) = ScriptedServer::listening(with_tasks());
    let connecting = tokio::spawn(connecting);
    server.accept().await;
    let probe = server.expect("server/discover").await;
    server
        .respond_error(&probe, -32601, "unknown method", Value::Null)
        .await;
    let request = server.expect("initialize").await;
    let capabilities = &request.params["capabilities"];
    assert_eq!(
        capabilities["extensions"].get("io.modelcontextprotocol/tasks"),
        None
    );
    assert_eq!(capabilities.get("tasks"), None);
    drop(connecting);
}

#[tokio::test(start_paused = true)]
async fn tool_that_requires_a_task_is_called_as_one() {
    let (client, mut server) = connect().await;
    let call = spawn_tool_call(&client, "render");
    create(&mut server).await;
    respond_to_poll(&mut server, "working").await;
    respond_to_poll(&mut server, "completed").await;
    let fetch = expect_fetch(&mut server).await;
    server.respond(&fetch, text("done")).await;
    assert_text(&outcome_of(call).await.expect("a result"), "done");
    server.expect_silence().await;
}

#[tokio::test(start_paused = true)]
async fn progress_continues_until_the_task_is_final() {
    let (client, mut server) = connect().await;
    let (call, mut progress) = client.call_tool("render", json!({})).with_progress();
    let call = spawn_call(call);
    let request = create(&mut server).await;
    let token = request.meta("progressToken").clone();
    assert!(token.is_number(), "{request}");
    for step in 1..=2 {
        let report = json!({"progressToken": token, "progress": step});
        server.notify("notifications/progress", report).await;
        let report = progress.next().await.expect("a report");
        assert_eq!(report.progress, f64::from(step));
        respond_to_poll(&mut server, "working").await;
    }
    respond_to_poll(&mut server, "completed").await;
    let fetch = expect_fetch(&mut server).await;
    server.respond(&fetch, text("done")).await;
    assert_text(&outcome_of(call).await.expect("a result"), "done");
    assert_eq!(progress.next().await, None);
    assert_eq!(client.pending_operations(), 0);
}

#[tokio::test(start_paused = true)]
async fn total_timeout_interrupts_a_request_about_the_task() {
    let (client, mut server) = connect().await;
    let call = client.call_tool("render", json!({}));
    let call = spawn_call(call.with_max_timeout(Duration::from_secs(5)));
    create(&mut server).await;
    respond_to_poll(&mut server, "input_required").await;
    let fetch = expect_fetch(&mut server).await;
    let cancelled = server.expect_notification("notifications/cancelled").await;
    assert_eq!(cancelled.params["requestId"], fetch.id);
    server.expect("tasks/cancel").await;
    let error = outcome_of(call).await.expect_err("too late");
    assert!(error.is_timeout(), "{error}");
}

#[tokio::test(start_paused = true)]
async fn tools_are_listed_before_the_first_call() {
    let (client, mut server) = legacy(with_tasks()).await;
    let call = spawn_tool_call(&client, "render");
    let list = server.expect("tools/list").await;
    server.respond(&list, tools()).await;
    create(&mut server).await;
    respond_to_poll(&mut server, "completed").await;
    let fetch = expect_fetch(&mut server).await;
    server.respond(&fetch, text("done")).await;
    assert_text(&outcome_of(call).await.expect("a result"), "done");
}

#[tokio::test(start_paused = true)]
async fn task_is_requested_only_if_the_tool_or_the_caller_wants_it() {
    let (client, mut server) = connect().await;
    for tool in ["draw", "show", "print", "unknown"] {
        let call = spawn_tool_call(&client, tool);
        let request = expect_call(&mut server, tool).await;
        assert_eq!(request.params.get("task"), None, "{request}");
        server.respond(&request, text("done")).await;
        outcome_of(call).await.expect("a result");
    }
    for (tool, expected) in [("draw", Some(&json!({}))), ("show", None), ("print", None)] {
        let call = spawn_call(client.call_tool(tool, json!({})).as_task());
        let request = expect_call(&mut server, tool).await;
        assert_eq!(request.params.get("task"), expected, "{request}");
        server.respond(&request, text("done")).await;
        match outcome_of(call).await.expect("a result") {
            Called::Completed(result) => assert_text(&result, "done"),
            Called::Task(task) => panic!("{task:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn task_is_not_requested_without_the_option_of_the_client() {
    let (client, mut server) = legacy(super::super::builder()).await;
    let call = spawn_tool_call(&client, "render");
    let request = expect_call(&mut server, "render").await;
    assert_eq!(request.params.get("task"), None, "{request}");
    server.respond(&request, text("done")).await;
    outcome_of(call).await.expect("a result");
}

#[tokio::test(start_paused = true)]
async fn server_may_ignore_the_request_for_a_task() {
    let (client, mut server) = connect().await;
    let call = spawn_tool_call(&client, "render");
    let request = expect_call(&mut server, "render").await;
    server.respond(&request, text("done")).await;
    assert_text(&outcome_of(call).await.expect("a result"), "done");
}

#[tokio::test(start_paused = true)]
async fn input_is_requested_while_the_result_is_fetched() {
    let (client, mut server) = connect().await;
    let call = spawn_tool_call(&client, "render");
    create(&mut server).await;
    respond_to_poll(&mut server, "input_required").await;
    let fetch = expect_fetch(&mut server).await;
    let mut question = form();
    question["_meta"] = json!({"io.modelcontextprotocol/related-task": {"taskId": "t1"}});
    server.ask("q", "elicitation/create", question).await;
    let response = server.expect_response("q").await.expect("a response");
    assert_eq!(response["content"], json!({"name": "Ada"}));
    server.respond(&fetch, text("hello Ada")).await;
    assert_text(&outcome_of(call).await.expect("a result"), "hello Ada");
}

#[tokio::test(start_paused = true)]
async fn failed_task_returns_its_error_or_its_result() {
    for is_error in [true, false] {
        let (client, mut server) = connect().await;
        let call = spawn_tool_call(&client, "render");
        create(&mut server).await;
        respond_to_poll(&mut server, "failed").await;
        let fetch = expect_fetch(&mut server).await;
        if is_error {
            server
                .respond_error(&fetch, -32602, "no scene", Value::Null)
                .await;
            let error = outcome_of(call).await.expect_err("it failed");
            let rpc = error.rpc().expect("the error of the task");
            assert_eq!((rpc.code, &*rpc.message), (-32602, "no scene"));
        } else {
            let mut result = text("no scene");
            result["isError"] = json!(true);
            server.respond(&fetch, result).await;
            let result = outcome_of(call).await.expect("a result");
            assert_eq!(result.is_error, Some(true));
        }
        server.expect_silence().await;
    }
}

#[tokio::test(start_paused = true)]
async fn error_of_a_task_that_was_not_final_is_read_again() {
    let (client, mut server) = connect().await;
    let call = spawn_tool_call(&client, "render");
    create(&mut server).await;
    respond_to_poll(&mut server, "input_required").await;
    let fetch = expect_fetch(&mut server).await;
    server
        .respond_error(&fetch, -32603, "cancelled", Value::Null)
        .await;
    respond_to_poll(&mut server, "cancelled").await;
    let error = outcome_of(call).await.expect_err("cancelled");
    assert!(error.is_task_cancelled(), "{error}");
    server.expect_silence().await;
}

#[tokio::test(start_paused = true)]
async fn unknown_task_is_gone() {
    let (client, mut server) = connect().await;
    let call = spawn_tool_call(&client, "render");
    create(&mut server).await;
    let poll = server.expect("tasks/get").await;
    server
        .respond_error(&poll, -32602, "unknown task", Value::Null)
        .await;
    let error = outcome_of(call).await.expect_err("gone");
    assert!(error.is_task_gone(), "{error}");
}

#[tokio::test(start_paused = true)]
async fn dropped_call_cancels_its_task() {
    let (client, mut server) = connect().await;
    let call = spawn_tool_call(&client, "render");
    create(&mut server).await;
    respond_to_poll(&mut server, "working").await;
    server.expect_silence().await;
    call.abort();
    let cancel = server.expect("tasks/cancel").await;
    assert_eq!(cancel.params["taskId"], "t1");
    server.respond(&cancel, task("cancelled")).await;
    server.expect_silence().await;
}

#[tokio::test(start_paused = true)]
async fn malformed_task_is_a_protocol_violation() {
    let mut without_id = task("working");
    without_id["taskId"] = Value::Null;
    for malformed in [json!({}), without_id, task("paused"), json!("t1")] {
        let (client, mut server) = connect().await;
        let call = spawn_tool_call(&client, "render");
        let request = expect_call(&mut server, "render").await;
        server.respond(&request, json!({ "task": malformed })).await;
        let error = outcome_of(call).await.expect_err("malformed");
        assert!(error.is_protocol_violation(), "{malformed}: {error}");
    }
}

#[tokio::test(start_paused = true)]
async fn all_pages_of_tasks_are_listed() {
    let (client, mut server) = connect().await;
    let listing = client.list_tasks();
    let (listed, ()) = tokio::join!(listing.into_future(), async {
        let page = server.expect("tasks/list").await;
        let tasks = json!({"tasks": [task("working")], "nextCursor": "n"});
        server.respond(&page, tasks).await;
        let page = server.expect("tasks/list").await;
        assert_eq!(page.params["cursor"], "n");
        server
            .respond(&page, json!({"tasks": [task("completed")]}))
            .await;
    });
    let listed = listed.expect("tasks");
    let ends: Vec<_> = listed
        .iter()
        .map(|task| task.status.is_terminal())
        .collect();
    assert_eq!(ends, [false, true]);
}

#[tokio::test(start_paused = true)]
async fn handle_waits_and_responds_to_no_key() {
    let (client, mut server) = connect().await;
    let handle = client.task("t1");
    let error = handle.respond("who", json!({})).await.expect_err("no keys");
    assert!(error.is_invalid_request(), "{error}");
    let (result, ()) = tokio::join!(handle.wait(), async {
        respond_to_poll(&mut server, "completed").await;
        let fetch = expect_fetch(&mut server).await;
        server.respond(&fetch, text("done")).await;
    });
    assert_text(&result.expect("a result"), "done");
}
