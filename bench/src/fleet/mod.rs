//! Measures three nodes that share a Redis or Valkey.
//!
//! It counts the commands of each operation, and measures what the engine adds to a request, how long a change takes to
//! clients of another node, the memory of the engine, and several nodes against one. All of it runs on one machine, so
//! only ratios are meaningful, and more nodes do not serve more requests than the cores of the machine allow.

mod commands;
mod engine;
mod node;
mod protected_node;
mod report;
mod requests;
mod step;

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

pub use self::commands::OperationCommands;
pub use self::report::{ChangeLatency, EngineMemory, Report};
pub use self::requests::RequestCost;
use crate::figures::Latency;
use crate::fleet::commands::Counter;
use crate::fleet::engine::{Engine, EngineConnection};
use crate::fleet::node::{Node, open_idle_sessions, tool_call};
use crate::fleet::protected_node::ProtectedNode;
use crate::load::Era;

/// The number of nodes.
const NODES: usize = 3;

/// The number of connections of the load on several nodes.
const CONNECTIONS: usize = 30;

/// The options of the run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// The number of repetitions of each operation whose commands are counted. Default: 20.
    pub repetitions: u32,
    /// How long the fleet is idle, and then idle with open streams. Default: 16 s, longer than the interval of keep-alives.
    pub idle: Duration,
    /// The number of changes. Default: 1,000.
    pub changes: usize,
    /// The number of requests per round. Default: 20,000.
    pub requests: usize,
    /// The number of rounds. The best one is used. Default: 5.
    pub rounds: usize,
    /// The number of idle sessions, and of streamed calls, whose memory is measured. Default: 5,000.
    pub sessions: usize,
    /// The timeout of each step: of one repetition of an operation, of all changes, or of one load. Default: 5 minutes.
    pub timeout: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            repetitions: 20,
            idle: Duration::from_secs(16),
            changes: 1_000,
            requests: 20_000,
            rounds: 5,
            sessions: 5_000,
            timeout: Duration::from_secs(300),
        }
    }
}

/// Starts the nodes and measures them. `program` is the node.
///
/// # Errors
/// Returns an error if the engine is not installed, if a request fails, or if a step does not end in time.
pub async fn run(program: &Path, options: &Options) -> io::Result<Report> {
    let engine = Engine::start()?;
    let url = engine.url();
    let arguments = [url.as_str()];
    let mut nodes = Vec::new();
    for _ in 0..NODES {
        let starting = Node::start(program, &arguments);
        nodes.push(step::run("start of a node", options.timeout, starting).await?);
    }
    let [a, b, ..] = nodes.as_slice() else {
        return Err(io::Error::other("there are fewer than two nodes"));
    };
    let mut connection = engine.connect()?;
    let starting = ProtectedNode::start(program, &url);
    let protected = step::run("start of a node", options.timeout, starting).await?;

    let (idle, repetitions) = (options.idle, options.repetitions);
    let counter = Counter::start(engine.record()?, idle, repetitions, options.timeout).await;
    // Before the calls that wait for a response: they renew their leases.
    let idle_streams = counter.count_idle_streams(a, options.idle).await?;
    // The first run loads the scripts into the engine.
    counter.count_all(a, b, &protected).await?;
    let mut operations = counter.count_all(a, b, &protected).await?;
    operations.push(idle_streams);
    let idle_commands_per_second = counter.idle_rate();
    // A recording would slow down the engine.
    drop(counter);
    drop(protected);

    let changing = measure_changes(a, b, &mut connection, options.changes);
    let change = step::run("changes", options.timeout, changing).await?;
    let measuring = measure_memory(a, &mut connection, options.sessions);
    let memory = step::run("memory of the engine", options.timeout, measuring).await?;
    let starting = Node::start(program, &[]);
    let alone = step::run("start of a node", options.timeout, starting).await?;
    let mut costs = Costs::default();
    for _ in 0..options.rounds {
        costs.measure(&alone, &nodes, options).await?;
    }
    let Costs {
        in_memory: Some(in_memory),
        with_engine: Some(with_engine),
        one_node: [Some(modern_one), Some(legacy_one)],
        all_nodes: [Some(modern_all), Some(legacy_all)],
    } = costs
    else {
        return Err(io::Error::other("there is no round"));
    };
    Ok(Report {
        operations,
        idle_commands_per_second,
        change,
        memory,
        in_memory,
        with_engine,
        modern: (modern_one, modern_all),
        legacy: (legacy_one, legacy_all),
    })
}

