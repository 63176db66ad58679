//! Tasks that the caller gets as a handle, or by a stored id.

use serde_json::{Value, json};
use tokio::time::Instant;
use toolwire::testing::assert_text;
use toolwire::types::ElicitResult;
use toolwire::types::tasks::TaskStatus;
use toolwire::{Called, Client, TaskHandle};

use super::super::{builder, elicitation, expect_call, outcome_of, spawn_call};
use super::{
    asking, completed, create, expect_cancel, expect_poll, modern, respond_to_poll, task, text,
    with_tasks,
};

/// Calls the tool `render` as a task.
async fn start(client: &Client, server: &mut toolwire::testing::ScriptedServer) -> TaskHandle {
    let call = spawn_call(client.call_tool("render", json!({})).as_task());
    create(server).await;
    match outcome_of(call).await.expect("a task") {
        Called::Task(task) => task,
        Called::Completed(result) => panic!("{result:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn call_as_task_returns_the_task_at_once() {
    let (client, mut server) = modern(with_tasks()).await;
    let before = Instant::now();
    let handle = start(&client, &mut server).await;
    assert_eq!(handle.id(), "t1");
    assert!(before.elapsed().is_zero());
    // A dropped handle cancels nothing.
    drop(handle.clone());
    server.expect_silence().await;
    let (result, ()) = tokio::join!(handle.wait(), async {
        expect_poll_after_the_interval(&mut server, before).await;
    });
    assert_text(&result.expect("a result"), "done");
    server.expect_silence().await;
}

async fn expect_poll_after_the_interval(
    server: &mut toolwire::testing::ScriptedServer,
    start: Instant,
) {
    let poll = expect_poll(server).await;
    assert!(start.elapsed().as_millis() >= 1800, "{:?}", start.elapsed());
    server.respond(&poll, completed(text("done"))).await;
}

#[tokio::test(start_paused = true)]
async fn result_of_a_handle_is_validated_as_that_of_a_call() {
    let schema = json!({
        "type": "object",
        "properties": {"frames": {"type": "integer"}},
        "required": ["frames"],
    });
    let tool = json!({"name": "render", "inputSchema": {"type": "object"}, "outputSchema": schema});
    let (client, mut server) = modern(with_tasks().with_output_validation()).await;
    let listing = spawn_call(client.list_tools_page(None));
    let list = server.expect("tools/list").await;
    server.respond(&list, json!({"tools": [tool]})).await;
    outcome_of(listing).await.expect("a list of tools");
    let with_frames = |frames: Value| {
        let mut result = text("done");
        result["structuredContent"] = json!({"frames": frames});
        completed(result)
    };

    let call = spawn_call(client.call_tool("render", json!({})));
    create(&mut server).await;
    respond_to_poll(&mut server, with_frames(json!("many"))).await;
    let of_call = outcome_of(call).await.expect_err("an invalid result");
    assert!(of_call.is_protocol_violation(), "{of_call}");
    let handle = start(&client, &mut server).await;
    let invalid = respond_to_poll(&mut server, with_frames(json!("many")));
    let (result, ()) = tokio::join!(handle.wait(), invalid);
    let of_handle = result.expect_err("an invalid result");
    assert!(of_handle.is_protocol_violation(), "{of_handle}");
    assert_eq!(of_handle.to_string(), of_call.to_string());
    let valid = respond_to_poll(&mut server, with_frames(json!(240)));
    let (result, ()) = tokio::join!(handle.wait(), valid);
    assert_text(&result.expect("a valid result"), "done");

    // An id does not name the tool.
    let unknown_tool = respond_to_poll(&mut server, with_frames(json!("many")));
    let handle = client.task("t1");
    let (result, ()) = tokio::join!(handle.wait(), unknown_tool);
    assert_text(&result.expect("an unchecked result"), "done");
}

#[tokio::test(start_paused = true)]
async fn call_as_task_may_return_a_result() {
    let (client, mut server) = modern(with_tasks()).await;
    let call = spawn_call(client.call_tool("render", json!({})).as_task());
    let request = expect_call(&mut server, "render").await;
    server.respond(&request, text("done")).await;
    match outcome_of(call).await.expect("a result") {
        Called::Completed(result) => assert_text(&result, "done"),
        Called::Task(task) => panic!("{task:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn call_as_task_requires_the_option_of_the_client() {
    let (client, mut server) = modern(builder()).await;
    let call = client.call_tool("render", json!({})).as_task();
    let error = call.await.expect_err("no tasks");
    assert!(error.is_invalid_request(), "{error}");
    assert!(error.to_string().contains("with_tasks"), "{error}");
    server.expect_silence().await;
}

#[tokio::test(start_paused = true)]
async fn stored_id_continues_with_a_task() {
    let (client, mut server) = modern(with_tasks()).await;
    let handle = client.task("t1");
    let before = Instant::now();
    let (result, ()) = tokio::join!(handle.wait(), async {
        respond_to_poll(&mut server, task("working", json!({}))).await;
        // The first poll comes at once, because the client does not know the task yet.
        assert!(before.elapsed().is_zero());
        respond_to_poll(&mut server, completed(text("done"))).await;
    });
    assert_text(&result.expect("a result"), "done");
}

#[tokio::test(start_paused = true)]
async fn dropped_wait_of_a_handle_cancels_nothing() {
    let (client, mut server) = modern(with_tasks()).await;
    let handle = client.task("t1");
    let waiting = tokio::spawn(async move { handle.wait().await });
    respond_to_poll(&mut server, task("working", json!({}))).await;
    server.expect_silence().await;
    waiting.abort();
    assert!(waiting.await.expect_err("aborted").is_cancelled());
    server.expect_silence().await;
    assert_eq!(client.pending_operations(), 0);
}

#[tokio::test(start_paused = true)]
async fn state_has_the_status_and_the_input_requests() {
    let (client, mut server) = modern(with_tasks()).await;
    let handle = client.task("t1");
    let (state, ()) = tokio::join!(handle.get(), async {
        let mut state = asking(json!({"who": elicitation()}));
        state["statusMessage"] = json!("waiting");
        respond_to_poll(&mut server, state).await;
    });
    let state = state.expect("a task");
    assert_eq!(state.task.status, TaskStatus::InputRequired);
    assert_eq!(state.task.status_message.as_deref(), Some("waiting"));
    let requests = state.input_requests.expect("input requests");
    assert!(requests.get("who").is_some());
}

#[tokio::test(start_paused = true)]
async fn response_is_sent_under_its_key() {
    let (client, mut server) = modern(with_tasks()).await;
    let handle = client.task("t1");
    let (sent, ()) = tokio::join!(handle.respond("who", ElicitResult::decline()), async {
        let update = server.expect("tasks/update").await;
        let responses = json!({"who": {"action": "decline"}});
        assert_eq!(update.params["inputResponses"], responses);
        assert_eq!(update.params["taskId"], "t1");
        let acknowledged = json!({"resultType": "complete"});
        server.respond(&update, acknowledged).await;
    });
    sent.expect("acknowledged");
}

#[tokio::test(start_paused = true)]
async fn handle_cancels_its_task() {
    let (client, mut server) = modern(with_tasks()).await;
    let handle = client.task("t1");
    let (cancelled, ()) = tokio::join!(handle.cancel(), expect_cancel(&mut server));
    cancelled.expect("acknowledged");
}

#[tokio::test(start_paused = true)]
async fn input_request_without_a_handler_leaves_the_task() {
    let (client, mut server) = modern(with_tasks()).await;
    let handle = client.task("t1");
    let (result, ()) = tokio::join!(handle.wait(), async {
        respond_to_poll(&mut server, asking(json!({"who": elicitation()}))).await;
    });
    let error = result.expect_err("no handler");
    assert!(error.is_invalid_request(), "{error}");
    server.expect_silence().await;
}

#[tokio::test(start_paused = true)]
async fn unknown_task_is_gone_for_every_method() {
    let (client, mut server) = modern(with_tasks()).await;
    let handle = client.task("t1");
    let mut reject = async |method: &str| {
        let request = server.expect(method).await;
        server
            .respond_error(&request, -32602, "unknown task", Value::Null)
            .await;
    };
    let (state, ()) = tokio::join!(handle.get(), reject("tasks/get"));
    assert!(state.expect_err("unknown").is_task_gone());
    let (cancelled, ()) = tokio::join!(handle.cancel(), reject("tasks/cancel"));
    assert!(cancelled.expect_err("unknown").is_task_gone());
    let (result, ()) = tokio::join!(handle.wait(), reject("tasks/get"));
    assert!(result.expect_err("unknown").is_task_gone());
}
