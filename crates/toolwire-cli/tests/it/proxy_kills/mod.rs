//! A proxy or gateway, its server or its client is killed in each phase of a conversation: no process stays, no request
//! waits for its timeout, and the server gets no call twice.

mod conversation;
mod http_server;
mod over_http;
mod over_stdio;
mod restart;
mod servers;

use std::future::Future;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::task::JoinSet;

use crate::process::Era;

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

fn kill(process: u32) {
    signal(process, Signal::KILL);
}

fn signal(process: u32, signal: Signal) {
    let id = Pid::from_raw(process.cast_signed());
    kill_process(id.expect("a process id is not zero"), signal).expect("the process runs");
}

/// Waits until a condition is met outside of this process.
async fn poll(is_met: impl Fn() -> bool) {
    while !is_met() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
