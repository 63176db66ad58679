//! Many calls through a proxy and through a gateway, with cancelled calls and killed servers: the process ends with the
//! resources that it started with.
//!
//! `TOOLWIRE_SOAK_CALLS` sets the number of calls, for example 10000. Descriptors and processes are compared exactly. The
//! memory may grow by [`MEMORY_MARGIN`], so the smallest leak that is found depends on the number of calls.

mod process;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use toolwire::{CallToolResult, Client, Era, Error};

use self::process::{Front, SoakedProcess};
use crate::process::within;

/// The number of calls without the variable.
const DEFAULT_CALLS: usize = 400;

/// The number of clients at a time. The half of them is legacy.
const CLIENTS: usize = 4;

/// One of this number of calls is cancelled.
const CALLS_PER_FAILURE: usize = 100;

/// The calls of these numbers, of each [`CALLS_PER_FAILURE`] of a legacy client, lose their server. Only the half of the
/// clients is legacy, so a server of a proxy is killed in one of [`CALLS_PER_FAILURE`] calls of all clients.
const LOSSES: [usize; 2] = [55, 78];

/// How long a server of a gateway runs before it is killed again. The loss of a connection that is younger than 10 s causes
/// a pause, which doubles each time.
const RUNNING_TIME: Duration = Duration::from_secs(11);

/// How long a client waits until it calls again.
const RETRY_PAUSE: Duration = Duration::from_millis(20);

/// How much the memory may grow after the first quarter of the calls, in KiB. A leak of 7 KiB for each call exceeds it with
/// 400 calls, and one of 280 bytes with 10,000.
const MEMORY_MARGIN: u64 = 2 * 1024;

/// The calls that were cancelled while a server ran them, and the servers that were killed.
#[derive(Default)]
struct Failures {
    cancelled: AtomicUsize,
    killed: AtomicUsize,
    /// When the servers of a gateway were killed for the last time.
    kill_times: Mutex<BTreeMap<&'static str, Instant>>,
}

/// The calls of one client after the other.
struct SoakClient {
    process: Arc<SoakedProcess>,
    failures: Arc<Failures>,
    era: Era,
}

impl SoakClient {
    /// Makes calls. A client whose server was killed is replaced.
    async fn make_calls(&self, numbers: Range<usize>) {
        let opening = self.process.open().await;
        let (mut client, mut group) = self.process.connect(self.era, &opening).await;
        drop(opening);
        for number in numbers {
            let failure = number % CALLS_PER_FAILURE;
            if failure == 33 {
                self.cancel_call(&client, number).await;
            } else if let Some(groups) = self.next_killed(number, group) {
                let opening = self.process.open().await;
                self.lose_server(&client, number, &groups).await;
                within(client.close()).await;
                (client, group) = self.process.connect(self.era, &opening).await;
            } else {
                self.add(&client, number).await;
            }
        }
        within(client.close()).await;
    }

    /// Cancels a call that a server runs, and waits until the server runs it no more.
    async fn cancel_call(&self, client: &Client, number: usize) {
        let front = self.process.front;
        let tool = front.tool("countdown", number);
        within(async {
            loop {
                let started = Arc::new(Notify::new());
                let on_progress = Arc::clone(&started);
                let endless = client.call_tool(&tool, json!({"from": 60_000, "delay_ms": 10}));
                let endless = endless.on_progress(move |_| on_progress.notify_one());
                tokio::select! {
                    () = started.notified() => break,
                    ended = async { endless.await } => {
                        let error = ended.expect_err("the call does not end by itself");
                        assert!(self.is_unreachable(&error), "{error}");
                    }
                }
                tokio::time::sleep(RETRY_PAUSE).await;
            }
            // Other clients of the server may run calls, which end, too.
            let active = front.tool("active", number);
            loop {
                let running = self.call(client, &active, json!({})).await;
                if running.content[0].as_text() == Some("0") {
                    break;
                }
                tokio::time::sleep(RETRY_PAUSE).await;
            }
        })
        .await;
        self.failures.cancelled.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the process groups of a server that is killed during the call of this number, the last one first. `group`
    /// is that of the client's own server.
    fn next_killed(&self, number: usize, group: Option<Pid>) -> Option<Vec<Pid>> {
        if self.era != Era::Legacy || !LOSSES.contains(&(number % CALLS_PER_FAILURE)) {
            return None;
        }
        if self.process.front == Front::Proxy {
            return group.map(|group| vec![group]);
        }
        let servers = self.process.front.servers();
        let server = servers[number % servers.len()];
        let times = self.failures.kill_times.lock();
        let mut times = times.unwrap_or_else(PoisonError::into_inner);
        let last = times.get(server);
        if last.is_some_and(|at| at.elapsed() < RUNNING_TIME) {
            return None;
        }
        times.insert(server, Instant::now());
        let mut groups = self.process.started(server);
        groups.reverse();
        Some(groups)
    }

    async fn lose_server(&self, client: &Client, number: usize, groups: &[Pid]) {
        let tool = self.process.front.tool("countdown", number);
        let running = client.call_tool(tool, json!({"from": 5, "delay_ms": 100}));
        let kill = async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            // The gateway also starts the modern server for `initialize`, and such a process ends with its response.
            let mut groups = groups.iter();
            if groups.any(|group| kill_process_group(*group, Signal::KILL).is_ok()) {
                self.failures.killed.fetch_add(1, Ordering::Relaxed);
            }
        };
        // A call that arrives after the loss reaches another server.
        let (_outcome, ()) = within(async { tokio::join!(async { running.await }, kill) }).await;
    }

