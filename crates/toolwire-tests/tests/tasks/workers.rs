//! How a server keeps its tasks and takes over stored ones. The clock is paused.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use toolwire::store::contract::{Fault, Faulty};
use toolwire::tasks::{MemoryTaskStore, TaskOptions, TaskStore as _, Tasks};
use toolwire::{Elicit, KeyRing, RequestContext, Server, StateKey, ToolHandler, ask};
use toolwire_tests::peer::{Peer, plain, within};

use crate::peer::{accept, call, get, start, update, wait_for};
use crate::switchable_store::SwitchableStore;

type Store = Arc<Faulty<SwitchableStore>>;

fn store() -> Store {
    Arc::new(Faulty::new(Arc::new(SwitchableStore::default())))
}

fn tasks(store: &Store) -> Tasks {
    Tasks::new(Arc::clone(store))
        .with_poll_interval(Duration::from_millis(10))
        .with_lease(Duration::from_secs(3))
}

/// A tool that counts its runs.
fn counts(runs: &Arc<AtomicUsize>) -> ToolHandler {
    let runs = Arc::clone(runs);
    let tool = plain("counts", move |_: RequestContext| {
        runs.fetch_add(1, Ordering::SeqCst);
        async { "done" }
    });
    tool.with_task(TaskOptions::new())
}

/// A server that only stores its tasks.
fn front(store: &Store) -> Server {
    toolwire_tests::peer::server()
        .with_tasks(tasks(store).queued())
        .tool(counts(&Arc::default()))
}

/// A server that runs the tasks of the front.
fn worker(store: &Store, runs: &Arc<AtomicUsize>) -> Server {
    toolwire_tests::peer::server()
        .with_tasks(tasks(store))
        .tool(counts(runs))
}

