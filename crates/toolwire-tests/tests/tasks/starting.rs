//! Calls that become tasks while their handlers run. The clock is paused, so elapsed time is exact.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use toolwire::store::contract::{Fault, Faulty};
use toolwire::tasks::{MemoryTaskStore, TaskOptions, TaskStore as _, Tasks};
use toolwire::{Error, Principal, RequestContext, Server, ToolHandler};
use toolwire_tests::peer::{Peer, plain};

use crate::peer::{call, start, wait_for};

type Store = Arc<Faulty<MemoryTaskStore>>;

/// Longer than the time after which the calls of these tests become tasks.
const LONG: Duration = Duration::from_secs(5);

fn store() -> Store {
    Arc::new(Faulty::new(Arc::new(MemoryTaskStore::default())))
}

fn server(store: &Store, tool: ToolHandler) -> Server {
    toolwire_tests::peer::server()
        .with_tasks(Tasks::new(Arc::clone(store)))
        .tool(tool)
}

async fn stored_tasks(store: &Store) -> usize {
    let tasks = store.list(&Principal::anonymous(), None, 100).await;
    tasks.unwrap().len()
}

/// A tool that works for a long time.
fn works(options: TaskOptions) -> ToolHandler {
    let tool = plain("works", |ctx: RequestContext| async move {
        tokio::time::sleep(LONG).await;
        format!("task: {}", ctx.task_id().is_some())
    });
    tool.with_task(options)
}

#[tokio::test(start_paused = true)]
async fn call_that_cannot_become_a_task_continues_as_a_call() {
    let after = TaskOptions::new().after(Duration::from_secs(1));
    let store = store();
    store.inject("create", Fault::Error, usize::MAX);
    let mut peer = Peer::connect(&server(&store, works(after.clone())));
    let result = peer.result_of(call("works", json!({}))).await;
    assert_eq!(result["content"][0]["text"], "task: false", "{result}");
    // A tool that runs only as a task does not.
    let mut peer = Peer::connect(&server(&store, works(after.required())));
    peer.error_of(call("works", json!({})), -32603).await;
}

#[tokio::test(start_paused = true)]
async fn handler_that_starts_its_task_in_the_last_moment_has_one_task() {
    let tool = plain("starts", |ctx: RequestContext| async move {
        ctx.start_task().await?;
        Ok::<_, Error>("done")
    });
    let store = store();
    // The time of the call is over while the store creates the task of the handler.
    store.inject("create", Fault::Slow(LONG), usize::MAX);
    let tool = tool.with_task(TaskOptions::new().after(Duration::from_secs(1)));
    let mut peer = Peer::connect(&server(&store, tool));
    let id = start(&mut peer, "starts", json!({})).await;
    wait_for(&mut peer, &id, "completed").await;
    assert_eq!((store.calls("create"), stored_tasks(&store).await), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn handler_that_starts_its_task_twice_at_once_has_one_task() {
    let tool = plain("starts", |ctx: RequestContext| async move {
        let (first, second) = tokio::join!(ctx.start_task(), ctx.start_task());
        first?;
        Ok::<_, Error>(second.unwrap_err().to_string())
    });
    let store = store();
    store.inject("create", Fault::Slow(LONG), usize::MAX);
    let tool = tool.with_task(TaskOptions::new().on_demand());
    let mut peer = Peer::connect(&server(&store, tool));
    let id = start(&mut peer, "starts", json!({})).await;
    let task = wait_for(&mut peer, &id, "completed").await;
    let text = task["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("start it once"), "{text}");
    assert_eq!(stored_tasks(&store).await, 1);
}

#[tokio::test(start_paused = true)]
async fn burst_of_calls_does_not_exceed_the_limit_of_running_tasks() {
    let store = store();
    store.inject("create", Fault::Slow(LONG), usize::MAX);
    let tasks = Tasks::new(Arc::clone(&store)).with_max_running(2);
    let server = toolwire_tests::peer::server()
        .with_tasks(tasks)
        .tool(works(TaskOptions::new()));
    let mut peers: Vec<Peer> = (0..5).map(|_| Peer::connect(&server)).collect();
    for peer in &peers {
        peer.send(call("works", json!({}))).await;
    }
    let mut rejected = 0;
    for peer in &mut peers {
        let response = peer.receive().await;
        if let Some(message) = response["error"]["message"].as_str() {
            assert!(message.contains("2 tasks"), "{message}");
            rejected += 1;
        }
    }
    assert_eq!((rejected, stored_tasks(&store).await), (3, 2));
}
