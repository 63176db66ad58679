//! Two nodes that share a task store and a bus: each node serves the tasks of the other.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout;
use toolwire::store::{
    Bus as _, BusMessage, BusPayload, MemoryBus, MemoryEventLog, MemorySessionStore,
};
use toolwire::tasks::{TaskOptions, TaskStatus, Tasks};
use toolwire::transport::http::HttpOptions;
use toolwire::{Change, Elicit, Error, RequestContext, Server, ToolHandler};
use toolwire_tests::http::endpoint::Endpoint;
use toolwire_tests::http::events::Events;
use toolwire_tests::http::request::Request;
use toolwire_tests::http::session::Session;
use toolwire_tests::peer::{Peer, legacy, modern, plain, result_response, within};

use crate::peer::{accept, call, cancel, get, id_of, request, start, update};

#[derive(serde::Deserialize, Elicit)]
struct Sure {
    sure: bool,
}

struct NotifyOnDrop(UnboundedSender<()>);

impl Drop for NotifyOnDrop {
    fn drop(&mut self) {
        // Fails if the test has ended.
        let _ = self.0.send(());
    }
}

/// Two nodes. The tool `asks` waits for its release and then asks. The tool `forever` reports that it was dropped.
struct Nodes {
    a: Endpoint,
    b: Endpoint,
    release: Arc<Notify>,
    dropped: UnboundedReceiver<()>,
}

impl Nodes {
    async fn new() -> Self {
        let release = Arc::new(Notify::new());
        let (sender, dropped) = unbounded_channel();
        let tasks = Tasks::in_memory();
        let options = HttpOptions::new()
            .with_session_store(Arc::new(MemorySessionStore::default()))
            .with_event_log(Arc::new(MemoryEventLog::default()))
            .with_bus(Arc::new(MemoryBus::default()));
        let node = || {
            toolwire_tests::peer::server()
                .with_tasks(tasks.clone())
                .tool(asks(&release))
                .tool(forever(&sender))
        };
        let serve = async |server: Server| {
            let endpoint = Endpoint::serve_with(&server, options.clone()).await;
            // A node subscribes to the bus on its first request.
            endpoint.call(modern(1, "tools/list", json!({}))).await;
            endpoint
        };
        let (a, b) = (serve(node()).await, serve(node()).await);
        Self {
            a,
            b,
            release,
            dropped,
        }
    }

    /// Starts a task at the first node.
    async fn start(&self, tool: &str) -> String {
        let created = self.a.call(call(tool, json!({}))).await;
        id_of(&created["result"])
    }
}

fn asks(release: &Arc<Notify>) -> ToolHandler {
    let release = Arc::clone(release);
    let tool = plain("asks", move |ctx: RequestContext| {
        let release = Arc::clone(&release);
        async move {
            release.notified().await;
            let sure: Sure = ctx.ask("sure", "Sure?").await?;
            Ok::<_, Error>(format!("sure: {}", sure.sure))
        }
    });
    tool.with_task(TaskOptions::new())
}

fn forever(dropped: &UnboundedSender<()>) -> ToolHandler {
    let dropped = dropped.clone();
    let tool = plain("forever", move |_: RequestContext| {
        let guard = NotifyOnDrop(dropped.clone());
        async move {
            let _guard = guard;
            std::future::pending::<String>().await
        }
    });
    tool.with_task(TaskOptions::new())
}

/// Polls a node until the task has this status, and returns the task.
async fn wait_for(node: &Endpoint, id: &str, status: &str) -> Value {
    within(async {
        loop {
            let mut task = node.call(get(id)).await;
            if task["result"]["status"] == status {
                return task["result"].take();
            }
        }
    })
    .await
}

/// Returns the parameters of the next notification about a task.
async fn next_task(events: &mut Events) -> Value {
    let mut message = within(events.message()).await;
    assert_eq!(message["method"], "notifications/tasks", "{message}");
    message["params"].take()
}

#[tokio::test]
async fn task_of_one_node_gets_its_responses_from_the_other() {
    let nodes = Nodes::new().await;
    let id = nodes.start("asks").await;
    let task = nodes.b.call(get(&id)).await;
    assert_eq!(task["result"]["status"], "working", "{task}");
    nodes.release.notify_one();
    wait_for(&nodes.b, &id, "input_required").await;
    let accepted = update(&id, "sure", accept(json!({"sure": true})));
    nodes.b.call(accepted).await;
    for node in [&nodes.a, &nodes.b] {
        let task = wait_for(node, &id, "completed").await;
        assert_eq!(task["result"]["content"][0]["text"], "sure: true", "{task}");
    }
}

