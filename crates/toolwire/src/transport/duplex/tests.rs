//! What only the inside of a connection shows.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::task::JoinHandle;
use tracing::span::{Attributes, Id, Record};
use tracing::{Dispatch, Event, Level, Metadata, Subscriber};

use super::*;
use crate::transport::memory::InProcess;
use crate::{JsonSchema, RequestContext, ServedTool};

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
    out: Arc<OutStream>,
    serving: JoinHandle<()>,
    started: mpsc::UnboundedReceiver<()>,
    release: std::sync::mpsc::Sender<()>,
}

impl Stage {
    fn open() -> Self {
        Self::with_places(Limits::default().requests_in_flight)
    }

    fn with_places(requests_in_flight: usize) -> Self {
        let (tell, started) = mpsc::unbounded_channel();
        let (release, released) = std::sync::mpsc::channel();
        let released = Arc::new(Mutex::new(released));
        let blocks = ServedTool::typed("blocks", move |_: RequestContext, _: Nothing| {
            let (tell, released) = (tell.clone(), Arc::clone(&released));
            async move {
                tell.send(()).expect("the test listens");
                // An error means that the test is over.
                let _ = released.lock().expect("one handler takes it").recv();
                "released"
            }
        });
        let quick = ServedTool::typed("quick", |_: RequestContext, _: Nothing| async { "quick" });
        let limits = Limits {
            drain: WAIT * 2,
            requests_in_flight,
            ..Limits::default()
        };
        let out = Arc::new(OutStream::new(limits.outbox()));
        let (input, chunks) = mpsc::channel(4);
        let server = Server::new("test", "1").tool(blocks).tool(quick);
        let connection = Duplex::new(server, Arc::clone(&out), limits);
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

    async fn next_answer(&self) -> String {
        let answer = within(self.out.next()).await;
        String::from_utf8(answer.expect("the connection is open")).expect("answers are text")
    }

    /// The connection ended with a panic, soon.
    async fn expect_panic(self) {
        let ended = within(self.serving).await;
        assert!(ended.expect_err("nobody panicked").is_panic());
        assert!(self.out.is_closed());
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

/// A subscriber that panics, as some do: in the loop, or after a handler once that is wanted.
#[derive(Debug, Default)]
struct Panicky {
    after_a_handler: AtomicBool,
}

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

    fn exit(&self, _: &Id) {
        let wanted = self.after_a_handler.swap(false, Ordering::SeqCst);
        assert!(!wanted, "after a handler");
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
}

/// With a single subscriber a place of tracing is switched off for all threads when one without a subscriber comes by
/// first, and other tests do; with two, each is asked.
fn other_subscriber() -> Dispatch {
    Dispatch::new(Panicky::default())
}

/// Runs a test on two threads that log to the subscriber.
fn with_panicky_threads<F: Future<Output = ()>>(test: impl FnOnce(Arc<Panicky>) -> F) {
    let panicky = Arc::new(Panicky::default());
    let _other = other_subscriber();
    let dispatch = Dispatch::from(Arc::clone(&panicky) as Arc<dyn Subscriber + Send + Sync>);
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .on_thread_start(move || {
            // For as long as the thread lives.
            std::mem::forget(tracing::dispatcher::set_default(&dispatch));
        })
        .build()
        .unwrap()
        .block_on(test(panicky));
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
    // The last one of a chunk would have a task of its own, and the connection would not be lent.
    stage.send(&[call(1, "blocks"), call(2, "blocks")]).await;
    within(stage.started.recv()).await;
    stage.serving.abort();
    assert_eq!(within(stage.out.next()).await, None);
    drop(stage.release);
}

#[tokio::test(start_paused = true)]
async fn a_client_is_told_when_the_loop_panics() {
    let _other = other_subscriber();
    let _guard = tracing::subscriber::set_default(Panicky::default());
    let mut client = InProcess::connect(&Server::new("test", "1"));
    client.send(LOGGED).await.unwrap();
    assert_eq!(within(client.receive()).await, None);
}

#[test]
fn a_panic_that_loses_the_connection_ends_it_although_somebody_holds_a_thread() {
    with_panicky_threads(|_| async {
        let stage = Stage::open();
        let release = stage.release.clone();
        stage.send(&[call(1, "blocks"), LOGGED.to_owned()]).await;
        stage.expect_panic().await;
        drop(release);
    });
}

#[test]
fn a_panic_of_one_who_was_relieved_costs_the_others_nothing_and_is_not_lost() {
    with_panicky_threads(|panicky| async move {
        // The one that blocks takes the only place, which it gives up when it panics.
        let mut stage = Stage::with_places(1);
        stage.send(&[call(1, "blocks"), call(2, "quick")]).await;
        within(stage.started.recv()).await;
        assert!(stage.next_answer().await.contains("overloaded"));
        panicky.after_a_handler.store(true, Ordering::SeqCst);
        stage.release.send(()).unwrap();
        // Otherwise the next call might be the one after which it panics.
        let panicked = async {
            while panicky.after_a_handler.load(Ordering::SeqCst) {
                tokio::task::yield_now().await;
            }
        };
        within(panicked).await;
        let served = async {
            loop {
                stage.send(&[call(3, "quick")]).await;
                if stage.next_answer().await.contains("quick") {
                    return;
                }
            }
        };
        within(served).await;
        // Everybody counts as done, so that the end need not be waited for.
        stage.input = mpsc::channel(1).0;
        stage.expect_panic().await;
    });
}
