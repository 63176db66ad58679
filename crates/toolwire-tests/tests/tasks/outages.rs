//! A task store that is unavailable for some time: no task is unknown, and nothing is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Notify;
use toolwire::tasks::TaskOptions;
use toolwire::{Called, Client, ProtocolVersion, RequestContext, Server};
use toolwire_tests::http::endpoint::Endpoint;
use toolwire_tests::http::request::Request;
use toolwire_tests::http::session::Session;
use toolwire_tests::http::socket::Response;
use toolwire_tests::peer::{Peer, legacy, plain, within};

use crate::peer::{call, cancel, get, id_of, request, update, wait_for};
use crate::switchable_store::SwitchableStore;

/// A server whose tool `waits` ends when the test releases it.
struct Fixture {
    server: Server,
    store: SwitchableStore,
    release: Arc<Notify>,
    runs: Arc<AtomicUsize>,
}

impl Fixture {
    fn new() -> Self {
        let (store, release) = (SwitchableStore::default(), Arc::new(Notify::new()));
        let runs = Arc::new(AtomicUsize::new(0));
        let (released, counter) = (Arc::clone(&release), Arc::clone(&runs));
        let tool = plain("waits", move |_: RequestContext| {
            let released = Arc::clone(&released);
            counter.fetch_add(1, Ordering::SeqCst);
            async move {
                released.notified().await;
                "done"
            }
        });
        let server = toolwire_tests::peer::server()
            .with_tasks(store.tasks())
            .tool(tool.with_task(TaskOptions::new()));
        Self {
            server,
            store,
            release,
            runs,
        }
    }
}

/// Expects the response of a server whose task store is unavailable.
fn expect_unavailable(response: &Response, id: &Value) {
    assert_eq!(response.status(), 503, "{}", response.text());
    assert!(response.header("retry-after").is_some());
    let message = response.message();
    let error = json!({
        "code": -32603,
        "message": "the task store is unavailable; try again",
        "data": {"reason": "overloaded"},
    });
    assert_eq!((&message["id"], &message["error"]), (id, &error));
}

#[tokio::test]
async fn unavailable_store_is_not_an_unknown_task() {
    let fixture = Fixture::new();
    let endpoint = Endpoint::serve(&fixture.server).await;
    let created = endpoint.call(call("waits", json!({}))).await;
    let id = id_of(&created["result"]);
    let response = json!({"action": "decline"});
    fixture.store.go_away();
    for id in [id.as_str(), "unknown"] {
        for message in [get(id), update(id, "key", response.clone()), cancel(id)] {
            let response = endpoint.request(&Request::modern(&message)).await;
            expect_unavailable(&response, &message["id"]);
        }
    }
    let message = call("waits", json!({}));
    let response = endpoint.request(&Request::modern(&message)).await;
    expect_unavailable(&response, &message["id"]);
    assert_eq!(fixture.runs.load(Ordering::SeqCst), 1, "no second run");
    fixture.store.come_back();
    let task = endpoint.call(get(&id)).await;
    assert_eq!(task["result"]["status"], "working", "{task}");
    let unknown = endpoint.call(get("unknown")).await;
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
}

#[tokio::test]
async fn unavailable_store_is_not_an_unknown_task_in_a_session() {
    let fixture = Fixture::new();
    let endpoint = Endpoint::serve(&fixture.server).await;
    let session = Session::open(&endpoint, "2025-11-25").await;
    let params = json!({"name": "waits", "arguments": {}, "task": {}});
    let call = legacy("call", "tools/call", params);
    let created = session.call(call.clone()).await;
    let id = id_of(&created["result"]["task"]);
    fixture.store.go_away();
    for method in ["tasks/get", "tasks/cancel", "tasks/result"] {
        let message = legacy(method, method, json!({"taskId": id}));
        expect_unavailable(&session.post(&message).await, &message["id"]);
    }
    expect_unavailable(&session.post(&call).await, &call["id"]);
    fixture.store.come_back();
    fixture.release.notify_one();
    let message = legacy(1, "tasks/result", json!({"taskId": id}));
    let result = session.call(message).await;
    assert_eq!(result["result"]["content"][0]["text"], "done", "{result}");
}

