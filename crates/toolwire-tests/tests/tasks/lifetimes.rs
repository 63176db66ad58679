//! How long a task can be read: what its client sees, and when the store forgets it.

use std::time::Duration;

use serde_json::{Value, json};
use toolwire::store::StoredTask;
use toolwire::tasks::{TaskOptions, TaskStore as _};
use toolwire::{
    CallToolResult, Elicit, Error, ErrorObject, RequestContext, Server, ToolHandler, ToolResponse,
};
use toolwire_tests::peer::{Peer, legacy, plain, within};

use crate::peer::{get, start};
use crate::switchable_store::SwitchableStore;

/// The TTL of a task in milliseconds, unless the server sets another one.
const HOUR_MS: u64 = 3_600_000;

const MINUTE_MS: u64 = 60_000;

/// How long a task can be read after the end of its life, in milliseconds.
const GRACE_MS: u64 = MINUTE_MS;

/// A tool whose task another system ends.
fn order() -> ToolHandler {
    let tool = plain("job", |ctx: RequestContext| async move {
        Ok::<_, Error>(ToolResponse::task(ctx.create_task().await?))
    });
    tool.with_task(TaskOptions::new().required().on_demand())
}

/// A tool that asks.
fn asks() -> ToolHandler {
    #[derive(serde::Deserialize, Elicit)]
    struct Sure {
        sure: bool,
    }
    let tool = plain("job", |ctx: RequestContext| async move {
        let sure: Sure = ctx.ask("sure", "Sure?").await?;
        Ok::<_, Error>(sure.sure.to_string())
    });
    tool.with_task(TaskOptions::new())
}

fn server(tasks: toolwire::tasks::Tasks, tool: ToolHandler) -> Server {
    toolwire_tests::peer::server().with_tasks(tasks).tool(tool)
}

/// Starts a task, waits until no process runs it, and makes it older by this time.
async fn start_before(peer: &mut Peer, store: &SwitchableStore, ms: u64) -> StoredTask {
    let id = start(peer, "job", json!({})).await;
    let stored = within(async {
        loop {
            let stored = store.find(&id).await.unwrap().expect("the task exists");
            if stored.owner.is_none() {
                return stored;
            }
            tokio::task::yield_now().await;
        }
    });
    let stored = stored.await;
    let mut record = (*stored.record).clone();
    record.created_at_ms -= ms;
    record.expires_at_ms = record.expires_at_ms.map(|end| end - ms);
    let replaced = store.replace(&id, stored.revision, record).await;
    assert!(replaced.unwrap().is_some());
    store.find(&id).await.unwrap().expect("the task exists")
}

/// Returns when the task ends for its client, in milliseconds since 1970-01-01.
fn shown_end(stored: &StoredTask, task: &Value) -> u64 {
    stored.record.created_at_ms + task["ttlMs"].as_u64().expect("a TTL")
}

#[tokio::test]
async fn expired_task_is_readable_until_its_reported_end() {
    let store = SwitchableStore::default();
    let parked = store.tasks().with_park_after(Duration::ZERO);
    // No handler runs when the life of these tasks ends.
    for (case, server) in [
        ("left to another system", server(store.tasks(), order())),
        ("waiting for input", server(parked, asks())),
        ("queued", server(store.tasks().queued(), asks())),
    ] {
        let mut peer = Peer::connect(&server);
        let stored = start_before(&mut peer, &store, HOUR_MS + 1).await;
        let task = peer.result_of(get(&stored.id)).await;
        assert_eq!(task["status"], "failed", "{case}: {task}");
        assert_eq!(task["error"]["message"], "the task expired", "{case}");
        let forgotten = stored.record.expires_at_ms.expect("the task expires");
        let end = shown_end(&stored, &task);
        assert_eq!(end + GRACE_MS, forgotten, "{case}: {task}");
    }
}

#[tokio::test]
async fn other_code_cannot_change_an_expired_task() {
    let store = SwitchableStore::default();
    let server = server(store.tasks(), order());
    let mut peer = Peer::connect(&server);
    let stored = start_before(&mut peer, &store, HOUR_MS + 1).await;
    let shown = peer.result_of(get(&stored.id)).await;
    assert_eq!(shown["status"], "failed", "{shown}");
    let task = server.task(&stored.id).await.unwrap();
    let task = task.expect("the task is readable");
    let result = CallToolResult::text("late");
    assert!(!task.complete(result).await.unwrap());
    assert!(!task.fail(ErrorObject::internal("late")).await.unwrap());
    task.set_status_message("late").await.unwrap();
    assert_eq!(peer.result_of(get(&stored.id)).await, shown);
}

#[tokio::test]
async fn outcome_is_readable_for_ten_minutes() {
    let store = SwitchableStore::default();
    let tasks = store.tasks().with_ttl(Duration::from_millis(MINUTE_MS));
    let server = server(tasks, order());
    let mut peer = Peer::connect(&server);
    let age_ms = MINUTE_MS / 2;
    let stored = start_before(&mut peer, &store, age_ms).await;
    let task = peer.result_of(get(&stored.id)).await;
    assert_eq!(task["ttlMs"], MINUTE_MS, "{task}");
    let handle = server.task(&stored.id).await.unwrap();
    let handle = handle.expect("the task exists");
    let result = CallToolResult::text("done");
    assert!(handle.complete(result).await.unwrap());
    let task = peer.result_of(get(&stored.id)).await;
    assert_eq!(task["status"], "completed", "{task}");
    let ttl_ms = task["ttlMs"].as_u64().expect("a TTL");
    let least = age_ms + 10 * MINUTE_MS;
    assert!((least..least + MINUTE_MS).contains(&ttl_ms), "{task}");
    let stored = store.find(&stored.id).await.unwrap().expect("it is stored");
    let forgotten = stored.record.expires_at_ms.expect("the task expires");
    assert_eq!(shown_end(&stored, &task) + GRACE_MS, forgotten);
}

#[tokio::test]
async fn requested_ttl_is_not_longer_than_that_of_the_server() {
    let store = SwitchableStore::default();
    let tasks = store.tasks().with_ttl(Duration::from_millis(MINUTE_MS));
    let server = server(tasks, asks());
    for (requested, ttl_ms) in [
        (json!({}), MINUTE_MS),
        (json!({"ttl": HOUR_MS}), MINUTE_MS),
        (json!({"ttl": 5000}), 5000),
    ] {
        let mut peer = Peer::connect(&server);
        let capabilities = json!({"elicitation": {}});
        peer.initialize_with("2025-11-25", capabilities).await;
        let params = json!({"name": "job", "arguments": {}, "task": requested});
        let created = peer.result_of(legacy("call", "tools/call", params)).await;
        assert_eq!(created["task"]["ttl"], ttl_ms, "{requested}: {created}");
    }
}
