//! Many calls at once against a server that drops, delays and duplicates answers.

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
const AT_ONCE: usize = 64;

/// How the calls ended.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) answers: usize,
    pub(crate) timeouts: usize,
    pub(crate) refusals: usize,
    pub(crate) unreadable: usize,
    /// The connection was lost, or answered with a status that is no success.
    pub(crate) lost: usize,
    /// Progress that was heard.
    pub(crate) progress: usize,
}

impl Tally {
    pub(crate) fn ended(&self) -> usize {
        self.answers + self.timeouts + self.refusals + self.unreadable + self.lost
    }
}

/// Makes the calls, some at once; each must end as its own answer or as an error with a name.
pub(crate) async fn call_often(client: &Client, calls: usize, at_once: usize) -> Tally {
    let next = Arc::new(AtomicUsize::new(0));
    let heard = Arc::new(AtomicUsize::new(0));
    let mut workers = JoinSet::new();
    for _ in 0..at_once {
        let (client, next, heard) = (client.clone(), Arc::clone(&next), Arc::clone(&heard));
        workers.spawn(async move {
            let mut tally = Tally::default();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= calls {
                    return tally;
                }
                let heard = Arc::clone(&heard);
                let call = client
                    .call_tool("echo", json!({ "number": number }))
                    .on_progress(move |_| {
                        heard.fetch_add(1, Ordering::Relaxed);
                    });
                match call.await {
                    Ok(result) => {
                        assert_eq!(result.texts(), [number.to_string()]);
                        tally.answers += 1;
                    }
                    Err(error) if error.is_timeout() => tally.timeouts += 1,
                    Err(error) if error.rpc().is_some() => tally.refusals += 1,
                    Err(error) if error.http_status().is_some() => tally.lost += 1,
                    Err(error) if error.is_protocol_violation() => tally.unreadable += 1,
                    Err(error) => {
                        assert!(!error.to_string().is_empty(), "{error:?}");
                        tally.lost += 1;
                    }
                }
            }
        });
    }
    let mut sum = Tally::default();
    while let Some(tally) = workers.join_next().await {
        let tally = tally.expect("no call panics");
        sum.answers += tally.answers;
        sum.timeouts += tally.timeouts;
        sum.refusals += tally.refusals;
        sum.unreadable += tally.unreadable;
        sum.lost += tally.lost;
    }
    sum.progress = heard.load(Ordering::Relaxed);
    sum
}

/// A generator whose sequence is the same in every run.
#[derive(Debug)]
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        // Marsaglia's xorshift.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

/// A server that means no good.
struct Hostile {
    server: ScriptedServer,
    dice: Dice,
    /// What is sent later, by the time and a number that keeps equal times apart.
    later: BTreeMap<(Instant, u64), String>,
    scheduled: u64,
    /// The requests that got no answer, or too late a one; each must be cancelled once.
    owed: HashSet<u64>,
    cancelled: HashSet<u64>,
}

impl Hostile {
    fn new(server: ScriptedServer) -> Self {
        Self {
            server,
            dice: Dice(0x2545_f491_4f6c_dd1d),
            later: BTreeMap::new(),
            scheduled: 0,
            owed: HashSet::new(),
            cancelled: HashSet::new(),
        }
    }

    async fn serve(&mut self) {
        loop {
            let due = self.later.keys().next().map(|(due, _)| *due);
            tokio::select! {
                biased;
                message = self.server.receive() => self.take(message).await,
                () = wait_until(due) => {
                    if let Some((_, message)) = self.later.pop_first() {
                        self.server.send(message).await;
                    }
                }
            }
        }
    }

    async fn take(&mut self, message: Value) {
        if message["method"] == "notifications/cancelled" {
            let id = message["params"]["requestId"].as_u64().expect("our id");
            assert!(self.cancelled.insert(id), "cancelled twice: {message}");
            return;
        }
        assert_eq!(message["method"], "tools/call", "{message}");
        let id = &message["id"];
        let number = &message["params"]["arguments"]["number"];
        let answer =
            json!({"jsonrpc": "2.0", "id": id, "result": text(&number.to_string())}).to_string();
        let token = &message["params"]["_meta"]["progressToken"];
        let progress = json!({
            "jsonrpc": "2.0",
            "method": "notifications/progress",
            "params": {"progressToken": token, "progress": 1},
        });
        match self.dice.roll(10) {
            // Never answers.
            0 => drop(self.owed.insert(id.as_u64().expect("our id"))),
            // Answers later, sometimes too late.
            1 | 2 => {
                let delay = Duration::from_millis(self.dice.roll(3000));
                self.schedule(delay, answer);
            }
            // Answers twice, now and later.
            3 => {
                self.server.send(&answer).await;
                self.server.send(&answer).await;
                let delay = Duration::from_millis(self.dice.roll(3000));
                self.schedule(delay, answer);
            }
            4 => {
                let error = json!({"code": -32603, "message": "no"});
                let refusal = json!({"jsonrpc": "2.0", "id": id, "error": error});
                self.server.send(refusal).await;
                self.server.send(answer).await;
            }
            5 => {
                let deep = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
                let unreadable = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{deep}}}"#);
                self.server.send(unreadable).await;
            }
            6 => {
                self.server.send("this is no message").await;
                self.server.send(&progress).await;
                self.server.send(progress).await;
                self.server.send(answer).await;
            }
            7 => {
                let as_text =
                    answer.replacen(&format!("\"id\":{id}"), &format!("\"id\":\"{id}\""), 1);
                self.server.send(as_text).await;
            }
            _ => self.server.send(answer).await,
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
    let tally = tokio::select! {
        biased;
        tally = call_often(&client, CALLS, AT_ONCE) => tally,
        () = hostile.serve() => unreachable!("it serves for ever"),
    };
    assert_eq!(tally.ended(), CALLS, "{tally:?}");
    assert_eq!(tally.lost, 0, "the connection holds: {tally:?}");
    for count in [
        tally.answers,
        tally.timeouts,
        tally.refusals,
        tally.unreadable,
    ] {
        assert!(count > CALLS / 100, "{tally:?}");
    }
    assert!(tally.progress > CALLS / 100, "{tally:?}");
    // Everything that was too late arrives, and finds nobody.
    let late = tokio::time::timeout(Duration::from_secs(5), hostile.serve()).await;
    late.expect_err("it serves for ever");
    assert_eq!(
        hostile.cancelled.len(),
        tally.timeouts,
        "each timeout was told once"
    );
    assert!(hostile.owed.is_subset(&hostile.cancelled));
    assert!(client.ignored_messages() > 0);

    assert_eq!(client.pending_operations(), 0, "{client:?}");
    drop((client, hostile));
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(metrics.num_alive_tasks(), before, "a task remains");
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_calls_to_a_hostile_modern_server_each_end_once_and_leave_nothing() {
    ten_thousand_calls(MODERN).await;
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_calls_to_a_hostile_legacy_server_each_end_once_and_leave_nothing() {
    ten_thousand_calls(LEGACY).await;
}
