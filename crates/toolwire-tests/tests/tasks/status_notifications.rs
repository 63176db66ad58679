//! `notifications/tasks/status` of 2025-11-25: sent where the client of the task has a stream.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::Instant;
use toolwire::tasks::{TaskOptions, Tasks};
use toolwire::transport::Limits;
use toolwire::{Called, ClientBuilder, Elicit, Error, ProtocolVersion, RequestContext, Server};
use toolwire_tests::http::endpoint::Endpoint;
use toolwire_tests::http::session::Session;
use toolwire_tests::peer::{Peer, legacy, plain, within};

use crate::peer::{id_of, server};

/// A server whose tool waits for its release, and then asks.
fn asking_server() -> (Server, Arc<Notify>) {
    #[derive(serde::Deserialize, Elicit)]
    struct Sure {
        sure: bool,
    }
    let release = Arc::new(Notify::new());
    let released = Arc::clone(&release);
    let tool = plain("asks", move |ctx: RequestContext| {
        let released = Arc::clone(&released);
        async move {
            released.notified().await;
            let sure: Sure = ctx.ask("sure", "Sure?").await?;
            Ok::<_, Error>(sure.sure.to_string())
        }
    });
    let server = server().tool(tool.with_task(TaskOptions::new()));
    (server, release)
}

fn call() -> Value {
    let params = json!({"name": "asks", "arguments": {}, "task": {}});
    legacy("call", "tools/call", params)
}

/// Checks that a message is the notification of this status. It contains the task as `tasks/get` returns it.
fn check_status(message: &Value, id: &str, status: &str) {
    assert_eq!(message["method"], "notifications/tasks/status", "{message}");
    let task = message["params"].as_object().expect("a task");
    assert_eq!(
        (&task["taskId"], &task["status"]),
        (&json!(id), &json!(status))
    );
    let names = [
        "taskId",
        "status",
        "createdAt",
        "lastUpdatedAt",
        "ttl",
        "pollInterval",
    ];
    assert!(
        names.iter().all(|name| task.contains_key(*name)),
        "{message}"
    );
    assert_eq!(
        task.len(),
        names.len(),
        "no result and no `_meta`: {message}"
    );
}

#[tokio::test]
async fn connection_gets_each_new_status_of_its_task() {
    let (server, release) = asking_server();
    let mut peer = Peer::connect(&server);
    let mut other = Peer::connect(&server);
    for peer in [&mut peer, &mut other] {
        peer.initialize_with("2025-11-25", json!({"elicitation": {}}))
            .await;
    }
    let created = peer.result_of(call()).await;
    let id = id_of(&created["task"]);
    release.notify_one();
    check_status(&peer.receive().await, &id, "input_required");
    peer.send(legacy(1, "tasks/cancel", json!({"taskId": id})))
        .await;
    check_status(&peer.receive().await, &id, "cancelled");
    let response = peer.receive().await;
    assert_eq!(response["result"]["status"], "cancelled", "{response}");
    other.expect_silence().await;
    peer.expect_silence().await;
}

#[tokio::test(start_paused = true)]
async fn client_uses_the_status_before_its_next_poll() {
    let release = Arc::new(Notify::new());
    let released = Arc::clone(&release);
    let tool = plain("waits", move |_: RequestContext| {
        let released = Arc::clone(&released);
        async move {
            released.notified().await;
            "done"
        }
    });
    let tasks = Tasks::in_memory().with_poll_interval(Duration::from_secs(30));
    let server = toolwire_tests::peer::server()
        .with_tasks(tasks)
        .tool(tool.with_task(TaskOptions::new()));
    let (client_end, server_end) = tokio::io::duplex(4096);
    let (reader, writer) = tokio::io::split(server_end);
    tokio::spawn(async move { server.serve_io(reader, writer, Limits::default()).await });
    let (reader, writer) = tokio::io::split(client_end);
    let client = ClientBuilder::new("test", "1")
        .with_versions([ProtocolVersion::V2025_11_25])
        .with_tasks()
        .connect_io(reader, writer)
        .await
        .expect("the client connects");
    let start = Instant::now();
    let call = client.call_tool("waits", json!({})).as_task().await;
    let Ok(Called::Task(task)) = call else {
        panic!("no task: {call:?}");
    };
    let releasing = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        release.notify_one();
    };
    let (result, ()) = tokio::join!(task.wait(), releasing);
    assert_eq!(result.expect("a result").all_text(), "done");
    // The first poll is due after 27 seconds at the earliest.
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[tokio::test]
async fn session_gets_each_new_status_on_its_get_stream() {
    let (server, release) = asking_server();
    let endpoint = Endpoint::serve(&server).await;
    let session = Session::open(&endpoint, "2025-11-25").await;
    let mut events = session.listen().await;
    let priming = events.next().await.expect("the stream is open");
    assert_eq!(priming.data, "");
    let created = session.call(call()).await;
    let id = id_of(&created["result"]["task"]);
    release.notify_one();
    check_status(&within(events.message()).await, &id, "input_required");
    let cancel = legacy(1, "tasks/cancel", json!({"taskId": id}));
    session.call(cancel).await;
    check_status(&within(events.message()).await, &id, "cancelled");
}
