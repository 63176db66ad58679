//! What only the inside of a connection shows.

use std::sync::Mutex;
use std::time::Duration;

use tokio::task::JoinHandle;
use tracing::span::{Attributes, Id, Record};
use tracing::{Dispatch, Event, Level, Metadata, Subscriber};

use super::*;
use crate::transport::memory::InProcess;
use crate::{JsonSchema, RequestContext, ToolHandler};

async fn listen(client: &mut InProcess, id: usize) -> String {
    let request = serde_json::json!({
        "jsonrpc": "2.0", "id": id, "method": "subscriptions/listen",
        "params": {
            "notifications": {},
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        },
    });
    client.send(&request.to_string()).await.unwrap();
    client.receive().await.unwrap()
}

#[tokio::test]
async fn a_connection_has_a_bounded_number_of_streams() {
    let mut client = InProcess::connect(&Server::new("test", "1"));
    for id in 0..requests::DEFAULT_IN_FLIGHT {
        let answer = listen(&mut client, id).await;
        assert!(answer.contains("acknowledged"), "{answer}");
    }
    let refused = listen(&mut client, requests::DEFAULT_IN_FLIGHT).await;
    assert!(refused.contains("overloaded"), "{refused}");

    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0}}"#;
    client.send(cancel).await.unwrap();
    let answer = listen(&mut client, requests::DEFAULT_IN_FLIGHT).await;
    assert!(answer.contains("acknowledged"), "{answer}");
}

#[derive(serde::Deserialize, JsonSchema)]
struct Nothing {}

/// A connection to a server with the tools `quick`, and `blocks`, which tells that it runs and holds its thread.
struct Stage {
    input: mpsc::Sender<Chunk>,
    out: Arc<OutgoingQueue>,
    serving: JoinHandle<()>,
    started: mpsc::UnboundedReceiver<()>,
    release: std::sync::mpsc::Sender<()>,
}

impl Stage {
    fn open() -> Self {
        let (tell, started) = mpsc::unbounded_channel();
        let (release, released) = std::sync::mpsc::channel();
        let released = Arc::new(Mutex::new(released));
        let blocks = ToolHandler::typed("blocks", move |_: RequestContext, _: Nothing| {
            let (tell, released) = (tell.clone(), Arc::clone(&released));
            async move {
                tell.send(()).expect("the test listens");
                // An error means that the test is over.
                let _ = released.lock().expect("one handler takes it").recv();
                "released"
            }
        });
        let quick = ToolHandler::typed("quick", |_: RequestContext, _: Nothing| async { "quick" });
        let limits = Limits {
            drain: WAIT * 2,
            ..Limits::default()
        };
        let out = Arc::new(OutgoingQueue::new(limits.outbox()));
        let (input, chunks) = mpsc::channel(4);
        let server = Server::new("test", "1").tool(blocks).tool(quick);
        let connection = MessageLoop::new(server, Arc::clone(&out), limits);
        Self {
            input,
            out,
            serving: tokio::spawn(connection.run(chunks)),
            started,
            release,
        }
    }

    async fn send(&self, lines: &[String]) {
        let bytes = lines
            .iter()
            .flat_map(|line| format!("{line}\n").into_bytes());
        let chunk = Chunk::from(bytes.collect::<Vec<_>>());
        self.input.send(chunk).await.expect("somebody reads");
    }
}

/// Longer than anything a passing test waits for.
const WAIT: Duration = Duration::from_secs(20);

async fn within<T>(waiting: impl Future<Output = T>) -> T {
    let waited = tokio::time::timeout(WAIT, waiting).await;
    waited.expect("nothing happened for a long time")
}

fn call(id: i64, tool: &str) -> String {
    let request = serde_json::json!({
        "jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": {
            "name": tool, "arguments": {},
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        },
    });
    request.to_string()
}

/// A message that the loop itself logs.
const LOGGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/nobody-needs-it"}"#;

/// A subscriber that panics in the loop, as some do.
#[derive(Debug, Default)]
struct Panicky;

impl Subscriber for Panicky {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("toolwire")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn event(&self, event: &Event<'_>) {
        let metadata = event.metadata();
        let is_of_the_loop = metadata.target() == "toolwire::transport::duplex";
        assert!(!is_of_the_loop || *metadata.level() != Level::DEBUG);
    }

    fn exit(&self, _: &Id) {}
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
}

/// With a single subscriber a place of tracing is switched off for all threads when one without a subscriber comes by
/// first, and other tests do; with two, each is asked.
fn other_subscriber() -> Dispatch {
    Dispatch::new(Panicky)
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_is_dropped_leaves_no_writer_waiting() {
    let stage = Stage::open();
    // Before it ran at all.
    stage.serving.abort();
    assert_eq!(within(stage.out.next()).await, None);

    let stage = Stage::open();
    stage.send(&[call(1, "quick")]).await;
    assert!(within(stage.out.next()).await.is_some());
    stage.serving.abort();
    assert_eq!(within(stage.out.next()).await, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_is_dropped_while_a_handler_holds_its_thread_is_closed() {
    let mut stage = Stage::open();
    // A request that comes alone is a task, so the loop does not wait for it.
    stage.send(&[call(1, "blocks")]).await;
    within(stage.started.recv()).await;
    stage.serving.abort();
    assert_eq!(within(stage.out.next()).await, None);
    drop(stage.release);
}

#[tokio::test(start_paused = true)]
async fn a_client_is_told_when_the_loop_panics() {
    let _other = other_subscriber();
    let _guard = tracing::subscriber::set_default(Panicky);
    let mut client = InProcess::connect(&Server::new("test", "1"));
    client.send(LOGGED).await.unwrap();
    assert_eq!(within(client.receive()).await, None);
}
