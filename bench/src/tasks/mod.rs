//! Creates many tasks that wait for input, and measures the memory of each, and the CPU time of a poll.
//!
//! A poll is a `tasks/get` of the next task. It is compared with a small `tools/call` to the same server, in alternate
//! rounds, so that other load on the machine affects both. The best round of each is used.
//!
//! A poll of one of many tasks reads a record that is not in the cache of the processor, and a small call reads the same
//! memory each time. So polls of a few tasks are measured too: they show what a poll costs without that.

mod report;
mod requests;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::load::{Connection, Destination};
use crate::process::ServerProcess;

pub use self::report::{Report, TaskServerCost};

/// The number of connections, each with one request in flight.
const CONNECTIONS: usize = 32;

/// The number of calls before the memory is measured, so that it contains what a server needs in any case.
const WARM_UP: usize = 2_000;

/// The time between two looks at tasks that do not wait yet.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// The options of the run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// The number of tasks. Default: 10,000.
    pub tasks: usize,
    /// The number of polls, and of calls, per round. Default: 50,000.
    pub requests: usize,
    /// The number of rounds. Default: 5.
    pub rounds: usize,
    /// The time in which the tasks only wait. Default: 12 s, longer than the time between two renewals of leases.
    pub idle: Duration,
    /// The timeout until all tasks wait. Default: 60 s.
    pub deadline: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            tasks: 10_000,
            requests: 50_000,
            rounds: 5,
            idle: Duration::from_secs(12),
            deadline: Duration::from_secs(60),
        }
    }
}

/// Creates the tasks on the server and polls them.
///
/// # Errors
/// Returns an error if a request fails, or if a task does not wait for input in time: there is nothing to measure then.
pub async fn run(server: &ServerProcess, options: &Options) -> io::Result<Report> {
    let destination = Destination::new(server.url(), None)?;
    let target = &destination.target;
    let mut load = Load::connect(&destination).await?;
    let calls: Requests = vec![requests::call(target)].into();
    load.send(&calls, WARM_UP, requests::is_echoed).await?;

    let memory_before = server.memory();
    let creations: Vec<_> = (0..options.tasks)
        .map(|order| requests::creation(target, order))
        .collect();
    let creating = Instant::now();
    let ids = load
        .send(&creations.into(), options.tasks, requests::created_task)
        .await?;
    let created_in = creating.elapsed();
    let polls: Vec<_> = ids.iter().map(|id| requests::poll(target, id)).collect();
    let polls: Requests = polls.into();
    load.wait_for_input(&polls, options.deadline).await?;
    let memory_waiting = server.memory();
    let few_polls: Requests = polls[..polls.len().min(CONNECTIONS)].into();

    let processor_time = || server.processor_time();
    let before = processor_time();
    tokio::time::sleep(options.idle).await;
    let idle_time = elapsed(before, processor_time());

    let mut best_poll = None;
    let mut best_call = None;
    let mut best_few_poll = None;
    for _ in 0..options.rounds {
        let before = processor_time();
        load.send(&polls, options.requests, requests::is_waiting)
            .await?;
        best_poll = shorter(best_poll, elapsed(before, processor_time()));
        let before = processor_time();
        load.send(&calls, options.requests, requests::is_echoed)
            .await?;
        best_call = shorter(best_call, elapsed(before, processor_time()));
        let before = processor_time();
        load.send(&few_polls, options.requests, requests::is_waiting)
            .await?;
        best_few_poll = shorter(best_few_poll, elapsed(before, processor_time()));
    }

    let each = |time: Duration| time.as_secs_f64() * 1e6 / options.requests.max(1) as f64;
    let server = memory_before
        .zip(memory_waiting)
        .zip(best_poll.zip(best_call).zip(best_few_poll))
        .map(
            |((before, waiting), ((poll, call), few_poll))| TaskServerCost {
                resident_before: before.resident,
                resident_waiting: waiting.resident,
                bytes_per_task: waiting.resident.saturating_sub(before.resident)
                    / options.tasks.max(1) as u64,
                idle_processor_seconds: idle_time.map(|time| time.as_secs_f64()),
                poll_processor_us: each(poll),
                call_processor_us: each(call),
                few_poll_processor_us: each(few_poll),
            },
        );
    Ok(Report {
        tasks: ids.len(),
        creating_seconds: created_in.as_secs_f64(),
        idle_seconds: options.idle.as_secs_f64(),
        requests: options.requests,
        server,
    })
}

fn elapsed(before: Option<Duration>, after: Option<Duration>) -> Option<Duration> {
    Some(after?.saturating_sub(before?))
}

fn shorter(best: Option<Duration>, time: Option<Duration>) -> Option<Duration> {
    [best, time].into_iter().flatten().min()
}

/// Complete requests, of which a load sends one after the other.
type Requests = Arc<[Vec<u8>]>;

/// Reads what the load needs from the body of a response. Returns `None` if the response is wrong.
type ReadBody<T> = fn(&[u8]) -> Option<T>;

/// The connections of the load.
struct Load {
    connections: Vec<Connection>,
}

impl Load {
    async fn connect(destination: &Destination) -> io::Result<Self> {
        let mut connections = Vec::new();
        for _ in 0..CONNECTIONS {
            connections.push(Connection::connect(destination).await?);
        }
        Ok(Self { connections })
    }

    /// Sends this many requests, from the first one on and in a circle, and returns what was read of the responses.
    async fn send<T: Send + 'static>(
        &mut self,
        requests: &Requests,
        count: usize,
        read: ReadBody<T>,
    ) -> io::Result<Vec<T>> {
        let next = Arc::new(AtomicUsize::new(0));
        let mut tasks = JoinSet::new();
        for mut connection in self.connections.drain(..) {
            let (requests, next) = (Arc::clone(requests), Arc::clone(&next));
            tasks.spawn(async move {
                let mut results = Vec::new();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        return io::Result::Ok((connection, results));
                    }
                    connection.set_request(&requests[number % requests.len()]);
                    let response = connection.exchange().await?;
                    let result = Some(response.body).filter(|_| response.status == 200);
                    let Some(result) = result.and_then(read) else {
                        let body = String::from_utf8_lossy(response.body);
                        let message =
                            format!("unexpected response {}: {body:.300}", response.status);
                        return Err(io::Error::other(message));
                    };
                    results.push(result);
                }
            });
        }
        let mut all = Vec::with_capacity(count);
        while let Some(done) = tasks.join_next().await {
            let (connection, results) = done.map_err(io::Error::other)??;
            self.connections.push(connection);
            all.extend(results);
        }
        Ok(all)
    }

    /// Polls all tasks until each of them waits for input.
    async fn wait_for_input(&mut self, polls: &Requests, deadline: Duration) -> io::Result<()> {
        let start = Instant::now();
        loop {
            let statuses = self
                .send(polls, polls.len(), requests::waits_or_works)
                .await?;
            let working = statuses.iter().filter(|is_waiting| !**is_waiting).count();
            if working == 0 {
                return Ok(());
            }
            if start.elapsed() > deadline {
                let message = format!("{working} tasks do not wait for input after {deadline:?}");
                return Err(io::Error::other(message));
            }
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
    }
}
