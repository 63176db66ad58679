//! The limits of tasks, at their edges.

use serde_json::{Value, json};
use toolwire::tasks::{TaskOptions, TaskStatus, TaskStore as _, Tasks};
use toolwire::{CallToolResult, Elicit, Error, RequestContext, ToolHandler, ToolResponse, ask};
use toolwire_tests::peer::{Peer, plain};

use crate::peer::{accept, call, cancel, get, server, start, update, wait_for};
use crate::switchable_store::SwitchableStore;

const MIB: usize = 1024 * 1024;

fn forever() -> ToolHandler {
    let tool = plain("forever", |_: RequestContext| {
        std::future::pending::<String>()
    });
    tool.with_task(TaskOptions::new())
}

#[tokio::test]
async fn number_of_running_tasks_is_limited() {
    let tasks = Tasks::in_memory().with_max_running(2);
    let server = toolwire_tests::peer::server()
        .with_tasks(tasks)
        .tool(forever());
    let mut peer = Peer::connect(&server);
    let first = start(&mut peer, "forever", json!({})).await;
    start(&mut peer, "forever", json!({})).await;
    let error = peer.error_of(call("forever", json!({})), -32603).await;
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("2 tasks"), "{message}");
    peer.result_of(cancel(&first)).await;
    // The handler is dropped soon, and then there is capacity again.
    toolwire_tests::peer::within(async {
        while peer
            .call(call("forever", json!({})))
            .await
            .get("result")
            .is_none()
        {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn size_of_a_result_is_limited() {
    // The bytes of a result besides its text.
    let rest = r#"{"content":[{"type":"text","text":""}],"resultType":"complete"}"#.len();
    for (bytes, status) in [
        (4 * MIB - rest, "completed"),
        (4 * MIB - rest + 1, "failed"),
    ] {
        let tool = plain("big", move |_: RequestContext| async move {
            CallToolResult::text("x".repeat(bytes))
        });
        let mut peer = Peer::connect(&server().tool(tool.with_task(TaskOptions::new())));
        let id = start(&mut peer, "big", json!({})).await;
        let task = wait_for(&mut peer, &id, status).await;
        if status == "failed" {
            let message = task["error"]["message"].as_str().unwrap();
            assert!(message.contains("4194304 bytes"), "{message}");
        }
    }
}

/// Starts a task that stores a text of this size with `once`, and returns it when it has this status.
async fn store_text(store: &SwitchableStore, bytes: usize, status: &str) -> Value {
    let tool = plain("stores", move |ctx: RequestContext| async move {
        let stored: String = ctx.once("text", async { "x".repeat(bytes) }).await?;
        Ok::<_, Error>(stored.len().to_string())
    });
    let server = toolwire_tests::peer::server()
        .with_tasks(store.tasks())
        .tool(tool.with_task(TaskOptions::new()));
    let mut peer = Peer::connect(&server);
    let id = start(&mut peer, "stores", json!({})).await;
    wait_for(&mut peer, &id, status).await
}

#[tokio::test]
async fn size_of_stored_results_is_limited() {
    let store = SwitchableStore::default();
    store_text(&store, 100, "completed").await;
    // The bytes of a journal besides the text.
    let rest = store.journal_bytes() - 100;
    store_text(&store, MIB - rest, "completed").await;
    assert_eq!(store.journal_bytes(), MIB);
    let task = store_text(&store, MIB - rest + 1, "failed").await;
    let message = task["error"]["message"].as_str().unwrap();
    assert!(message.contains("1048576 bytes"), "{message}");
}

#[tokio::test]
async fn input_response_beyond_the_limit_changes_nothing() {
    let tool = plain("asks", |ctx: RequestContext| async move {
        let text: String = ctx.ask("text", "Which text?").await?;
        Ok::<_, Error>(text.len().to_string())
    });
    let mut peer = Peer::connect(&server().tool(tool.with_task(TaskOptions::new())));
    let id = start(&mut peer, "asks", json!({})).await;
    let asking = wait_for(&mut peer, &id, "input_required").await;
    let response = |bytes: usize| {
        let content = json!({"value": "x".repeat(bytes)});
        update(&id, "text", accept(content))
    };
    let error = peer.error_of(response(MIB), -32603).await;
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("1048576 bytes"), "{message}");
    assert_eq!(peer.result_of(get(&id)).await, asking);
    peer.result_of(response(10)).await;
    let task = wait_for(&mut peer, &id, "completed").await;
    assert_eq!(task["result"]["content"][0]["text"], "10");
}

#[derive(Debug, serde::Deserialize, Elicit)]
struct Sure {
    #[expect(dead_code, reason = "no form is filled in")]
    sure: bool,
}

#[tokio::test]
async fn number_of_open_input_requests_is_limited() {
    for (count, status) in [(32, "input_required"), (33, "failed")] {
        let tool = plain("asks", move |ctx: RequestContext| async move {
            let forms = (0..count).map(|number| ask::form::<Sure>(format!("k{number}"), "Sure?"));
            let forms: Vec<_> = forms.collect();
            let answers = ctx.ask_all(forms).await?;
            Ok::<_, Error>(answers.len().to_string())
        });
        let mut peer = Peer::connect(&server().tool(tool.with_task(TaskOptions::new())));
        let id = start(&mut peer, "asks", json!({})).await;
        let task = wait_for(&mut peer, &id, status).await;
        if status == "failed" {
            let message = task["error"]["message"].as_str().unwrap();
            assert!(message.contains("32 open input requests"), "{message}");
        }
    }
}

#[tokio::test]
async fn limits_apply_to_tasks_that_another_system_ends() {
    let order = plain("order", |ctx: RequestContext| async move {
        Ok::<_, Error>(ToolResponse::task(ctx.create_task().await?))
    });
    let server = server().tool(order.with_task(TaskOptions::new().on_demand()));
    let mut peer = Peer::connect(&server);
    let id = start(&mut peer, "order", json!({})).await;
    let task = server.task(&id).await.unwrap();
    let task = task.expect("the task exists");
    let rest = r#"{"content":[{"type":"text","text":""}],"resultType":"complete"}"#.len();
    let result = |bytes: usize| CallToolResult::text("x".repeat(bytes - rest));
    let error = task.complete(result(4 * MIB + 1)).await.unwrap_err();
    assert!(error.to_string().contains("4194304 bytes"), "{error}");
    assert_eq!(task.status().await.unwrap(), TaskStatus::Working);

    let mut asking = Vec::new();
    for number in 0..32 {
        let task = task.clone();
        let form = ask::form::<Sure>(format!("k{number}"), "Sure?");
        asking.push(tokio::spawn(async move { task.ask(form).await }));
    }
    let open = async {
        loop {
            let task = peer.result_of(get(&id)).await;
            let open = task["inputRequests"].as_object();
            if open.is_some_and(|open| open.len() == 32) {
                return;
            }
        }
    };
    toolwire_tests::peer::within(open).await;
    let error = task.ask(ask::form::<Sure>("more", "Sure?")).await;
    let error = error.expect_err("the limit is reached");
    assert!(
        error.to_string().contains("32 open input requests"),
        "{error}"
    );
    assert!(task.complete(result(4 * MIB)).await.unwrap());
    for asked in asking {
        assert!(asked.await.unwrap().is_err(), "the task has ended");
    }
}

#[tokio::test]
async fn number_of_restarts_is_limited() {
    let tool = || {
        let tool = plain("resumes", |_: RequestContext| async { "done" });
        tool.with_task(TaskOptions::new().resume())
    };
    let store = SwitchableStore::default();
    // No worker runs the first task.
    let front = toolwire_tests::peer::server()
        .with_tasks(store.tasks().queued())
        .tool(tool());
    let mut peer = Peer::connect(&front);
    let id = start(&mut peer, "resumes", json!({})).await;
    let queued = store.find(&id).await.unwrap().expect("the task exists");
    for restarts in [2, 3] {
        let mut record = (*queued.record).clone();
        // As a process leaves it that is lost while the handler works.
        (record.restarts, record.restartable) = (restarts, false);
        let id = format!("restarted-{restarts}");
        let created = store.create(&id, &queued.principal, record, None);
        created.await.unwrap();
    }
    let server = toolwire_tests::peer::server()
        .with_tasks(store.tasks())
        .tool(tool());
    let mut peer = Peer::connect(&server);
    wait_for(&mut peer, "restarted-2", "completed").await;
    let task = wait_for(&mut peer, "restarted-3", "failed").await;
    let message = task["error"]["message"].as_str().unwrap();
    assert!(message.contains("the server stopped"), "{message}");
}
