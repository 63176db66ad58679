//! Concurrent calls to a server that drops, delays and duplicates responses.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::Instant;
use toolwire::testing::{ScriptedServer, TextResult};
use toolwire::{Client, ProtocolVersion};

use super::{LEGACY, MODERN, builder, text};

const CALLS: usize = 10_000;
const CONCURRENT_CALLS: usize = 64;

/// The number of calls by outcome.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct CallCounts {
    pub(crate) responses: usize,
    pub(crate) timeouts: usize,
    pub(crate) rejections: usize,
    pub(crate) malformed: usize,
    /// Calls with a lost connection, or with a status that is not a success.
    pub(crate) lost: usize,
    /// The number of received progress notifications.
    pub(crate) progress: usize,
}

impl CallCounts {
    /// Returns the number of all calls that ended.
    pub(crate) fn total(&self) -> usize {
        self.responses + self.timeouts + self.rejections + self.malformed + self.lost
    }
}

/// Makes `calls` calls, at most `concurrent` at a time. Each must end with its own response or with an error.
pub(crate) async fn call_repeatedly(
    client: &Client,
    calls: usize,
    concurrent: usize,
) -> CallCounts {
    let next = Arc::new(AtomicUsize::new(0));
    let progress_count = Arc::new(AtomicUsize::new(0));
    let mut workers = JoinSet::new();
    for _ in 0..concurrent {
        let (client, next, progress_count) = (
            client.clone(),
            Arc::clone(&next),
            Arc::clone(&progress_count),
        );
        workers.spawn(async move {
            let mut counts = CallCounts::default();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= calls {
                    return counts;
                }
                let progress_count = Arc::clone(&progress_count);
                let call = client
                    .call_tool("echo", json!({ "number": number }))
                    .on_progress(move |_| {
                        progress_count.fetch_add(1, Ordering::Relaxed);
                    });
                match call.await {
                    Ok(result) => {
                        assert_eq!(result.texts(), [number.to_string()]);
                        counts.responses += 1;
                    }
                    Err(error) if error.is_timeout() => counts.timeouts += 1,
                    Err(error) if error.rpc().is_some() => counts.rejections += 1,
                    Err(error) if error.http_status().is_some() => counts.lost += 1,
                    Err(error) if error.is_protocol_violation() => counts.malformed += 1,
                    Err(error) => {
                        assert!(!error.to_string().is_empty(), "{error:?}");
                        counts.lost += 1;
                    }
                }
            }
        });
    }
    let mut sum = CallCounts::default();
    while let Some(counts) = workers.join_next().await {
        let counts = counts.expect("no panic");
        sum.responses += counts.responses;
        sum.timeouts += counts.timeouts;
        sum.rejections += counts.rejections;
        sum.malformed += counts.malformed;
        sum.lost += counts.lost;
    }
    sum.progress = progress_count.load(Ordering::Relaxed);
    sum
}

/// A deterministic pseudo-random number generator.
#[derive(Debug)]
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        // Marsaglia's xorshift.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// A server that violates the protocol at random.
struct Hostile {
    server: ScriptedServer,
    rng: Rng,
    /// The delayed messages, by the time to send them and a unique number.
    later: BTreeMap<(Instant, u64), String>,
    scheduled: u64,
    /// The requests without a response. The client must cancel each of them once.
    without_response: HashSet<u64>,
    cancelled: HashSet<u64>,
}

impl Hostile {
    fn new(server: ScriptedServer) -> Self {
        Self {
            server,
            rng: Rng(0x2545_f491_4f6c_dd1d),
            later: BTreeMap::new(),
            scheduled: 0,
            without_response: HashSet::new(),
            cancelled: HashSet::new(),
        }
    }

    async fn serve(&mut self) {
        loop {
            let due = self.later.keys().next().map(|(due, _)| *due);
            tokio::select! {
                biased;
                message = self.server.receive() => self.handle(message).await,
                () = wait_until(due) => {
                    if let Some((_, message)) = self.later.pop_first() {
                        self.server.send(message).await;
                    }
                }
            }
        }
    }

