//! What happens with running tasks when a server shuts down. The clock is paused, so elapsed time is exact.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::time::Instant;
use toolwire::tasks::{TaskOptions, TaskStatus, TaskWorkerOptions, Tasks};
use toolwire::{Elicit, Error, RequestContext, Server, ToolHandler};
use toolwire_tests::peer::{Peer, plain, within};

use crate::peer::{accept, start, update, wait_for};

/// Less than a server waits for working tasks.
const AT_ONCE: Duration = Duration::from_secs(1);

#[derive(serde::Deserialize, Elicit)]
struct Sure {
    sure: bool,
}

fn server(tasks: &Tasks, tool: ToolHandler) -> Server {
    toolwire_tests::peer::server()
        .with_tasks(tasks.clone())
        .tool(tool)
}

/// Returns a tool that works until it is released, and then asks.
fn asks(release: &Arc<Notify>) -> ToolHandler {
    let release = Arc::clone(release);
    let tool = plain("asks", move |ctx: RequestContext| {
        let release = Arc::clone(&release);
        async move {
            ctx.once("work", async { release.notified().await }).await?;
            let sure: Sure = ctx.ask("sure", "Sure?").await?;
            Ok::<_, Error>(format!("sure: {}", sure.sure))
        }
    });
    tool.with_task(TaskOptions::new())
}

/// Shuts a server down, and waits until its tasks have stopped.
async fn shut_down(server: &Server) {
    server.shutdown();
    let worker = server.clone().serve_tasks(TaskWorkerOptions::new());
    within(worker).await.expect("the server has tasks");
}

#[tokio::test(start_paused = true)]
async fn task_that_waits_for_input_is_handed_over_at_once() {
    let (tasks, release) = (Tasks::in_memory(), Arc::new(Notify::new()));
    let first = server(&tasks, asks(&release));
    let mut peer = Peer::connect(&first);
    release.notify_one();
    let id = start(&mut peer, "asks", json!({})).await;
    wait_for(&mut peer, &id, "input_required").await;
    let before = Instant::now();
    shut_down(&first).await;
    assert!(before.elapsed() < AT_ONCE, "{:?}", before.elapsed());

    // Another process continues it, without a second effect.
    let mut peer = Peer::connect(&server(&tasks, asks(&release)));
    wait_for(&mut peer, &id, "input_required").await;
    peer.result_of(update(&id, "sure", accept(json!({"sure": true}))))
        .await;
    let task = wait_for(&mut peer, &id, "completed").await;
    assert_eq!(task["result"]["content"][0]["text"], "sure: true");
}

#[tokio::test(start_paused = true)]
async fn working_task_is_handed_over_as_soon_as_it_asks() {
    let (tasks, release) = (Tasks::in_memory(), Arc::new(Notify::new()));
    let first = server(&tasks, asks(&release));
    let mut peer = Peer::connect(&first);
    let id = start(&mut peer, "asks", json!({})).await;
    let before = Instant::now();
    tokio::join!(shut_down(&first), async { release.notify_one() });
    assert!(before.elapsed() < AT_ONCE, "{:?}", before.elapsed());
    let task = first.task(&id).await.expect("the store is available");
    let status = task.expect("the task exists").status().await;
    assert_eq!(status.expect("it exists"), TaskStatus::InputRequired);
}

#[tokio::test(start_paused = true)]
async fn resumable_task_is_left_to_other_processes() {
    fn endless(runs: &UnboundedSender<&'static str>, process: &'static str) -> ToolHandler {
        let runs = runs.clone();
        let tool = plain("endless", move |_: RequestContext| {
            runs.send(process).expect("the test receives");
            std::future::pending::<String>()
        });
        tool.with_task(TaskOptions::new().resume())
    }
    let (runs, mut started) = unbounded_channel();
    let tasks = Tasks::in_memory();
    let first = server(&tasks, endless(&runs, "first"));
    let mut peer = Peer::connect(&first);
    start(&mut peer, "endless", json!({})).await;
    assert_eq!(within(started.recv()).await, Some("first"));
    shut_down(&first).await;
    // Time for the first process to claim the task again.
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(started.try_recv().is_err(), "the task runs again");
    let _second = Peer::connect(&server(&tasks, endless(&runs, "second")));
    assert_eq!(within(started.recv()).await, Some("second"));
}
