//! Tasks that another system ends.

use std::time::Duration;

use serde_json::json;
use toolwire::tasks::{ServerTask, TaskOptions, TaskStatus, TaskStore as _, Tasks};
use toolwire::{
    CallToolResult, Called, Client, Elicit, Error, ErrorObject, ProtocolVersion, RequestContext,
    Server, ToolHandler, ToolResponse, ask,
};
use toolwire_tests::peer::{Peer, call as plain_call, plain, within};

use crate::peer::{accept, cancel, get, server, start, update, wait_for};
use crate::switchable_store::SwitchableStore;

#[derive(Debug, serde::Deserialize, Elicit)]
struct Sure {
    sure: bool,
}

fn server_with_orders() -> toolwire::Server {
    let tool = plain("order", |ctx: RequestContext| async move {
        let task = ctx.create_task().await?;
        task.set_status_message("ordered").await?;
        Ok::<_, Error>(ToolResponse::task(task))
    });
    server().tool(tool.with_task(TaskOptions::new().required().on_demand()))
}

async fn order(server: &toolwire::Server, peer: &mut Peer) -> ServerTask {
    let id = start(peer, "order", json!({})).await;
    let task = server.task(&id).await.unwrap();
    task.expect("the task exists")
}

#[tokio::test]
async fn other_code_completes_or_fails_the_task() {
    let server = server_with_orders();
    let mut peer = Peer::connect(&server);
    let task = order(&server, &mut peer).await;
    let shown = peer.result_of(get(task.id())).await;
    assert_eq!(
        (&shown["status"], &shown["statusMessage"]),
        (&json!("working"), &json!("ordered"))
    );
    assert!(
        task.complete(CallToolResult::text("delivered"))
            .await
            .unwrap()
    );
    assert!(!task.fail(ErrorObject::internal("late")).await.unwrap());
    let shown = peer.result_of(get(task.id())).await;
    assert_eq!(
        shown["result"]["content"][0]["text"], "delivered",
        "{shown}"
    );

    let task = order(&server, &mut peer).await;
    assert!(task.fail(ErrorObject::internal("sold out")).await.unwrap());
    let shown = peer.result_of(get(task.id())).await;
    assert_eq!(shown["error"]["message"], "sold out", "{shown}");
    assert!(server.task("unknown").await.unwrap().is_none());
    peer.error_of(plain_call(1, "order", json!({})), -32021)
        .await;
}

#[tokio::test]
async fn other_code_asks_the_client() {
    let server = server_with_orders();
    let mut peer = Peer::connect(&server);
    let task = order(&server, &mut peer).await;
    let asking = {
        let task = task.clone();
        tokio::spawn(async move { task.ask(ask::form::<Sure>("sure", "Sure?")).await })
    };
    wait_for(&mut peer, task.id(), "input_required").await;
    peer.result_of(update(task.id(), "sure", accept(json!({"sure": true}))))
        .await;
    assert!(asking.await.unwrap().unwrap().sure);
    let shown = peer.result_of(get(task.id())).await;
    assert_eq!(shown["status"], "working", "{shown}");

    let asking = {
        let task = task.clone();
        tokio::spawn(async move { task.ask(ask::form::<Sure>("again", "Really?")).await })
    };
    wait_for(&mut peer, task.id(), "input_required").await;
    peer.result_of(cancel(task.id())).await;
    assert!(asking.await.unwrap().is_err());
}

fn order_tool(options: TaskOptions) -> ToolHandler {
    let tool = plain("order", |ctx: RequestContext| async move {
        let task = ctx.create_task().await?;
        assert!(ctx.task_id().is_none_or(|id| id == task.id()));
        Ok::<_, Error>(ToolResponse::task(task))
    });
    tool.with_task(options)
}

