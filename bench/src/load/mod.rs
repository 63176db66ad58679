//! The load on a server over HTTP: a fixed number of identical requests on persistent connections. `stdio` has the load
//! over stdio.
//!
//! It runs in a separate process (`load-generator`), on one thread, with prepared requests. The first response of every
//! connection is checked completely. Of all others, only the status and required parts are checked.

mod connection;
pub(crate) mod stdio;
mod workload;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;

pub(crate) use self::connection::Connection;
pub use self::workload::{Era, Kind, Workload};
use crate::figures::percentile;
use crate::http1::Target;

/// The options of the load.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Plan {
    /// The request.
    pub workload: Workload,
    /// The number of connections, each with one request in flight.
    pub connections: usize,
    /// The number of measured requests.
    pub requests: usize,
    /// The number of requests before the measurement. Each connection makes at least one.
    pub warm_up: usize,
}

impl Plan {
    /// Creates a load with one connection and this many requests, after a single one that is not measured.
    #[must_use]
    pub fn new(workload: Workload, requests: usize) -> Self {
        Self {
            workload,
            connections: 1,
            requests,
            warm_up: 1,
        }
    }

    /// Sets the number of connections.
    #[must_use]
    pub fn with_connections(mut self, connections: usize) -> Self {
        self.connections = connections;
        self
    }

    /// Sets the number of requests that are not measured.
    #[must_use]
    pub fn with_warm_up(mut self, requests: usize) -> Self {
        self.warm_up = requests;
        self
    }
}

/// The measurements.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Outcome {
    /// The number of correct responses.
    pub requests: usize,
    /// The number of failed requests.
    pub errors: usize,
    /// The first error.
    pub first_error: Option<String>,
    /// The time from the first request to the last response.
    pub seconds: f64,
    /// The median response time, in microseconds.
    pub p50_us: Option<f64>,
    /// The 99th percentile of response times, in microseconds.
    pub p99_us: Option<f64>,
}

/// Open connections with a correct first response, ready for the measurement.
#[derive(Debug)]
pub struct WarmLoad {
    connections: Vec<Connection>,
    requests: usize,
    workload: Workload,
}

/// Connects, checks a first response on each connection completely, and warms up the server.
///
/// # Errors
/// Returns an error if the server cannot be reached or responds incorrectly.
pub async fn warm_up(url: &str, plan: &Plan) -> io::Result<WarmLoad> {
    let target = Target::parse(url)
        .ok_or_else(|| io::Error::other(format!("not a URL with an address: `{url}`")))?;
    let mut connections = Vec::with_capacity(plan.connections);
    for _ in 0..plan.connections.max(1) {
        let mut connection = Connection::open(&target, &plan.workload).await?;
        let answer = connection.exchange().await?;
        plan.workload.verify(answer).map_err(io::Error::other)?;
        connections.push(connection);
    }
    let mut warm = WarmLoad {
        requests: plan.warm_up.saturating_sub(connections.len()),
        connections,
        workload: plan.workload,
    };
    let (outcome, connections) = warm.work().await;
    if let Some(error) = outcome.first_error {
        return Err(io::Error::other(error));
    }
    warm.connections = connections;
    warm.requests = plan.requests;
    Ok(warm)
}

impl WarmLoad {
    /// Makes the measured requests.
    pub async fn measure(mut self) -> Outcome {
        self.work().await.0
    }

    async fn work(&mut self) -> (Outcome, Vec<Connection>) {
        let left = Arc::new(AtomicUsize::new(self.requests));
        let mut tasks = JoinSet::new();
        let began = Instant::now();
        for connection in self.connections.drain(..) {
            tasks.spawn(keep_asking(connection, self.workload, Arc::clone(&left)));
        }
        let mut connections = Vec::new();
        let mut times = Vec::with_capacity(self.requests);
        let mut errors = Vec::new();
        while let Some(done) = tasks.join_next().await {
            match done {
                Ok((connection, some_times, None)) => {
                    times.extend(some_times);
                    connections.push(connection);
                }
                Ok((_, some_times, Some(error))) => {
                    times.extend(some_times);
                    errors.push(error);
                }
                Err(error) => errors.push(error.to_string()),
            }
        }
        let seconds = began.elapsed().as_secs_f64();
        times.sort_unstable();
        let micros = |percent| percentile(&times, percent).map(microseconds);
        let outcome = Outcome {
            requests: times.len(),
            errors: errors.len(),
            seconds,
            p50_us: micros(50),
            p99_us: micros(99),
            first_error: errors.into_iter().next(),
        };
        (outcome, connections)
    }
}

/// Sends requests until all have been made. A connection with an error is closed.
async fn keep_asking(
    mut connection: Connection,
    workload: Workload,
    left: Arc<AtomicUsize>,
) -> (Connection, Vec<Duration>, Option<String>) {
    let mut times = Vec::new();
    while take_one(&left) {
        let asked = Instant::now();
        let outcome = match connection.exchange().await {
            Ok(answer) => workload.glance(answer),
            Err(error) => Err(error.to_string()),
        };
        if let Err(error) = outcome {
            return (connection, times, Some(error));
        }
        times.push(asked.elapsed());
    }
    (connection, times, None)
}

fn microseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

/// Opens this many sessions on this many connections, which are then closed: the sessions continue without them.
pub(crate) async fn begin_sessions(
    target: &Target,
    connections: usize,
    sessions: usize,
) -> io::Result<()> {
    let left = Arc::new(AtomicUsize::new(sessions));
    let mut tasks = JoinSet::new();
    for _ in 0..connections {
        let (target, left) = (target.clone(), Arc::clone(&left));
        tasks.spawn(async move {
            let mut connection = Connection::connect(&target).await?;
            while take_one(&left) {
                connection.begin_session(&target).await?;
            }
            Ok::<(), io::Error>(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.map_err(io::Error::other)??;
    }
    Ok(())
}

/// Returns `true` if a request is left, and takes it.
fn take_one(left: &AtomicUsize) -> bool {
    let one_less = |left: usize| left.checked_sub(1);
    left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less)
        .is_ok()
}
