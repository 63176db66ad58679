//! Handlers that use a task store while it is unavailable: they wait, nothing is asked again, and no effect is repeated.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Notify;
use toolwire::tasks::{TaskOptions, TaskStatus};
use toolwire::{Elicit, Error, RequestContext, Server, ToolHandler, ToolResponse};
use toolwire_tests::peer::{Peer, legacy, plain, within};

use crate::peer::{accept, cancel, id_of, request, start, update, wait_for};
use crate::switchable_store::SwitchableStore;

/// Longer than the pauses of a handler between two looks at its task, and than its lease.
const OUTAGE: Duration = Duration::from_secs(60);

#[derive(serde::Deserialize, Elicit)]
struct Sure {
    sure: bool,
}

fn server(store: &SwitchableStore, tool: ToolHandler) -> Server {
    toolwire_tests::peer::server()
        .with_tasks(store.tasks())
        .tool(tool.with_task(TaskOptions::new()))
}

/// A tool that asks, as soon as `begin` is notified.
fn asks(begin: &Arc<Notify>) -> ToolHandler {
    let begin = Arc::clone(begin);
    plain("asks", move |ctx: RequestContext| {
        let begin = Arc::clone(&begin);
        async move {
            begin.notified().await;
            let sure: Sure = ctx.ask("sure", "Sure?").await?;
            Ok::<_, Error>(format!("sure: {}", sure.sure))
        }
    })
}

#[tokio::test(start_paused = true)]
async fn input_request_is_put_after_the_outage_and_waits_through_another_one() {
    let (store, begin) = (SwitchableStore::default(), Arc::new(Notify::new()));
    let mut peer = Peer::connect(&server(&store, asks(&begin)));
    let id = start(&mut peer, "asks", json!({})).await;
    store.go_away();
    begin.notify_one();
    // The clock is paused.
    tokio::time::sleep(OUTAGE).await;
    store.come_back();
    wait_for(&mut peer, &id, "input_required").await;
    store.go_away();
    tokio::time::sleep(OUTAGE).await;
    store.come_back();
    peer.result_of(update(&id, "sure", accept(json!({"sure": true}))))
        .await;
    let task = wait_for(&mut peer, &id, "completed").await;
    assert_eq!(task["result"]["content"][0]["text"], "sure: true", "{task}");
}

#[tokio::test(start_paused = true)]
async fn task_that_asks_continues_after_a_long_outage() {
    let (store, begin) = (SwitchableStore::default(), Arc::new(Notify::new()));
    let mut peer = Peer::connect(&server(&store, asks(&begin)));
    let id = start(&mut peer, "asks", json!({})).await;
    begin.notify_one();
    wait_for(&mut peer, &id, "input_required").await;
    store.go_away();
    tokio::time::sleep(Duration::from_secs(30 * 60)).await;
    store.come_back();
    peer.result_of(update(&id, "sure", accept(json!({"sure": true}))))
        .await;
    // The handler runs again.
    begin.notify_one();
    let task = wait_for(&mut peer, &id, "completed").await;
    assert_eq!(task["result"]["content"][0]["text"], "sure: true", "{task}");
}