#[tokio::test(start_paused = true)]
async fn lease_is_renewed_three_times_before_it_ends() {
    let store = Arc::new(Faulty::new(Arc::new(MemoryTaskStore::default())));
    let tool = plain("forever", |_: RequestContext| {
        std::future::pending::<String>()
    });
    let server = toolwire_tests::peer::server()
        .with_tasks(Tasks::new(Arc::clone(&store)))
        .tool(tool.with_task(TaskOptions::new()));
    let mut peer = Peer::connect(&server);
    for _ in 0..20 {
        start(&mut peer, "forever", json!({})).await;
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    let before = store.calls("renew");
    // Ten leases of 30 seconds.
    tokio::time::sleep(Duration::from_secs(300)).await;
    let renewals = (store.calls("renew") - before) / 20;
    assert!((29..=41).contains(&renewals), "{renewals} renewals of each");
    // A renewal that hangs stops neither the other renewals nor the claims.
    store.inject("renew", Fault::Hang, 1);
    let (renewals, claims) = (store.calls("renew"), store.calls("claim"));
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert!(store.calls("renew") - renewals >= 20 * 2);
    assert!(store.calls("claim") - claims >= 2);
}

#[tokio::test(start_paused = true)]
async fn store_error_after_a_claim_does_not_end_the_task() {
    for (method, fault, times) in [
        ("load", Fault::Error, 1),
        ("load", Fault::Error, 5),
        ("replace", Fault::Error, 5),
        ("replace", Fault::LostReply, 1),
        ("load", Fault::Hang, 2),
    ] {
        let (store, runs) = (store(), Arc::default());
        let mut peer = Peer::connect(&front(&store));
        let id = start(&mut peer, "counts", json!({})).await;
        store.inject(method, fault, times);
        store.inject("release", Fault::Error, 1);
        let _worker = Peer::connect(&worker(&store, &runs));
        // Longer than the lease of a task that could not be given back, and than two calls of a store that hangs.
        tokio::time::sleep(Duration::from_secs(40)).await;
        store.heal();
        let task = peer.result_of(get(&id)).await;
        assert_eq!(task["status"], "completed", "{method} {fault:?}: {task}");
        assert_eq!(runs.load(Ordering::SeqCst), 1, "{method} {fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn store_that_does_not_reply_is_unavailable() {
    let store = store();
    let mut peer = Peer::connect(&front(&store));
    let id = start(&mut peer, "counts", json!({})).await;
    store.inject("load", Fault::Hang, 1);
    let error = peer.error_of(get(&id), -32603).await;
    assert_eq!(error["data"], json!({"reason": "overloaded"}), "{error}");
    let task = peer.result_of(get(&id)).await;
    assert_eq!(task["status"], "working", "{task}");
    store.inject("create", Fault::Hang, 1);
    peer.error_of(call("counts", json!({})), -32603).await;
}

#[tokio::test(start_paused = true)]
async fn task_of_a_lost_worker_ends_after_other_code_has_asked() {
    #[derive(serde::Deserialize, Elicit)]
    struct Sure {
        sure: bool,
    }
    let store = store();
    let front = front(&store);
    let mut peer = Peer::connect(&front);
    let id = start(&mut peer, "counts", json!({})).await;
    let stored = store.find(&id).await.unwrap().expect("the task exists");
    let mut record = (*stored.record).clone();
    // As a process leaves it that is lost while the handler works.
    record.restartable = false;
    let replaced = store.replace(&id, stored.revision, record).await;
    assert!(replaced.unwrap().is_some());
    let task = front.task(&id).await.unwrap();
    let task = task.expect("the task exists");
    let asking = tokio::spawn(async move { task.ask(ask::form::<Sure>("sure", "Sure?")).await });
    wait_for(&mut peer, &id, "input_required").await;
    peer.result_of(update(&id, "sure", accept(json!({"sure": true}))))
        .await;
    assert!(within(asking).await.unwrap().unwrap().sure);
    let _worker = Peer::connect(&worker(&store, &Arc::default()));
    let task = wait_for(&mut peer, &id, "failed").await;
    let message = task["error"]["message"].as_str().unwrap();
    assert!(message.contains("the server stopped"), "{message}");
}

fn keys(byte: u8) -> KeyRing {
    KeyRing::new(StateKey::new([byte; 32]))
}

#[tokio::test(start_paused = true)]
async fn task_of_a_server_with_other_keys_fails() {
    let (store, runs) = (store(), Arc::default());
    let mut peer = Peer::connect(&front(&store).with_request_state_keys(keys(1)));
    let id = start(&mut peer, "counts", json!({})).await;
    let worker = worker(&store, &runs).with_request_state_keys(keys(2));
    let _worker = Peer::connect(&worker);
    let task = wait_for(&mut peer, &id, "failed").await;
    let message = task["error"]["message"].as_str().unwrap();
    assert!(message.contains("cannot be read"), "{message}");
    assert_eq!(
        runs.load(Ordering::SeqCst),
        0,
        "it never runs without its caller"
    );
}

#[tokio::test(start_paused = true)]
async fn stored_tasks_wait_until_the_server_is_complete() {
    let (store, runs) = (store(), Arc::default());
    let mut peer = Peer::connect(&front(&store).with_request_state_keys(keys(1)));
    let id = start(&mut peer, "counts", json!({})).await;
    let incomplete = worker(&store, &runs);
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(store.calls("claim"), 0);
    let _worker = Peer::connect(&incomplete.with_request_state_keys(keys(1)));
    wait_for(&mut peer, &id, "completed").await;
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}

#[test]
fn server_that_is_built_outside_of_a_runtime_continues_stored_tasks() {
    let (store, runs) = (store(), Arc::default());
    let (front, worker) = (front(&store), worker(&store, &runs));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut peer = Peer::connect(&front);
        let id = start(&mut peer, "counts", json!({})).await;
        let _worker = Peer::connect(&worker);
        wait_for(&mut peer, &id, "completed").await;
    });
}

#[tokio::test(start_paused = true)]
async fn task_of_a_tool_that_no_process_has_waits_for_one_that_has_it() {
    let (store, runs) = (store(), Arc::default());
    let mut peer = Peer::connect(&front(&store));
    let id = start(&mut peer, "counts", json!({})).await;
    let without = toolwire_tests::peer::server().with_tasks(tasks(&store));
    let _without = Peer::connect(&without);
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(peer.result_of(get(&id)).await["status"], "working");
    let _worker = Peer::connect(&worker(&store, &runs));
    wait_for(&mut peer, &id, "completed").await;
}

#[tokio::test(start_paused = true)]
async fn forgotten_task_is_like_an_unknown_one() {
    let store = store();
    let mut peer = Peer::connect(&front(&store));
    let id = start(&mut peer, "counts", json!({})).await;
    let stored = store.find(&id).await.unwrap().expect("the task exists");
    let mut record = (*stored.record).clone();
    record.expires_at_ms = Some(1);
    let replaced = store.replace(&id, stored.revision, record).await;
    assert!(replaced.unwrap().is_some());
    let forgotten = peer.error_of(get(&id), -32602).await;
    let unknown = peer.error_of(get("unknown"), -32602).await;
    assert_eq!(forgotten, unknown);
}

#[tokio::test]
async fn outcome_without_space_in_the_store_fails_the_task() {
    let limits = toolwire::tasks::MemoryTaskLimits::default().with_bytes(8000);
    let tool = plain("big", |_: RequestContext| async { "x".repeat(9000) });
    let server = toolwire_tests::peer::server()
        .with_tasks(Tasks::new(MemoryTaskStore::new(limits)))
        .tool(tool.with_task(TaskOptions::new()));
    let mut peer = Peer::connect(&server);
    let id = start(&mut peer, "big", json!({})).await;
    let task = wait_for(&mut peer, &id, "failed").await;
    let message = task["error"]["message"].as_str().unwrap();
    assert!(message.contains("the task store is full"), "{message}");
}
