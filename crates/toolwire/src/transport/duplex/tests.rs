//! Tests that need access to the inside of a connection.

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
async fn number_of_listen_streams_is_limited() {
    let mut client = InProcess::connect(&Server::new("test", "1"));
    for id in 0..requests::DEFAULT_IN_FLIGHT {
        let response = listen(&mut client, id).await;
        assert!(response.contains("acknowledged"), "{response}");
    }
    let rejected = listen(&mut client, requests::DEFAULT_IN_FLIGHT).await;
    assert!(rejected.contains("overloaded"), "{rejected}");

    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0}}"#;
    client.send(cancel).await.unwrap();
    let response = listen(&mut client, requests::DEFAULT_IN_FLIGHT).await;
    assert!(response.contains("acknowledged"), "{response}");
}

#[derive(serde::Deserialize, JsonSchema)]
struct Nothing {}

/// A connection to a server with two tools: `quick`, and `blocks`, which signals its start and blocks its thread.
struct Fixture {
    input: mpsc::Sender<Chunk>,
    out: Arc<OutgoingQueue>,
    serving: JoinHandle<()>,
    started: mpsc::UnboundedReceiver<()>,
    release: std::sync::mpsc::Sender<()>,
}

impl Fixture {
    fn open() -> Self {
        let (signal, started) = mpsc::unbounded_channel();
        let (release, released) = std::sync::mpsc::channel();
        let released = Arc::new(Mutex::new(released));
        let blocks = ToolHandler::typed("blocks", move |_: RequestContext, _: Nothing| {
            let (signal, released) = (signal.clone(), Arc::clone(&released));
            async move {
                signal.send(()).expect("the test receives");
                // An error means that the test is over.
                let _ = released.lock().expect("only one handler runs").recv();
                "released"
            }
        });
        let quick = ToolHandler::typed("quick", |_: RequestContext, _: Nothing| async { "quick" });
        let limits = Limits {
            drain: TEST_TIMEOUT * 2,
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
        self.input.send(chunk).await.expect("the loop reads");
    }
}

/// Longer than any wait of a passing test.
const TEST_TIMEOUT: Duration = Duration::from_secs(20);

async fn within<T>(waiting: impl Future<Output = T>) -> T {
    let waited = tokio::time::timeout(TEST_TIMEOUT, waiting).await;
    waited.expect("the wait timed out")
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
const LOGGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/unknown"}"#;

/// A subscriber that panics in the loop.
#[derive(Debug, Default)]
struct PanickingSubscriber;

impl Subscriber for PanickingSubscriber {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("toolwire")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn event(&self, event: &Event<'_>) {
        let metadata = event.metadata();
        let is_from_loop = metadata.target().starts_with("toolwire::transport::duplex");
        assert!(!is_from_loop || *metadata.level() != Level::DEBUG);
    }

    fn exit(&self, _: &Id) {}
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
}

/// Returns a second subscriber. With a single one, `tracing` disables a callsite for all threads if a thread without a
/// subscriber reaches it first, which other tests do. With two subscribers, each is consulted.
fn other_subscriber() -> Dispatch {
    Dispatch::new(PanickingSubscriber)
}

#[tokio::test(start_paused = true)]
async fn dropped_connection_ends_its_writer() {
    let fixture = Fixture::open();
    // Before its first poll.
    fixture.serving.abort();
    assert_eq!(within(fixture.out.next()).await, None);

    let fixture = Fixture::open();
    fixture.send(&[call(1, "quick")]).await;
    assert!(within(fixture.out.next()).await.is_some());
    fixture.serving.abort();
    assert_eq!(within(fixture.out.next()).await, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dropped_connection_with_a_blocked_handler_is_closed() {
    let mut fixture = Fixture::open();
    // A request that arrives alone is a task, so the loop does not wait for it.
    fixture.send(&[call(1, "blocks")]).await;
    within(fixture.started.recv()).await;
    fixture.serving.abort();
    assert_eq!(within(fixture.out.next()).await, None);
    drop(fixture.release);
}

#[tokio::test(start_paused = true)]
async fn panic_in_the_loop_closes_the_connection() {
    let _other = other_subscriber();
    let _guard = tracing::subscriber::set_default(PanickingSubscriber);
    let mut client = InProcess::connect(&Server::new("test", "1"));
    client.send(LOGGED).await.unwrap();
    assert_eq!(within(client.receive()).await, None);
}
