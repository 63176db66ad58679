//! Cancellation and the end of the life of tasks.

use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use toolwire::tasks::{TaskOptions, Tasks};
use toolwire::{Elicit, Error, RequestContext, ToolHandler};
use toolwire_tests::peer::{Peer, cancel as cancel_request, plain, within};

use crate::peer::{cancel, get, server, start, update, wait_for};

struct NotifyOnDrop(UnboundedSender<()>);

impl Drop for NotifyOnDrop {
    fn drop(&mut self) {
        // Fails if the test has ended.
        let _ = self.0.send(());
    }
}

/// A tool that runs for ever and reports when it is dropped.
fn forever(dropped: UnboundedSender<()>) -> ToolHandler {
    let tool = plain("forever", move |_: RequestContext| {
        let guard = NotifyOnDrop(dropped.clone());
        async move {
            let _guard = guard;
            std::future::pending::<&str>().await
        }
    });
    tool.with_task(TaskOptions::new())
}

#[tokio::test]
async fn cancelled_task_drops_its_handler_and_stays_cancelled() {
    let (sender, mut dropped) = unbounded_channel();
    let mut peer = Peer::connect(&server().tool(forever(sender)));
    let id = start(&mut peer, "forever", json!({})).await;
    peer.send(cancel_request("call")).await;
    let task = peer.result_of(get(&id)).await;
    assert_eq!(task["status"], "working", "the request is not the task");
    for _ in 0..2 {
        let acknowledged = peer.result_of(cancel(&id)).await;
        assert_eq!(acknowledged, json!({"resultType": "complete"}));
    }
    within(dropped.recv()).await.unwrap();
    let task = peer.result_of(get(&id)).await;
    assert_eq!(task["status"], "cancelled", "{task}");
    assert_eq!((task.get("result"), task.get("error")), (None, None));
}

#[tokio::test]
async fn blocking_handler_sees_the_cancellation() {
    let (sender, mut seen) = unbounded_channel();
    let tool = ToolHandler::blocking(
        "blocks",
        move |ctx: RequestContext, _: Map<String, Value>| {
            while !ctx.is_cancelled() {
                std::thread::sleep(Duration::from_millis(1));
            }
            let flag = ctx.cancellation().is_some_and(|flag| flag.is_cancelled());
            sender.send(flag).expect("the test waits");
            "late"
        },
    );
    let mut peer = Peer::connect(&server().tool(tool.with_task(TaskOptions::new())));
    let id = start(&mut peer, "blocks", json!({})).await;
    peer.result_of(cancel(&id)).await;
    assert_eq!(within(seen.recv()).await, Some(true));
    let task = peer.result_of(get(&id)).await;
    assert_eq!(task["status"], "cancelled", "{task}");
}

#[tokio::test]
async fn task_that_waits_for_input_is_cancelled_at_once() {
    #[derive(serde::Deserialize, Elicit)]
    struct Sure {
        sure: bool,
    }
    let tool = plain("asks", |ctx: RequestContext| async move {
        let sure: Sure = ctx.ask("sure", "Sure?").await?;
        Ok::<_, Error>(sure.sure.to_string())
    });
    let mut peer = Peer::connect(&server().tool(tool.with_task(TaskOptions::new())));
    let id = start(&mut peer, "asks", json!({})).await;
    wait_for(&mut peer, &id, "input_required").await;
    peer.result_of(cancel(&id)).await;
    let task = peer.result_of(get(&id)).await;
    assert_eq!(task["status"], "cancelled", "{task}");
    assert_eq!(task.get("inputRequests"), None);
    let answer = json!({"action": "accept", "content": {"sure": true}});
    peer.result_of(update(&id, "sure", answer)).await;
    let task = peer.result_of(get(&id)).await;
    assert_eq!(task["status"], "cancelled", "{task}");
}

#[tokio::test]
async fn task_fails_at_the_end_of_its_life() {
    let (sender, mut dropped) = unbounded_channel();
    let tasks = Tasks::in_memory().with_ttl(Duration::from_millis(50));
    let server = toolwire_tests::peer::server()
        .with_tasks(tasks)
        .tool(forever(sender));
    let mut peer = Peer::connect(&server);
    let id = start(&mut peer, "forever", json!({})).await;
    within(dropped.recv()).await.unwrap();
    let task = wait_for(&mut peer, &id, "failed").await;
    assert_eq!(task["error"]["code"], -32603);
    assert_eq!(task["error"]["message"], "the task expired");
}
