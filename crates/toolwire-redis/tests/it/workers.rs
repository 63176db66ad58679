//! Nodes that share tasks: one takes calls, others run them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::json;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use toolwire::tasks::{TaskOptions, TaskWorkerOptions, Tasks};
use toolwire::types::Tool;
use toolwire::{Called, Client, RequestContext, Server, ToolHandler};

use crate::engine::Engine;

/// The timeout of what takes a few seconds at most.
const TIMEOUT: Duration = Duration::from_secs(60);

/// What the workers of a test count, and what they wait for.
#[derive(Default)]
struct Work {
    starts: AtomicU32,
    effects: AtomicU32,
    release: Notify,
}

impl Work {
    /// Returns a tool with an effect that must happen once, which then waits.
    fn tool(self: &Arc<Self>) -> ToolHandler {
        let work = Arc::clone(self);
        let descriptor = Tool::new("render", json!({"type": "object"}));
        let tool = ToolHandler::raw(descriptor, move |ctx: RequestContext, _| {
            let work = Arc::clone(&work);
            async move {
                work.starts.fetch_add(1, Ordering::Relaxed);
                let effect = async { work.effects.fetch_add(1, Ordering::Relaxed) };
                ctx.once("effect", effect).await?;
                work.release.notified().await;
                Ok::<_, toolwire::Error>("rendered")
            }
        });
        tool.without_argument_check()
            .with_task(TaskOptions::new().required().resume())
    }

    async fn wait_for_starts(&self, starts: u32) {
        let started = async {
            while self.starts.load(Ordering::Relaxed) < starts {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let in_time = timeout(TIMEOUT, started).await;
        assert!(in_time.is_ok(), "the handler did not start {starts} times");
    }
}

/// Returns a node with its own connection.
async fn node(engine: &Engine, work: &Arc<Work>) -> Server {
    let tasks = Tasks::new(engine.connect().await.tasks())
        .queued()
        .with_poll_interval(Duration::from_millis(50))
        .with_lease(Duration::from_secs(1));
    Server::new("studio", "1.0.0")
        .with_tasks(tasks)
        .tool(work.tool())
}

fn start_worker(node: Server) -> JoinHandle<()> {
    tokio::spawn(async move {
        let worker = node.serve_tasks(TaskWorkerOptions::new());
        worker.await.expect("the server has tasks");
    })
}

#[tokio::test]
async fn task_survives_its_worker_and_an_outage() {
    let persistent = [
        "--save",
        "",
        "--appendonly",
        "yes",
        "--appendfsync",
        "always",
    ];
    let mut engine = Engine::start_with(&persistent).await;
    let work = Arc::new(Work::default());
    let front = node(&engine, &work).await;
    let client = Client::builder("desk", "1.0.0").with_tasks();
    let client = client.in_process(&front).await.unwrap();
    let called = client.call_tool("render", json!({})).as_task().await;
    let Called::Task(task) = called.unwrap() else {
        panic!("the call is not a task");
    };
    let lost = start_worker(node(&engine, &work).await);
    work.wait_for_starts(1).await;
    lost.abort();
    let _ = lost.await;
    engine.kill();
    engine.restart().await;
    let worker = start_worker(node(&engine, &work).await);
    work.wait_for_starts(2).await;
    work.release.notify_one();
    let result = timeout(TIMEOUT, task.wait()).await.expect("an outcome");
    assert_eq!(result.unwrap().all_text(), "rendered");
    let effects = work.effects.load(Ordering::Relaxed);
    assert_eq!(effects, 1, "an effect happens once");
    worker.abort();
}