    async fn handle(&mut self, message: Value) {
        if message["method"] == "notifications/cancelled" {
            let id = message["params"]["requestId"].as_u64().expect("our id");
            assert!(self.cancelled.insert(id), "cancelled twice: {message}");
            return;
        }
        assert_eq!(message["method"], "tools/call", "{message}");
        let id = &message["id"];
        let number = &message["params"]["arguments"]["number"];
        let response =
            json!({"jsonrpc": "2.0", "id": id, "result": text(&number.to_string())}).to_string();
        let token = &message["params"]["_meta"]["progressToken"];
        let progress = json!({
            "jsonrpc": "2.0",
            "method": "notifications/progress",
            "params": {"progressToken": token, "progress": 1},
        });
        match self.rng.below(10) {
            // Sends no response.
            0 => drop(self.without_response.insert(id.as_u64().expect("our id"))),
            // Responds later, sometimes after the timeout.
            1 | 2 => {
                let delay = Duration::from_millis(self.rng.below(3000));
                self.schedule(delay, response);
            }
            // Responds twice now and once later.
            3 => {
                self.server.send(&response).await;
                self.server.send(&response).await;
                let delay = Duration::from_millis(self.rng.below(3000));
                self.schedule(delay, response);
            }
            4 => {
                let error = json!({"code": -32603, "message": "no"});
                let rejection = json!({"jsonrpc": "2.0", "id": id, "error": error});
                self.server.send(rejection).await;
                self.server.send(response).await;
            }
            5 => {
                let deep = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
                let malformed = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{deep}}}"#);
                self.server.send(malformed).await;
            }
            6 => {
                self.server.send("this is not a message").await;
                self.server.send(&progress).await;
                self.server.send(progress).await;
                self.server.send(response).await;
            }
            7 => {
                let as_text =
                    response.replacen(&format!("\"id\":{id}"), &format!("\"id\":\"{id}\""), 1);
                self.server.send(as_text).await;
            }
            _ => self.server.send(response).await,
        }
    }

    fn schedule(&mut self, delay: Duration, message: String) {
        self.scheduled += 1;
        let due = Instant::now() + delay;
        self.later.insert((due, self.scheduled), message);
    }
}

async fn wait_until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}

async fn ten_thousand_calls(version: ProtocolVersion) {
    let metrics = tokio::runtime::Handle::current().metrics();
    let before = metrics.num_alive_tasks();
    let builder = builder().with_timeout(Duration::from_secs(2));
    let (client, server) = ScriptedServer::connect(builder, version).await;
    let mut hostile = Hostile::new(server);
    let counts = tokio::select! {
        biased;
        counts = call_repeatedly(&client, CALLS, CONCURRENT_CALLS) => counts,
        () = hostile.serve() => unreachable!("the server does not stop"),
    };
    assert_eq!(counts.total(), CALLS, "{counts:?}");
    assert_eq!(counts.lost, 0, "the connection stays open: {counts:?}");
    for count in [
        counts.responses,
        counts.timeouts,
        counts.rejections,
        counts.malformed,
    ] {
        assert!(count > CALLS / 100, "{counts:?}");
    }
    assert!(counts.progress > CALLS / 100, "{counts:?}");
    // The delayed responses arrive after their calls have ended.
    let late = tokio::time::timeout(Duration::from_secs(5), hostile.serve()).await;
    late.expect_err("the server does not stop");
    assert_eq!(
        hostile.cancelled.len(),
        counts.timeouts,
        "each timeout is cancelled once"
    );
    assert!(hostile.without_response.is_subset(&hostile.cancelled));
    assert!(client.ignored_messages() > 0);

    assert_eq!(client.pending_operations(), 0, "{client:?}");
    drop((client, hostile));
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(metrics.num_alive_tasks(), before, "no task is left");
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_calls_to_a_hostile_modern_server_end_and_leave_no_resources() {
    ten_thousand_calls(MODERN).await;
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_calls_to_a_hostile_legacy_server_end_and_leave_no_resources() {
    ten_thousand_calls(LEGACY).await;
}
