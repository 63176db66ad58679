//! Compares requests of a node with an engine, of a node without one, and of several nodes.

use std::io;
use std::time::Duration;

use serde::Serialize;
use tokio::task::JoinSet;

use super::node::Node;
use crate::load::{self, Era, Kind, Plan, Workload};

/// The size of a call in bytes.
const TEXT_BYTES: usize = 100;

/// The cost of a request.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RequestCost {
    /// The requests in a second.
    pub per_second: f64,
    /// The median of the latency, in microseconds.
    pub p50_us: f64,
    /// The CPU time of all nodes, in microseconds, if it can be measured.
    pub processor_us: Option<f64>,
}

impl RequestCost {
    /// Returns the better of each figure.
    pub(super) fn best(self, other: Self) -> Self {
        let processor_us = self.processor_us.into_iter().chain(other.processor_us);
        Self {
            per_second: self.per_second.max(other.per_second),
            p50_us: self.p50_us.min(other.p50_us),
            processor_us: processor_us.reduce(f64::min),
        }
    }
}

/// Sends small calls to all nodes at the same time, and returns the cost of one.
pub(super) async fn load(
    nodes: &[&Node],
    era: Era,
    connections: usize,
    requests: usize,
) -> io::Result<RequestCost> {
    let workload = Workload::new(era, Kind::Echo, TEXT_BYTES);
    let plan = Plan::new(workload, requests / nodes.len())
        .with_connections(connections.div_ceil(nodes.len()))
        .with_warm_up(requests / 10);
    let mut warm = Vec::new();
    for node in nodes {
        warm.push(load::warm_up(node.process.url(), &plan).await?);
    }
    let before = processor_time(nodes);
    let mut running = JoinSet::new();
    for warm in warm {
        running.spawn(warm.measure());
    }
    let mut total = 0;
    let mut seconds: f64 = 0.0;
    let mut medians = Vec::new();
    while let Some(outcome) = running.join_next().await {
        let outcome = outcome.map_err(io::Error::other)?;
        if let Some(error) = outcome.first_error {
            return Err(io::Error::other(error));
        }
        total += outcome.requests;
        seconds = seconds.max(outcome.seconds);
        medians.extend(outcome.p50_us);
    }
    let used = processor_time(nodes)
        .zip(before)
        .map(|(after, before)| after.saturating_sub(before));
    let count = total.max(1) as f64;
    Ok(RequestCost {
        per_second: count / seconds,
        p50_us: medians.iter().sum::<f64>() / medians.len().max(1) as f64,
        processor_us: used.map(|used| used.as_secs_f64() * 1e6 / count),
    })
}

/// Returns the CPU time of all nodes so far.
fn processor_time(nodes: &[&Node]) -> Option<Duration> {
    let times = nodes.iter().map(|node| node.process.processor_time());
    times.sum()
}
