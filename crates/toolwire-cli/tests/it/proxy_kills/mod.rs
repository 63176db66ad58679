//! A proxy or gateway, its server or its client is killed in each phase of a conversation: no process stays, no request
//! waits for its timeout, and the server gets no call twice.

mod conversation;
mod http_server;
mod input_request;
mod over_http;
mod over_stdio;
mod restart;
mod servers;

use std::future::Future;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::process::{Demo, Era};

/// How far the conversation has come.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Phase {
    Opening,
    Listed,
    CallRunning,
    InputRequested,
    /// The client has responded to the input request, and the server has not processed it.
    OutcomePending,
    Listening,
}

/// The eras of the client and of the server.
#[derive(Debug, Clone, Copy)]
struct Pair {
    client: Era,
    server: Era,
}

/// All pairs of eras.
const PAIRS: [Pair; 4] = [
    Pair::new(Era::Modern, Era::Modern),
    Pair::new(Era::Modern, Era::Legacy),
    Pair::new(Era::Legacy, Era::Modern),
    Pair::new(Era::Legacy, Era::Legacy),
];

impl Pair {
    const fn new(client: Era, server: Era) -> Self {
        Self { client, server }
    }
}

/// Which process is killed.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Killed {
    /// The proxy or the gateway.
    Relay,
    Server,
    Client,
}

/// Runs conversations at the same time.
async fn run_all<T: Future<Output = ()> + Send + 'static>(conversations: impl Iterator<Item = T>) {
    let mut running: JoinSet<()> = conversations.collect();
    while let Some(ended) = running.join_next().await {
        ended.expect("no conversation failed");
    }
}

pub(crate) fn kill(process: u32) {
    signal(process, Signal::KILL);
}

pub(crate) fn signal(process: u32, signal: Signal) {
    let id = Pid::from_raw(process.cast_signed());
    kill_process(id.expect("a process id is not zero"), signal).expect("the process runs");
}

/// Waits until a condition is met outside of this process.
async fn poll(is_met: impl Fn() -> bool) {
    while !is_met() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Subscribes to changes, and waits until the server has accepted it.
async fn subscribe(client: &mut Demo) {
    if client.era() == Era::Modern {
        let filter = json!({"notifications": {"toolsListChanged": true}});
        client.request("subscriptions/listen", filter).await;
        let method = "notifications/subscriptions/acknowledged";
        let is_acknowledgement = |message: &Value| message["method"] == method;
        client.next_unsolicited(is_acknowledgement).await;
        return;
    }
    let listed = client.ask("resources/list", json!({})).await;
    let uri = &listed["result"]["resources"][0]["uri"];
    let params = json!({"uri": uri});
    let subscribed = client.ask("resources/subscribe", params).await;
    assert!(subscribed.get("result").is_some(), "{subscribed}");
}

/// Calls a tool until the call succeeds. Calls fail until the relay has noticed the loss of its server, and during the pause
/// after it.
async fn expect_sum(client: &mut Demo, case: &str) {
    let add = json!({"name": "add", "arguments": {"a": 1, "b": 2}});
    loop {
        let response = client.ask("tools/call", add.clone()).await;
        let Some(error) = response.get("error") else {
            return;
        };
        assert_is_unreachable(error, case);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn assert_is_unreachable(error: &Value, case: &str) {
    let reason = &error["data"]["reason"];
    assert_eq!(reason, "upstream_unreachable", "{case}: {error}");
}