/// Waits until no handler of the task runs any more, and returns the task.
async fn left_to_other_system(server: &Server, store: &SwitchableStore, id: &str) -> ServerTask {
    within(async {
        loop {
            let stored = store.find(id).await.unwrap().expect("the task exists");
            if stored.owner.is_none() && !stored.record.runnable {
                assert!(!stored.record.restartable);
                return;
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
    let task = server.task(id).await.unwrap();
    task.expect("the task exists")
}

#[tokio::test(start_paused = true)]
async fn every_client_can_get_a_task_of_another_system() {
    let required = || TaskOptions::new().required();
    for version in [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28] {
        for options in [
            required(),
            required().on_demand(),
            TaskOptions::new().after(Duration::from_secs(60)),
        ] {
            let store = SwitchableStore::default();
            let server = toolwire_tests::peer::server()
                .with_tasks(store.tasks().with_lease(Duration::from_secs(3)))
                .tool(order_tool(options));
            let client = Client::builder("desk", "1")
                .with_tasks()
                .with_versions([version]);
            let client = client.in_process(&server).await.unwrap();
            let called = client.call_tool("order", json!({})).as_task().await;
            let Called::Task(handle) = called.unwrap() else {
                panic!("{version}: the call is not a task");
            };
            let task = left_to_other_system(&server, &store, handle.id()).await;
            // Longer than a lease. The clock is paused.
            tokio::time::sleep(Duration::from_secs(10)).await;
            assert_eq!(task.status().await.unwrap(), TaskStatus::Working);
            let result = CallToolResult::text("delivered");
            assert!(task.complete(result).await.unwrap(), "{version}");
            let result = within(handle.wait()).await.unwrap();
            assert_eq!(result.all_text(), "delivered", "{version}");
            assert_eq!(store.len().await, 1, "{version}: one call is one task");
        }
    }
}

#[tokio::test]
async fn task_of_another_system_asks_after_its_handler_has_ended() {
    let store = SwitchableStore::default();
    let server = toolwire_tests::peer::server()
        .with_tasks(store.tasks())
        .tool(order_tool(TaskOptions::new().required()));
    let mut peer = Peer::connect(&server);
    let id = start(&mut peer, "order", json!({})).await;
    let task = left_to_other_system(&server, &store, &id).await;
    let asking = {
        let task = task.clone();
        tokio::spawn(async move { task.ask(ask::form::<Sure>("sure", "Sure?")).await })
    };
    wait_for(&mut peer, &id, "input_required").await;
    peer.result_of(update(&id, "sure", accept(json!({"sure": true}))))
        .await;
    assert!(within(asking).await.unwrap().unwrap().sure);
    let stored = store.find(&id).await.unwrap().expect("the task exists");
    assert!(!stored.record.runnable, "no handler starts");
}

#[tokio::test]
async fn handler_must_not_return_the_task_of_another_call() {
    let server = server_with_orders();
    let mut peer = Peer::connect(&server);
    let other = order(&server, &mut peer).await;
    let tool = plain("steals", move |_: RequestContext| {
        let other = other.clone();
        async move { ToolResponse::task(other) }
    });
    let server = server.tool(tool.with_task(TaskOptions::new()));
    let mut peer = Peer::connect(&server);
    let id = start(&mut peer, "steals", json!({})).await;
    let task = wait_for(&mut peer, &id, "failed").await;
    let message = task["error"]["message"].as_str().unwrap();
    assert!(message.contains("another task"), "{message}");
}

#[tokio::test]
async fn job_learns_that_its_task_has_ended() {
    let server = server_with_orders();
    let mut peer = Peer::connect(&server);
    for (request, expected) in [
        (None, TaskStatus::Completed),
        (
            Some(cancel as fn(&str) -> serde_json::Value),
            TaskStatus::Cancelled,
        ),
    ] {
        let task = order(&server, &mut peer).await;
        let waiting = tokio::spawn({
            let task = task.clone();
            async move { task.ended().await }
        });
        match request {
            Some(request) => drop(peer.result_of(request(task.id())).await),
            None => drop(task.complete(CallToolResult::text("done")).await.unwrap()),
        }
        assert_eq!(within(waiting).await.unwrap().unwrap(), expected);
    }
    // The end of its life ends a task, too.
    let tasks = Tasks::in_memory().with_ttl(Duration::from_millis(20));
    let server = toolwire_tests::peer::server()
        .with_tasks(tasks)
        .tool(order_tool(TaskOptions::new().on_demand()));
    let mut peer = Peer::connect(&server);
    let task = order(&server, &mut peer).await;
    let status = within(task.ended()).await.unwrap();
    assert_eq!(status, TaskStatus::Failed);
}

#[tokio::test]
async fn waits_end_with_the_life_of_a_task() {
    let tasks = Tasks::in_memory().with_ttl(Duration::from_millis(50));
    let server = toolwire_tests::peer::server()
        .with_tasks(tasks)
        .tool(order_tool(TaskOptions::new().required()));
    let mut peer = Peer::connect(&server);
    let id = start(&mut peer, "order", json!({})).await;
    let params = json!({"notifications": {"taskIds": [id]}});
    let listen = crate::peer::request("listen", "subscriptions/listen", params);
    peer.send(listen).await;
    let acknowledged = peer.receive().await;
    assert_eq!(
        acknowledged["method"], "notifications/subscriptions/acknowledged",
        "{acknowledged}"
    );
    // Nothing changes the task, so only the end of its life is reported.
    let mut task = peer.receive().await;
    while task["params"]["status"] != "failed" {
        assert_eq!(task["params"]["status"], "working", "{task}");
        task = peer.receive().await;
    }
    assert_eq!(task["params"]["error"]["message"], "the task expired");

    let task = order(&server, &mut Peer::connect(&server)).await;
    let error = within(task.ask(ask::form::<Sure>("sure", "Sure?"))).await;
    assert!(error.is_err());

    let mut peer = Peer::connect(&server);
    peer.initialize("2025-11-25").await;
    let params = json!({"name": "order", "arguments": {}, "task": {}});
    let call = toolwire_tests::peer::legacy("call", "tools/call", params);
    let created = peer.result_of(call).await;
    let params = json!({"taskId": created["task"]["taskId"]});
    let awaited = toolwire_tests::peer::legacy("result", "tasks/result", params);
    let error = peer.error_of(awaited, -32603).await;
    assert_eq!(error["message"], "the task expired", "{error}");
}

#[tokio::test]
async fn error_of_a_task_of_another_system_is_limited() {
    let server = server_with_orders();
    let mut peer = Peer::connect(&server);
    let task = order(&server, &mut peer).await;
    let limit = 4 * 1024 * 1024;
    let rest = r#"{"code":7,"message":""}"#.len();
    let error = |bytes: usize| ErrorObject::new(7, "x".repeat(bytes - rest));
    let rejected = task.fail(error(limit + 1)).await.unwrap_err();
    assert!(rejected.to_string().contains("4194304 bytes"), "{rejected}");
    assert_eq!(task.status().await.unwrap(), TaskStatus::Working);
    assert!(task.fail(error(limit)).await.unwrap());
    let shown = peer.result_of(get(task.id())).await;
    let message = shown["statusMessage"].as_str().unwrap();
    assert_eq!(message.len(), 4096, "the message is shortened");
}
