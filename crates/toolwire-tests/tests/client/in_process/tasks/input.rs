//! Input requests of running tasks.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tokio::sync::Semaphore;
use toolwire::testing::{ScriptedServer, assert_text};
use toolwire::types::{ElicitResult, Root};

use super::super::{elicitation, outcome_of, roots, spawn_tool_call};
use super::{
    asking, completed, create, expect_cancel, expect_poll, interactive, modern, respond_to_poll,
    task, text, with_tasks,
};

/// Expects `tasks/update` with these responses, and acknowledges it.
async fn expect_update(server: &mut ScriptedServer, responses: Value) {
    let update = server.expect("tasks/update").await;
    assert_eq!(update.params["taskId"], "t1", "{update}");
    assert_eq!(update.params["inputResponses"], responses, "{update}");
    server
        .respond(&update, json!({"resultType": "complete"}))
        .await;
}

fn accepted() -> Value {
    json!({"action": "accept", "content": {"name": "Ada"}})
}

#[tokio::test(start_paused = true)]
async fn each_response_is_sent_as_soon_as_it_exists() {
    let shown = Arc::new(AtomicUsize::new(0));
    let permits = Arc::new(Semaphore::new(0));
    let (count, gate) = (Arc::clone(&shown), Arc::clone(&permits));
    let builder = with_tasks()
        .with_roots([Root::new("file:///project")])
        .on_elicitation(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
            let gate = Arc::clone(&gate);
            async move {
                gate.acquire().await.expect("open").forget();
                Ok(ElicitResult::accept().with_content([("name", "Ada")]))
            }
        });
    let (client, mut server) = modern(builder).await;
    let call = spawn_tool_call(&client, "render");
    create(&mut server).await;
    let all = json!({"where": roots(), "who": elicitation(), "whom": elicitation()});
    respond_to_poll(&mut server, asking(all.clone())).await;
    expect_update(
        &mut server,
        json!({"where": {"roots": [{"uri": "file:///project"}]}}),
    )
    .await;
    // The user takes longer than 60 polls. The form is shown once.
    for _ in 0..100 {
        respond_to_poll(&mut server, asking(all.clone())).await;
    }
    assert_eq!(shown.load(Ordering::Relaxed), 1);
    permits.add_permits(1);
    expect_update(&mut server, json!({"who": accepted()})).await;
    // The last input request is obsolete before its form is complete, and the next one is new.
    respond_to_poll(&mut server, task("working", json!({}))).await;
    permits.add_permits(1);
    expect_update(&mut server, json!({"whom": accepted()})).await;
    let again = json!({"who~2": elicitation()});
    respond_to_poll(&mut server, asking(again)).await;
    permits.add_permits(1);
    expect_update(&mut server, json!({"who~2": accepted()})).await;
    assert_eq!(shown.load(Ordering::Relaxed), 3);
    respond_to_poll(&mut server, completed(text("hello Ada"))).await;
    assert_text(&outcome_of(call).await.expect("a result"), "hello Ada");
    assert_eq!(client.pending_operations(), 0);
}

#[tokio::test(start_paused = true)]
async fn task_that_becomes_final_ends_a_running_handler() {
    let ended = Arc::new(Semaphore::new(0));
    let guard = Arc::clone(&ended);
    let builder = with_tasks().on_elicitation(move |_| {
        let permit = AddPermit(Arc::clone(&guard));
        async move {
            let _permit = permit;
            std::future::pending().await
        }
    });
    let (client, mut server) = modern(builder).await;
    let call = spawn_tool_call(&client, "render");
    create(&mut server).await;
    respond_to_poll(&mut server, asking(json!({"who": elicitation()}))).await;
    respond_to_poll(&mut server, task("cancelled", json!({}))).await;
    let error = outcome_of(call).await.expect_err("cancelled");
    assert!(error.is_task_cancelled(), "{error}");
    ended.acquire().await.expect("open").forget();
}