#[tokio::test(start_paused = true)]
async fn wait_of_the_client_survives_an_outage() {
    for version in [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28] {
        let fixture = Fixture::new();
        let builder = Client::builder("desk", "1").with_tasks();
        let connecting = builder.with_versions([version]).in_process(&fixture.server);
        let client = connecting.await.expect("the client connects");
        let Called::Task(task) = client
            .call_tool("waits", json!({}))
            .as_task()
            .await
            .expect("a task")
        else {
            panic!("{version}: the call is not a task");
        };
        fixture.store.go_away();
        let waiting = tokio::spawn(async move { task.wait().await });
        // Long enough for many polls, and shorter than the lease of the handler. The clock is paused.
        tokio::time::sleep(Duration::from_secs(20)).await;
        assert!(!waiting.is_finished(), "{version}");
        fixture.store.come_back();
        fixture.release.notify_one();
        let result = within(waiting).await.expect("no panic");
        let result = result.unwrap_or_else(|error| panic!("{version}: {error}"));
        assert_eq!(result.all_text(), "done");
    }
}

#[tokio::test(start_paused = true)]
async fn outcome_is_stored_after_the_outage() {
    let fixture = Fixture::new();
    let mut peer = Peer::connect(&fixture.server);
    let created = peer.result_of(call("waits", json!({}))).await;
    let id = id_of(&created);
    fixture.store.go_away();
    fixture.release.notify_one();
    // The clock is paused.
    tokio::time::sleep(Duration::from_secs(5)).await;
    let error = peer.error_of(get(&id), -32603).await;
    assert_eq!(error["data"], json!({"reason": "overloaded"}));
    fixture.store.come_back();
    let task = wait_for(&mut peer, &id, "completed").await;
    assert_eq!(task["result"]["content"][0]["text"], "done", "{task}");
    assert_eq!(fixture.runs.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn task_survives_an_outage_that_is_longer_than_its_lease() {
    // The handler ends after the outage, or during it.
    for ends_during_outage in [false, true] {
        let fixture = Fixture::new();
        let mut peer = Peer::connect(&fixture.server);
        let created = peer.result_of(call("waits", json!({}))).await;
        let id = id_of(&created);
        fixture.store.go_away();
        if ends_during_outage {
            fixture.release.notify_one();
        }
        // The lease lasts 30 seconds. The clock is paused.
        tokio::time::sleep(Duration::from_secs(5 * 60)).await;
        fixture.store.come_back();
        if !ends_during_outage {
            // Long enough for many renewals of the lease.
            tokio::time::sleep(Duration::from_secs(5 * 60)).await;
            let task = peer.result_of(get(&id)).await;
            assert_eq!(task["status"], "working", "{task}");
            fixture.release.notify_one();
        }
        let task = wait_for(&mut peer, &id, "completed").await;
        assert_eq!(task["result"]["content"][0]["text"], "done", "{task}");
        assert_eq!(fixture.runs.load(Ordering::SeqCst), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn worker_that_claims_its_own_running_task_continues_it() {
    let fixture = Fixture::new();
    let mut peer = Peer::connect(&fixture.server);
    let created = peer.result_of(call("waits", json!({}))).await;
    let id = id_of(&created);
    fixture.store.reject_renewals();
    // The lease ends after 30 seconds, and then the process claims the task, again and again.
    tokio::time::sleep(Duration::from_secs(5 * 60)).await;
    fixture.release.notify_one();
    let task = wait_for(&mut peer, &id, "completed").await;
    assert_eq!(task["result"]["content"][0]["text"], "done", "{task}");
    assert_eq!(fixture.runs.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn outcome_is_written_for_ten_minutes() {
    for (minutes, status) in [(9, "completed"), (11, "failed")] {
        let fixture = Fixture::new();
        let mut peer = Peer::connect(&fixture.server);
        let created = peer.result_of(call("waits", json!({}))).await;
        let id = id_of(&created);
        fixture.store.go_away();
        fixture.release.notify_one();
        tokio::time::sleep(Duration::from_secs(minutes * 60)).await;
        fixture.store.come_back();
        let task = wait_for(&mut peer, &id, status).await;
        assert_eq!(task["status"], status, "{minutes} minutes: {task}");
        assert_eq!(fixture.runs.load(Ordering::SeqCst), 1);
    }
}

#[tokio::test]
async fn stream_that_starts_in_an_outage_reports_its_tasks() {
    let fixture = Fixture::new();
    let mut peer = Peer::connect(&fixture.server);
    let created = peer.result_of(call("waits", json!({}))).await;
    let id = id_of(&created);
    fixture.store.go_away();
    let params = json!({"notifications": {"taskIds": [id, "../x"]}});
    peer.send(request("listen", "subscriptions/listen", params))
        .await;
    let acknowledged = peer.receive().await;
    let accepted = &acknowledged["params"]["notifications"]["taskIds"];
    assert_eq!(*accepted, json!([id]), "{acknowledged}");
    fixture.store.come_back();
    let task = peer.receive().await;
    assert_eq!(task["method"], "notifications/tasks", "{task}");
    assert_eq!(task["params"]["taskId"], json!(id));
}