#[tokio::test]
async fn cancellation_at_one_node_drops_the_handler_of_the_other() {
    let mut nodes = Nodes::new().await;
    let id = nodes.start("forever").await;
    nodes.b.call(cancel(&id)).await;
    within(nodes.dropped.recv())
        .await
        .expect("the handler is dropped");
    let task = nodes.a.call(get(&id)).await;
    assert_eq!(task["result"]["status"], "cancelled", "{task}");
}

#[tokio::test]
async fn stream_at_one_node_reports_the_task_of_the_other() {
    let nodes = Nodes::new().await;
    let id = nodes.start("asks").await;
    let params = json!({"notifications": {"taskIds": [id]}});
    let listen = request("listen", "subscriptions/listen", params);
    let mut events = nodes.b.open(&Request::modern(&listen)).await;
    let acknowledged = events.message().await;
    let accepted = &acknowledged["params"]["notifications"]["taskIds"];
    assert_eq!(*accepted, json!([id]), "{acknowledged}");
    assert_eq!(next_task(&mut events).await["status"], "working");
    nodes.release.notify_one();
    assert_eq!(next_task(&mut events).await["status"], "input_required");
    let accepted = update(&id, "sure", accept(json!({"sure": false})));
    nodes.a.call(accepted).await;
    let mut task = next_task(&mut events).await;
    while task["status"] == "working" {
        task = next_task(&mut events).await;
    }
    assert_eq!(
        task["result"]["content"][0]["text"], "sure: false",
        "{task}"
    );
}

#[tokio::test]
async fn result_of_the_core_design_is_awaited_at_the_other_node() {
    let nodes = Nodes::new().await;
    let session = Session::open(&nodes.a, "2025-11-25").await;
    let params = json!({"name": "asks", "arguments": {}, "task": {}});
    let created = session.call(legacy("call", "tools/call", params)).await;
    let id = id_of(&created["result"]["task"]);
    nodes.release.notify_one();
    let at_b = session.at(&nodes.b);
    let awaited = legacy("result", "tasks/result", json!({"taskId": id}));
    let mut events = at_b.stream(&awaited).await;
    let priming = events.next().await.expect("the stream is open");
    assert_eq!(priming.data, "");
    let asked = within(events.message()).await;
    assert_eq!(asked["method"], "elicitation/create", "{asked}");
    let accepted = accept(json!({"sure": true}));
    at_b.send(result_response(asked["id"].clone(), accepted))
        .await;
    let result = within(events.message()).await;
    let text = &result["result"]["content"][0]["text"];
    assert_eq!(text, "sure: true", "{result}");
}

#[tokio::test]
async fn waiter_learns_the_end_of_its_task_when_bus_messages_were_lost() {
    let tasks = Tasks::in_memory();
    let (sender, _dropped) = unbounded_channel();
    let node = || {
        let server = toolwire_tests::peer::server().with_tasks(tasks.clone());
        server.tool(forever(&sender))
    };
    // The first node has no bus. So the second one misses all its changes.
    let (first, second) = (node(), node());
    let bus = Arc::new(MemoryBus::default());
    let options = HttpOptions::new().with_bus(bus.clone());
    let endpoint = Endpoint::serve_with(&second, options).await;
    endpoint.call(modern(1, "tools/list", json!({}))).await;
    let mut peer = Peer::connect(&first);
    let id = start(&mut peer, "forever", json!({})).await;
    let task = second.task(&id).await.unwrap().expect("the task exists");
    let mut ended = pin!(task.ended());
    assert!(timeout(Duration::ZERO, &mut ended).await.is_err());
    peer.result_of(cancel(&id)).await;
    // More messages at once than a subscription of the bus may be behind.
    let change = BusPayload::Change(Change::Task("another".to_owned()));
    let messages = vec![BusMessage::new("other", change); 2000];
    bus.publish_all(&messages).await.unwrap();
    assert_eq!(within(ended).await.unwrap(), TaskStatus::Cancelled);
}
