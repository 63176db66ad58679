//! `subscriptions/listen` for tasks.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::sync::Notify;
use toolwire::tasks::{ServerTask, TaskOptions};
use toolwire::transport::Limits;
use toolwire::{CallToolResult, Elicit, Error, RequestContext, Server};
use toolwire_tests::peer::{Peer, modern, plain, within};

use crate::peer::{accept, request, server, start, update, wait_for};

fn listen(ids: &[&str]) -> Value {
    let params = json!({"notifications": {"taskIds": ids, "toolsListChanged": true}});
    request("listen", "subscriptions/listen", params)
}

/// Returns the next notification, and checks that it belongs to the stream.
async fn next(peer: &mut Peer, method: &str) -> Value {
    let mut notification = peer.receive().await;
    assert_eq!(notification["method"], method, "{notification}");
    let params = notification["params"].take();
    let subscription = &params["_meta"]["io.modelcontextprotocol/subscriptionId"];
    assert_eq!(*subscription, "listen", "{params}");
    params
}

#[tokio::test]
async fn stream_reports_the_whole_task_at_each_change() {
    #[derive(serde::Deserialize, Elicit)]
    struct Sure {
        sure: bool,
    }
    let release = Arc::new(Notify::new());
    let tool = {
        let release = Arc::clone(&release);
        plain("asks", move |ctx: RequestContext| {
            let release = Arc::clone(&release);
            async move {
                release.notified().await;
                let sure: Sure = ctx.ask("sure", "Sure?").await?;
                release.notified().await;
                Ok::<_, Error>(format!("sure: {}", sure.sure))
            }
        })
    };
    let server = server().tool(tool.with_task(TaskOptions::new()));
    let mut peer = Peer::connect(&server);
    let mut listener = Peer::connect(&server);
    let id = start(&mut peer, "asks", json!({})).await;
    listener.send(listen(&[&id, "unknown", "../x"])).await;
    let acknowledged = next(&mut listener, "notifications/subscriptions/acknowledged").await;
    assert_eq!(
        acknowledged["notifications"]["taskIds"],
        json!([id]),
        "{acknowledged}"
    );
    let task = next(&mut listener, "notifications/tasks").await;
    assert_eq!(
        (&task["taskId"], &task["status"]),
        (&json!(id), &json!("working"))
    );
    assert_eq!(task.get("resultType"), None, "{task}");
    release.notify_one();
    let task = next(&mut listener, "notifications/tasks").await;
    assert_eq!(task["status"], "input_required");
    assert!(task["inputRequests"].get("sure").is_some(), "{task}");
    wait_for(&mut peer, &id, "input_required").await;
    peer.result_of(update(&id, "sure", accept(json!({"sure": true}))))
        .await;
    release.notify_one();
    let mut task = next(&mut listener, "notifications/tasks").await;
    while task["status"] == "working" {
        task = next(&mut listener, "notifications/tasks").await;
    }
    assert_eq!(task["status"], "completed");
    assert_eq!(task["result"]["content"][0]["text"], "sure: true", "{task}");
    // Other changes of the stream still arrive.
    server.tools_changed();
    next(&mut listener, "notifications/tools/list_changed").await;
}

#[tokio::test]
async fn stream_of_tasks_needs_the_declaration() {
    let mut peer = Peer::connect(&server());
    let params = json!({"notifications": {"taskIds": ["t"]}});
    let undeclared = modern("listen", "subscriptions/listen", params);
    peer.error_of(undeclared, -32021).await;
}