    async fn add(&self, client: &Client, number: usize) {
        let tool = self.process.front.tool("add", number);
        let adding = self.call(client, &tool, json!({"a": number, "b": 1}));
        let sum = within(adding).await.structured_content;
        let sum = sum.and_then(|sum| sum.to_value().ok());
        let sum = sum.expect("a structured result");
        assert_eq!(sum["sum"], number + 1);
    }

    /// Calls a tool. A gateway rejects calls while it connects to a lost server again.
    async fn call(&self, client: &Client, tool: &str, arguments: Value) -> CallToolResult {
        loop {
            match client.call_tool(tool, arguments.clone()).await {
                Ok(result) => return result,
                Err(error) => assert!(self.is_unreachable(&error), "{error}"),
            }
            tokio::time::sleep(RETRY_PAUSE).await;
        }
    }

    /// Returns `true` if a call failed because a server was killed that the client shares with others.
    fn is_unreachable(&self, error: &Error) -> bool {
        let data = error.rpc().and_then(|error| error.data.as_ref());
        let data: Option<Value> = data.and_then(|data| data.to_value().ok());
        let is_unreachable = data.is_some_and(|data| data["reason"] == "upstream_unreachable");
        self.process.front == Front::Gateway && is_unreachable
    }
}

/// Makes calls as several clients at a time. `calls` are those of all clients.
async fn make_calls(process: &Arc<SoakedProcess>, failures: &Arc<Failures>, calls: Range<usize>) {
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let era = if number % 2 == 0 {
            Era::Legacy
        } else {
            Era::Modern
        };
        let client = SoakClient {
            process: Arc::clone(process),
            failures: Arc::clone(failures),
            era,
        };
        let numbers = calls.start / CLIENTS..calls.end / CLIENTS;
        clients.spawn(async move { client.make_calls(numbers).await });
    }
    while let Some(ended) = clients.join_next().await {
        ended.expect("no client failed");
    }
}

/// Compares the resources before and after many calls.
async fn soak(front: Front) {
    let calls = std::env::var("TOOLWIRE_SOAK_CALLS").ok();
    let calls = calls.and_then(|calls| calls.parse().ok());
    let calls: usize = calls.unwrap_or(DEFAULT_CALLS);
    let process = SoakedProcess::start(front).await;
    let failures = Arc::new(Failures::default());
    // The first calls allocate what stays for the life of the process.
    make_calls(&process, &failures, 0..CLIENTS * 20).await;
    let start = process.settled().await;
    make_calls(&process, &failures, 0..calls / 4).await;
    let quarter = process.idle(start.descriptors).await;
    make_calls(&process, &failures, calls / 4..calls).await;
    let end = process.idle(start.descriptors).await;
    let measured = format!("{start:?}, after a quarter {quarter:?}, at the end {end:?}");
    let killed = failures.killed.load(Ordering::Relaxed);
    assert!(killed >= LOSSES.len(), "{killed}: {measured}");
    let cancelled = failures.cancelled.load(Ordering::Relaxed);
    assert!(cancelled >= CLIENTS, "{cancelled}: {measured}");
    assert!(end.memory <= quarter.memory + MEMORY_MARGIN, "{measured}");
}

#[tokio::test]
async fn proxy_ends_with_the_resources_that_it_started_with() {
    soak(Front::Proxy).await;
}

#[tokio::test]
async fn gateway_ends_with_the_resources_that_it_started_with() {
    soak(Front::Gateway).await;
}
