//! Nodes that share tasks: one takes calls, others run them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::json;
use tokio::runtime::Runtime;
use tokio::sync::Notify;
use tokio::time::timeout;
use toolwire::tasks::{TaskOptions, TaskWorkerOptions, Tasks};
use toolwire::types::Tool;
use toolwire::{Called, Client, RequestContext, Server, ToolHandler};
use toolwire_redis::{Redis, RedisOptions};

use crate::engine::Engine;

/// The timeout of what takes a few seconds at most.
const TIMEOUT: Duration = Duration::from_secs(60);

/// What the workers of a test count, and what they wait for.
#[derive(Default)]
struct Work {
    starts: AtomicU32,
    effects: AtomicU32,
    stored: AtomicU32,
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
                work.stored.fetch_add(1, Ordering::Relaxed);
                work.release.notified().await;
                Ok::<_, toolwire::Error>("rendered")
            }
        });
        tool.without_argument_check()
            .with_task(TaskOptions::new().required().resume())
    }

    async fn wait_for_starts(&self, starts: u32) {
        wait_for(&self.starts, starts).await;
    }

    /// Waits until the result of the effect is stored.
    async fn wait_for_effect(&self) {
        wait_for(&self.stored, 1).await;
    }
}

/// Waits until a count is reached.
async fn wait_for(count: &AtomicU32, expected: u32) {
    let reached = async {
        while count.load(Ordering::Relaxed) < expected {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let in_time = timeout(TIMEOUT, reached).await;
    assert!(in_time.is_ok(), "{count:?} instead of {expected}");
}

/// Returns a node with its own connection.
async fn node(url: &str, work: &Arc<Work>) -> Server {
    let redis = Redis::connect(url, RedisOptions::new("test"))
        .await
        .unwrap();
    let tasks = Tasks::new(redis.tasks())
        .queued()
        .with_poll_interval(Duration::from_millis(50))
        .with_lease(Duration::from_secs(1));
    Server::new("studio", "1.0.0")
        .with_tasks(tasks)
        .tool(work.tool())
}

/// Starts a worker in a runtime of its own, which can be stopped like a process.
fn start_worker(engine: &Engine, work: &Arc<Work>) -> Runtime {
    let runtime = Runtime::new().unwrap();
    let (url, work) = (engine.url(), Arc::clone(work));
    runtime.spawn(async move {
        let worker = node(&url, &work).await;
        let served = worker.serve_tasks(TaskWorkerOptions::new()).await;
        served.expect("the server has tasks");
    });
    runtime
}

#[tokio::test]
async fn task_survives_its_worker_and_an_outage() {
    let mut engine = Engine::start_persistent();
    let work = Arc::new(Work::default());
    let front = node(&engine.url(), &work).await;
    let client = Client::builder("desk", "1.0.0").with_tasks();
    let client = client.in_process(&front).await.unwrap();
    let called = client.call_tool("render", json!({})).as_task().await;
    let Called::Task(task) = called.unwrap() else {
        panic!("the call is not a task");
    };
    let lost = start_worker(&engine, &work);
    work.wait_for_effect().await;
    lost.shutdown_background();
    engine.kill();
    engine.restart();
    let worker = start_worker(&engine, &work);
    work.wait_for_starts(2).await;
    work.release.notify_one();
    let result = timeout(TIMEOUT, task.wait()).await.expect("an outcome");
    assert_eq!(result.unwrap().all_text(), "rendered");
    let effects = work.effects.load(Ordering::Relaxed);
    assert_eq!(effects, 1, "an effect happens once");
    worker.shutdown_background();
}