/// Adds a permit when it is dropped.
struct AddPermit(Arc<Semaphore>);

impl Drop for AddPermit {
    fn drop(&mut self) {
        self.0.add_permits(1);
    }
}

#[tokio::test(start_paused = true)]
async fn lost_response_is_sent_again() {
    let (client, mut server) = modern(interactive()).await;
    let call = spawn_tool_call(&client, "render");
    create(&mut server).await;
    let asked = json!({"who": elicitation()});
    respond_to_poll(&mut server, asking(asked.clone())).await;
    let update = server.expect("tasks/update").await;
    server
        .respond_error(&update, -32603, "the database is locked", Value::Null)
        .await;
    expect_update(&mut server, json!({"who": accepted()})).await;
    respond_to_poll(&mut server, completed(text("done"))).await;
    assert_text(&outcome_of(call).await.expect("a result"), "done");
}

#[tokio::test(start_paused = true)]
async fn rejected_response_ends_the_call() {
    for is_gone in [false, true] {
        let (client, mut server) = modern(interactive()).await;
        let call = spawn_tool_call(&client, "render");
        create(&mut server).await;
        respond_to_poll(&mut server, asking(json!({"who": elicitation()}))).await;
        let update = server.expect("tasks/update").await;
        server
            .respond_error(&update, -32602, "name: too short", Value::Null)
            .await;
        // Only a poll shows whether the response or the task was rejected.
        let poll = expect_poll(&mut server).await;
        if is_gone {
            server
                .respond_error(&poll, -32602, "unknown task", Value::Null)
                .await;
            let error = outcome_of(call).await.expect_err("gone");
            assert!(error.is_task_gone(), "{error}");
        } else {
            let asked = asking(json!({"who": elicitation()}));
            server.respond(&poll, asked).await;
            let error = outcome_of(call).await.expect_err("rejected");
            assert_eq!(error.rpc().map(|rpc| rpc.code), Some(-32602), "{error}");
            expect_cancel(&mut server).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn input_request_without_a_handler_cancels_the_task() {
    let (client, mut server) = modern(with_tasks()).await;
    let call = spawn_tool_call(&client, "render");
    create(&mut server).await;
    respond_to_poll(&mut server, asking(json!({"who": elicitation()}))).await;
    expect_cancel(&mut server).await;
    let error = outcome_of(call).await.expect_err("no handler");
    assert!(error.is_invalid_request(), "{error}");
    assert!(error.to_string().contains("\"who\""), "{error}");
}

#[tokio::test(start_paused = true)]
async fn task_that_ignores_its_responses_is_given_up_after_60_polls() {
    let (client, mut server) = modern(interactive()).await;
    let call = spawn_tool_call(&client, "render");
    create(&mut server).await;
    let asked = asking(json!({"who": elicitation()}));
    respond_to_poll(&mut server, asked.clone()).await;
    expect_update(&mut server, json!({"who": accepted()})).await;
    for _ in 0..60 {
        respond_to_poll(&mut server, asked.clone()).await;
    }
    expect_cancel(&mut server).await;
    let error = outcome_of(call).await.expect_err("no progress");
    assert!(error.is_limit(), "{error}");
}

#[tokio::test(start_paused = true)]
async fn wait_that_gives_up_cancels_the_task() {
    let (client, mut server) = modern(interactive()).await;
    let task = client.task("t1");
    let waiting = tokio::spawn(async move { task.wait().await });
    let asked = asking(json!({"who": elicitation()}));
    respond_to_poll(&mut server, asked.clone()).await;
    expect_update(&mut server, json!({"who": accepted()})).await;
    for _ in 0..60 {
        respond_to_poll(&mut server, asked.clone()).await;
    }
    expect_cancel(&mut server).await;
    let error = waiting.await.expect("no panic").expect_err("no progress");
    assert!(error.is_limit(), "{error}");
}