#[tokio::test(start_paused = true)]
async fn result_of_an_effect_is_stored_after_the_outage() {
    let (store, effects) = (SwitchableStore::default(), Arc::new(AtomicUsize::new(0)));
    let (away, counter) = (store.clone(), Arc::clone(&effects));
    let tool = plain("orders", move |ctx: RequestContext| {
        let (away, counter) = (away.clone(), Arc::clone(&counter));
        async move {
            let order = async {
                away.go_away();
                counter.fetch_add(1, Ordering::SeqCst)
            };
            let number = ctx.once("order", order).await?;
            Ok::<_, Error>(format!("order {number}"))
        }
    });
    let mut peer = Peer::connect(&server(&store, tool));
    let id = start(&mut peer, "orders", json!({})).await;
    tokio::time::sleep(OUTAGE).await;
    assert_eq!(store.journal_bytes(), 0, "nothing was stored meanwhile");
    store.come_back();
    let task = wait_for(&mut peer, &id, "completed").await;
    assert_eq!(task["result"]["content"][0]["text"], "order 0", "{task}");
    assert!(store.journal_bytes() > 0);
    assert_eq!(effects.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn response_for_tasks_result_is_stored_after_the_outage() {
    let (store, begin) = (SwitchableStore::default(), Arc::new(Notify::new()));
    let mut peer = Peer::connect(&server(&store, asks(&begin)));
    peer.initialize_with("2025-11-25", json!({"elicitation": {}}))
        .await;
    let params = json!({"name": "asks", "arguments": {}, "task": {}});
    let created = peer.result_of(legacy("call", "tools/call", params)).await;
    let id = id_of(&created["task"]);
    begin.notify_one();
    peer.send(legacy("result", "tasks/result", json!({"taskId": id})))
        .await;
    let question = next_request_or_response(&mut peer).await;
    assert_eq!(question["method"], "elicitation/create", "{question}");
    store.go_away();
    peer.send(
        json!({"jsonrpc": "2.0", "id": question["id"], "result": accept(json!({"sure": true}))}),
    )
    .await;
    tokio::time::sleep(OUTAGE).await;
    store.come_back();
    let response = next_request_or_response(&mut peer).await;
    assert_eq!(
        response["id"], "result",
        "nothing is asked again: {response}"
    );
    assert_eq!(response["result"]["content"][0]["text"], "sure: true");
}

/// Returns the next message that is not a notification.
async fn next_request_or_response(peer: &mut Peer) -> Value {
    loop {
        let message = peer.receive().await;
        if message.get("id").is_some() {
            return message;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn other_code_that_waits_for_the_end_waits_through_an_outage() {
    let store = SwitchableStore::default();
    let tool = plain("order", |ctx: RequestContext| async move {
        let task = ctx.create_task().await?;
        Ok::<_, Error>(ToolResponse::task(task))
    });
    let server = server(&store, tool);
    let mut peer = Peer::connect(&server);
    let id = start(&mut peer, "order", json!({})).await;
    let task = server.task(&id).await.unwrap().expect("the task exists");
    let waiting = tokio::spawn(async move { task.ended().await });
    store.go_away();
    tokio::time::sleep(OUTAGE).await;
    assert!(!waiting.is_finished());
    store.come_back();
    peer.result_of(cancel(&id)).await;
    let status = within(waiting).await.unwrap().unwrap();
    assert_eq!(status, TaskStatus::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn stream_looks_rarely_at_a_task_and_not_at_an_ended_one() {
    /// The store is looked at every 10 ms at first.
    const TIME: Duration = Duration::from_secs(10);
    const OFTEN: usize = 1000;

    let store = SwitchableStore::default();
    let release = Arc::new(Notify::new());
    let released = Arc::clone(&release);
    let tool = plain("waits", move |_: RequestContext| {
        let released = Arc::clone(&released);
        async move {
            released.notified().await;
            "done"
        }
    });
    let server = server(&store, tool);
    let mut peer = Peer::connect(&server);
    let id = start(&mut peer, "waits", json!({})).await;
    let mut listener = Peer::connect(&server);
    let params = json!({"notifications": {"taskIds": [id]}});
    listener
        .send(request("listen", "subscriptions/listen", params))
        .await;
    listener.receive().await;
    let task = listener.receive().await;
    assert_eq!(task["params"]["status"], "working", "{task}");
    let before = store.loads();
    tokio::time::sleep(TIME).await;
    // The handler's run looks at its task as rarely as the stream.
    let loads = store.loads() - before;
    assert!(loads > 0 && loads < OFTEN / 3, "{loads} loads");
    release.notify_one();
    let task = listener.receive().await;
    assert_eq!(task["params"]["status"], "completed", "{task}");
    tokio::time::sleep(TIME).await;
    let before = store.loads();
    tokio::time::sleep(TIME).await;
    assert_eq!(store.loads() - before, 0);
}
