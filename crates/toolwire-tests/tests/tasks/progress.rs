//! What clients of the extension see of the progress of a task. The clock is paused, so elapsed time is exact.

#![expect(deprecated, reason = "log messages are deprecated")]

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use toolwire::store::contract::Faulty;
use toolwire::tasks::{MemoryTaskStore, TaskOptions, Tasks};
use toolwire::{LoggingLevel, RequestContext};
use toolwire_tests::peer::{Peer, modern, plain};

use crate::peer::{get, id_of, request};

/// The minimum time between two changes of the status message.
const INTERVAL: Duration = Duration::from_millis(500);

const STEPS: i64 = 100;

const STEP: Duration = Duration::from_millis(50);

/// Returns the parameters of a call that requests progress notifications and log messages.
fn call() -> Value {
    let meta = json!({"progressToken": "p", "io.modelcontextprotocol/logLevel": "debug"});
    json!({"name": "renders", "arguments": {}, "_meta": meta})
}

#[tokio::test(start_paused = true)]
async fn progress_is_a_status_message_that_changes_twice_per_second() {
    let tool = plain("renders", |ctx: RequestContext| async move {
        for step in 1..=STEPS {
            ctx.log(LoggingLevel::Error, "a log message");
            ctx.report_steps(step, STEPS, Some("frames"));
            tokio::time::sleep(STEP).await;
        }
        std::future::pending::<String>().await
    });
    let store = Arc::new(Faulty::new(Arc::new(MemoryTaskStore::default())));
    let server = toolwire_tests::peer::server()
        .with_logging()
        .with_tasks(Tasks::new(Arc::clone(&store)))
        .tool(tool.with_task(TaskOptions::new()));
    // An ordinary call sends notifications.
    let mut without_tasks = Peer::connect(&server);
    let ordinary = modern("call", "tools/call", call());
    without_tasks.send(ordinary).await;
    for method in ["notifications/message", "notifications/progress"] {
        let notification = without_tasks.receive().await;
        assert_eq!(notification["method"], method, "{notification}");
    }
    let mut peer = Peer::connect(&server);
    let mut listener = Peer::connect(&server);
    // Each response is the next message of the peer, so no notification arrives.
    let created = request("call", "tools/call", call());
    let id = id_of(&peer.result_of(created).await);
    let params = json!({"notifications": {"taskIds": [id]}});
    let mut listen = request("listen", "subscriptions/listen", params);
    listen["params"]["_meta"]["io.modelcontextprotocol/logLevel"] = json!("debug");
    listener.send(listen).await;
    listener.receive().await;

    let duration = STEP * u32::try_from(STEPS).expect("a small number");
    tokio::time::sleep(duration + INTERVAL).await;
    let writes = store.calls("replace");
    let most = duration.as_millis() / INTERVAL.as_millis() + 1;
    let most = usize::try_from(most).expect("a small number");
    assert!(
        (most / 2..=most).contains(&writes),
        "{writes} writes in {duration:?}"
    );
    let task = peer.result_of(get(&id)).await;
    assert_eq!(task["statusMessage"], "100/100 frames", "{task}");
    loop {
        let notification = listener.receive().await;
        assert_eq!(
            notification["method"], "notifications/tasks",
            "{notification}"
        );
        if notification["params"]["statusMessage"] == "100/100 frames" {
            return;
        }
    }
}