#[tokio::test]
async fn change_that_clients_do_not_see_is_not_reported() {
    let release = Arc::new(Notify::new());
    let tool = {
        let release = Arc::clone(&release);
        plain("stores", move |ctx: RequestContext| {
            let release = Arc::clone(&release);
            async move {
                release.notified().await;
                for key in ["a", "b", "c"] {
                    let _stored: u8 = ctx.once(key, async { 1 }).await?;
                    for _ in 0..20 {
                        tokio::task::yield_now().await;
                    }
                }
                Ok::<_, Error>("done")
            }
        })
    };
    let server = server().tool(tool.with_task(TaskOptions::new()));
    let mut peer = Peer::connect(&server);
    let id = start(&mut peer, "stores", json!({})).await;
    peer.send(listen(&[&id])).await;
    next(&mut peer, "notifications/subscriptions/acknowledged").await;
    let task = next(&mut peer, "notifications/tasks").await;
    assert_eq!(task["status"], "working");
    release.notify_one();
    let task = next(&mut peer, "notifications/tasks").await;
    assert_eq!(task["status"], "completed", "{task}");
}

/// A server with a task that other code changes.
async fn waiting_task() -> (Server, ServerTask) {
    let tool = plain("waits", |_: RequestContext| {
        std::future::pending::<String>()
    });
    let server = server().tool(tool.with_task(TaskOptions::new()));
    let id = start(&mut Peer::connect(&server), "waits", json!({})).await;
    let task = server.task(&id).await.unwrap();
    (server, task.expect("the task exists"))
}

#[tokio::test]
async fn new_status_message_is_reported() {
    let (server, task) = waiting_task().await;
    let mut peer = Peer::connect(&server);
    peer.send(listen(&[task.id()])).await;
    next(&mut peer, "notifications/subscriptions/acknowledged").await;
    let shown = next(&mut peer, "notifications/tasks").await;
    assert_eq!(shown.get("statusMessage"), None, "{shown}");
    for message in ["half", "nearly there"] {
        task.set_status_message(message).await.unwrap();
        let shown = next(&mut peer, "notifications/tasks").await;
        assert_eq!(shown["status"], "working", "{shown}");
        assert_eq!(shown["statusMessage"], message, "{shown}");
    }
}

#[tokio::test]
async fn slow_reader_gets_the_latest_state_and_the_end() {
    /// How often the status message changes, and its size. All of them together exceed the buffer of the client.
    const CHANGES: usize = 200;
    const BYTES: usize = 1000;

    let (server, task) = waiting_task().await;
    let (client_end, server_end) = tokio::io::duplex(4 * BYTES);
    let (reader, writer) = tokio::io::split(server_end);
    tokio::spawn(async move { server.serve_io(reader, writer, Limits::default()).await });
    let (reader, mut writer) = tokio::io::split(client_end);
    let mut lines = BufReader::new(reader).lines();
    let mut receive = async || -> Value {
        let line = within(lines.next_line()).await.unwrap();
        serde_json::from_str(&line.expect("the stream is open")).unwrap()
    };
    let message = format!("{}\n", listen(&[task.id()]));
    writer.write_all(message.as_bytes()).await.unwrap();
    let acknowledged = receive().await;
    let method = "notifications/subscriptions/acknowledged";
    assert_eq!(acknowledged["method"], method, "{acknowledged}");
    assert_eq!(receive().await["params"]["status"], "working");
    for number in 0..CHANGES {
        let message = format!("{number:0BYTES$}");
        task.set_status_message(message).await.unwrap();
        // The stream gets each change, as far as the client reads.
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
    }
    let result = CallToolResult::text("done");
    assert!(task.complete(result).await.unwrap());
    let mut numbers = Vec::new();
    loop {
        let shown = receive().await["params"].take();
        let message = shown["statusMessage"].as_str().unwrap_or_default();
        if shown["status"] == "completed" {
            assert_eq!(message.parse(), Ok(CHANGES - 1), "the last message");
            assert_eq!(shown["result"]["content"][0]["text"], "done", "{shown}");
            break;
        }
        numbers.push(message.parse::<usize>().unwrap());
    }
    assert!(numbers.is_sorted(), "{numbers:?}");
    assert!(!numbers.is_empty() && numbers.len() < 20, "{numbers:?}");
}
