//! `subscriptions/listen` for tasks.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::Notify;
use toolwire::tasks::TaskOptions;
use toolwire::{Elicit, Error, RequestContext};
use toolwire_tests::peer::{Peer, modern, plain};

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