/// Changes something at one node, and measures the time until a client of the other node knows it. A ping of the engine
/// follows each change, so that other load on the machine affects both.
async fn measure_changes(
    a: &Node,
    b: &Node,
    engine: &mut EngineConnection,
    changes: usize,
) -> io::Result<ChangeLatency> {
    let mut listener = b.listen().await?;
    let mut heard = Vec::with_capacity(changes);
    let mut pings = Vec::with_capacity(changes);
    for _ in 0..changes {
        let start = Instant::now();
        let notified = async {
            listener.message().await?;
            Ok::<_, io::Error>(start.elapsed())
        };
        let (called, notified) = tokio::join!(a.call("change", json!({})), notified);
        called?;
        heard.push(notified?);
        let start = Instant::now();
        engine.send("PING")?;
        pings.push(start.elapsed());
    }
    let of = |samples| Latency::of(samples).ok_or_else(|| io::Error::other("there is no change"));
    Ok(ChangeLatency {
        change: of(heard)?,
        ping: of(pings)?,
    })
}

/// Opens sessions and makes streamed calls, and measures the memory of the engine for each.
async fn measure_memory(
    node: &Node,
    engine: &mut EngineConnection,
    count: usize,
) -> io::Result<EngineMemory> {
    let each = |before: u64, after: u64| after.saturating_sub(before) / count.max(1) as u64;
    let before = engine.memory()?;
    open_idle_sessions(node, count).await?;
    let with_sessions = engine.memory()?;
    let session = node.open_session().await?;
    let call = tool_call(1, "progress", json!({"n": 3}));
    for _ in 0..count {
        node.post(&session, &call).await?;
    }
    let with_streams = engine.memory()?;
    Ok(EngineMemory {
        per_session: each(before, with_sessions),
        per_streamed_call: each(with_sessions, with_streams),
    })
}

/// The best costs of all rounds.
#[derive(Debug, Default)]
struct Costs {
    /// One legacy request at a time, without an engine.
    in_memory: Option<RequestCost>,
    /// The same with an engine.
    with_engine: Option<RequestCost>,
    /// Many requests of 2026-07-28, and legacy ones, at one node.
    one_node: [Option<RequestCost>; 2],
    /// The same at all nodes.
    all_nodes: [Option<RequestCost>; 2],
}

impl Costs {
    /// Measures everything once, in turn.
    async fn measure(&mut self, alone: &Node, nodes: &[Node], options: &Options) -> io::Result<()> {
        let load = async |nodes: &[&Node], era, connections| {
            let loading = requests::load(nodes, era, connections, options.requests);
            step::run("load", options.timeout, loading).await
        };
        let first: Vec<&Node> = nodes.iter().take(1).collect();
        let all: Vec<&Node> = nodes.iter().collect();
        let cost = load(&[alone], Era::Legacy, 1).await?;
        keep_best(&mut self.in_memory, cost);
        let cost = load(&first, Era::Legacy, 1).await?;
        keep_best(&mut self.with_engine, cost);
        for (index, era) in [Era::Modern, Era::Legacy].into_iter().enumerate() {
            let cost = load(&first, era, CONNECTIONS).await?;
            keep_best(&mut self.one_node[index], cost);
            let cost = load(&all, era, CONNECTIONS).await?;
            keep_best(&mut self.all_nodes[index], cost);
        }
        Ok(())
    }
}

fn keep_best(best: &mut Option<RequestCost>, cost: RequestCost) {
    *best = Some(best.map_or(cost, |best| best.best(cost)));
}
