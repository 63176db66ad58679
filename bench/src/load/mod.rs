//! The load on a server over HTTP: a fixed number of identical requests of concurrent callers, over HTTP/1.1 or HTTP/2,
//! with or without TLS. `stdio` has the load over stdio.
//!
//! It runs in a separate process (`load-generator`), on one thread, with prepared requests. The first response of every
//! caller is checked completely. Of all others, only the status and required parts are checked.

mod caller;
mod connection;
mod http2;
pub(crate) mod stdio;
mod workload;

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;

use self::caller::Caller;
pub use self::caller::Protocol;
pub(crate) use self::connection::{Connection, Destination};
pub use self::workload::{Era, Kind, Workload};
use crate::figures::percentile;
use crate::streams::OpenStreams;

/// The number of connections on which idle sessions are opened.
const SESSION_CONNECTIONS: usize = 16;

/// The options of the load.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Plan {
    /// The request.
    pub workload: Workload,
    /// How connections are used.
    pub protocol: Protocol,
    /// The PEM file of the certificate that is trusted, if the server has TLS.
    pub trusted: Option<PathBuf>,
    /// The number of connections or, over HTTP/2, of streams. Each has one request in flight.
    pub connections: usize,
    /// The number of measured requests.
    pub requests: usize,
    /// The number of requests before the measurement. Each connection makes at least one.
    pub warm_up: usize,
    /// All connections use one legacy session, instead of one each.
    pub one_session: bool,
    /// The number of other legacy sessions, which are opened before and stay idle.
    pub idle_sessions: usize,
    /// The number of `subscriptions/listen` streams that are open meanwhile.
    pub listen_streams: usize,
}

impl Plan {
    /// Creates a load with one connection and this many requests, after a single one that is not measured.
    #[must_use]
    pub fn new(workload: Workload, requests: usize) -> Self {
        Self {
            workload,
            protocol: Protocol::Http1,
            trusted: None,
            connections: 1,
            requests,
            warm_up: 1,
            one_session: false,
            idle_sessions: 0,
            listen_streams: 0,
        }
    }

    /// Sets the number of connections.
    #[must_use]
    pub fn with_connections(mut self, connections: usize) -> Self {
        self.connections = connections;
        self
    }

    /// Sets how connections are used.
    #[must_use]
    pub fn with_protocol(mut self, protocol: Protocol) -> Self {
        self.protocol = protocol;
        self
    }

    /// Sets the PEM file of the certificate of a server with TLS.
    #[must_use]
    pub fn with_trusted(mut self, certificate: Option<PathBuf>) -> Self {
        self.trusted = certificate;
        self
    }

    /// Sets the number of requests that are not measured.
    #[must_use]
    pub fn with_warm_up(mut self, requests: usize) -> Self {
        self.warm_up = requests;
        self
    }
}

impl Plan {
    /// Uses one legacy session for all connections, and opens this many idle ones before.
    #[must_use]
    pub fn with_one_session_beside(mut self, idle_sessions: usize) -> Self {
        self.one_session = true;
        self.idle_sessions = idle_sessions;
        self
    }

    /// Sets the number of `subscriptions/listen` streams that are open meanwhile.
    #[must_use]
    pub fn with_listen_streams(mut self, streams: usize) -> Self {
        self.listen_streams = streams;
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

/// Callers with a correct first response, ready for the measurement.
pub struct WarmLoad {
    callers: Vec<Caller>,
    requests: usize,
    workload: Workload,
    /// The streams that are open meanwhile.
    _streams: OpenStreams,
}

impl fmt::Debug for WarmLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WarmLoad")
            .field("callers", &self.callers.len())
            .field("requests", &self.requests)
            .finish_non_exhaustive()
    }
}

/// Connects, checks a first response on each connection completely, and warms up the server.
///
/// # Errors
/// Returns an error if the server cannot be reached or responds incorrectly.
pub async fn warm_up(url: &str, plan: &Plan) -> io::Result<WarmLoad> {
    let destination = Destination::new(url, plan.trusted.as_deref())?;
    begin_sessions(&destination, SESSION_CONNECTIONS, plan.idle_sessions).await?;
    let streams = OpenStreams::open(&destination.target, plan.listen_streams).await?;
    let mut callers = Caller::open_all(&destination, plan).await?;
    for caller in &mut callers {
        let response = caller.exchange().await?;
        plan.workload.verify(response).map_err(io::Error::other)?;
    }
    let mut warm = WarmLoad {
        requests: plan.warm_up.saturating_sub(callers.len()),
        callers,
        workload: plan.workload,
        _streams: streams,
    };
    let (outcome, callers) = warm.work().await;
    if let Some(error) = outcome.first_error {
        return Err(io::Error::other(error));
    }
    warm.callers = callers;
    warm.requests = plan.requests;
    Ok(warm)
}

impl WarmLoad {
    /// Makes the measured requests.
    pub async fn measure(mut self) -> Outcome {
        self.work().await.0
    }

    async fn work(&mut self) -> (Outcome, Vec<Caller>) {
        let left = Arc::new(AtomicUsize::new(self.requests));
        let mut tasks = JoinSet::new();
        let start = Instant::now();
        for caller in self.callers.drain(..) {
            tasks.spawn(send_requests(caller, self.workload, Arc::clone(&left)));
        }
        let mut callers = Vec::new();
        let mut times = Vec::with_capacity(self.requests);
        let mut errors = Vec::new();
        while let Some(done) = tasks.join_next().await {
            match done {
                Ok((caller, some_times, None)) => {
                    times.extend(some_times);
                    callers.push(caller);
                }
                Ok((_, some_times, Some(error))) => {
                    times.extend(some_times);
                    errors.push(error);
                }
                Err(error) => errors.push(error.to_string()),
            }
        }
        let seconds = start.elapsed().as_secs_f64();
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
        (outcome, callers)
    }
}

/// Sends requests until all have been made, or one has an error.
async fn send_requests(
    mut caller: Caller,
    workload: Workload,
    left: Arc<AtomicUsize>,
) -> (Caller, Vec<Duration>, Option<String>) {
    let mut times = Vec::new();
    while take_one(&left) {
        let start = Instant::now();
        let outcome = match caller.exchange().await {
            Ok(response) => workload.quick_check(response),
            Err(error) => Err(error.to_string()),
        };
        if let Err(error) = outcome {
            return (caller, times, Some(error));
        }
        times.push(start.elapsed());
    }
    (caller, times, None)
}

fn microseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

/// Opens this many sessions on this many connections, which are then closed: the sessions continue without them.
pub(crate) async fn begin_sessions(
    destination: &Destination,
    connections: usize,
    sessions: usize,
) -> io::Result<()> {
    let left = Arc::new(AtomicUsize::new(sessions));
    let mut tasks = JoinSet::new();
    for _ in 0..connections {
        let (destination, left) = (destination.clone(), Arc::clone(&left));
        tasks.spawn(async move {
            let mut connection = Connection::connect(&destination).await?;
            while take_one(&left) {
                connection.begin_session(&destination.target).await?;
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
