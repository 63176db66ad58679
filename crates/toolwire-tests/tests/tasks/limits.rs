//! The limits of tasks, at their edges.

use serde_json::json;
use toolwire::tasks::{TaskOptions, Tasks};
use toolwire::{CallToolResult, Elicit, Error, RequestContext, ToolHandler, ask};
use toolwire_tests::peer::{Peer, plain};

use crate::peer::{call, cancel, server, start, wait_for};

const MIB: usize = 1024 * 1024;

fn forever() -> ToolHandler {
    let tool = plain("forever", |_: RequestContext| {
        std::future::pending::<String>()
    });
    tool.with_task(TaskOptions::new())
}

#[tokio::test]
async fn number_of_running_tasks_is_limited() {
    let tasks = Tasks::in_memory().with_max_running(2);
    let server = toolwire_tests::peer::server()
        .with_tasks(tasks)
        .tool(forever());
    let mut peer = Peer::connect(&server);
    let first = start(&mut peer, "forever", json!({})).await;
    start(&mut peer, "forever", json!({})).await;
    let error = peer.error_of(call("forever", json!({})), -32603).await;
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("2 tasks"), "{message}");
    peer.result_of(cancel(&first)).await;
    // The handler is dropped soon, and then there is capacity again.
    toolwire_tests::peer::within(async {
        while peer
            .call(call("forever", json!({})))
            .await
            .get("result")
            .is_none()
        {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn size_of_a_result_is_limited() {
    // The bytes of a result besides its text.
    let rest = r#"{"content":[{"type":"text","text":""}],"resultType":"complete"}"#.len();
    for (bytes, status) in [
        (4 * MIB - rest, "completed"),
        (4 * MIB - rest + 1, "failed"),
    ] {
        let tool = plain("big", move |_: RequestContext| async move {
            CallToolResult::text("x".repeat(bytes))
        });
        let mut peer = Peer::connect(&server().tool(tool.with_task(TaskOptions::new())));
        let id = start(&mut peer, "big", json!({})).await;
        let task = wait_for(&mut peer, &id, status).await;
        if status == "failed" {
            let message = task["error"]["message"].as_str().unwrap();
            assert!(message.contains("4194304 bytes"), "{message}");
        }
    }
}

#[tokio::test]
async fn size_of_stored_results_is_limited() {
    for (bytes, status) in [(MIB - 200, "completed"), (MIB, "failed")] {
        let tool = plain("stores", move |ctx: RequestContext| async move {
            let stored: String = ctx.once("text", async { "x".repeat(bytes) }).await?;
            Ok::<_, Error>(stored.len().to_string())
        });
        let mut peer = Peer::connect(&server().tool(tool.with_task(TaskOptions::new())));
        let id = start(&mut peer, "stores", json!({})).await;
        wait_for(&mut peer, &id, status).await;
    }
}

#[tokio::test]
async fn number_of_open_input_requests_is_limited() {
    #[derive(serde::Deserialize, Elicit)]
    struct Sure {
        #[expect(dead_code, reason = "no form is filled in")]
        sure: bool,
    }
    for (count, status) in [(32, "input_required"), (33, "failed")] {
        let tool = plain("asks", move |ctx: RequestContext| async move {
            let forms = (0..count).map(|number| ask::form::<Sure>(format!("k{number}"), "Sure?"));
            let forms: Vec<_> = forms.collect();
            let answers = ctx.ask_all(forms).await?;
            Ok::<_, Error>(answers.len().to_string())
        });
        let mut peer = Peer::connect(&server().tool(tool.with_task(TaskOptions::new())));
        let id = start(&mut peer, "asks", json!({})).await;
        let task = wait_for(&mut peer, &id, status).await;
        if status == "failed" {
            let message = task["error"]["message"].as_str().unwrap();
            assert!(message.contains("32 open input requests"), "{message}");
        }
    }
}
