//! Opens many idle `subscriptions/listen` streams and delivers changes, each of which every stream must receive exactly
//! once.
//!
//! Every stream has its own connection, and all of them use the same request id: a server that identifies streams by id
//! alone fails here. The load is one thread, so delivery times include its own processing of all sockets.

mod report;
mod stream;
mod stream_log;

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

use crate::figures::Latency;
use crate::http1::Target;
use crate::process::ServerProcess;

pub use self::report::{Report, ServerCost};
use self::stream::{Observation, PendingCall};
use self::stream_log::StreamLog;

/// The number of connections that are opened concurrently. The queue of a listening socket often has 128 entries.
/// Further connections are dropped and retried a second later, which would count as opening time.
const OPENED_AT_ONCE: usize = 100;

/// The capacity of the queue of observations. Streams wait if it is full. The time of an observation is taken before it
/// is queued.
const QUEUED_OBSERVATIONS: usize = 1024;

/// The number of files that this process needs besides one per stream.
const OTHER_FILES: u64 = 100;

/// The options of the run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// The number of streams. Default: 10,000.
    pub streams: usize,
    /// The number of changes. Each is made after all streams have received the one before. Default: 1.
    pub changes: usize,
    /// The idle time. Default: 5 s.
    pub idle: Duration,
    /// The time after the last delivery in which a second one is detected. Default: 1 s.
    pub settle: Duration,
    /// The timeout for opening all streams, and for each delivery. Default: 60 s.
    pub deadline: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            streams: 10_000,
            changes: 1,
            idle: Duration::from_secs(5),
            settle: Duration::from_secs(1),
            deadline: Duration::from_secs(60),
        }
    }
}

impl Options {
    /// Returns the number of files that the load and the server may each need.
    #[must_use]
    pub fn open_files(&self) -> u64 {
        self.streams as u64 + OTHER_FILES
    }
}

/// Starts a server, loads it and measures its cost.
///
/// # Errors
/// Returns an error if nothing can be measured: the server cannot be reached, or its tool cannot be called. Errors of
/// single streams are in the report.
pub async fn run(server: &ServerProcess, options: &Options) -> io::Result<Report> {
    load(server.url(), Some(server), options).await
}

/// Loads the server at this URL.
///
/// # Errors
/// Returns the same errors as [`run`].
pub async fn run_at(url: &str, options: &Options) -> io::Result<Report> {
    load(url, None, options).await
}

async fn load(url: &str, server: Option<&ServerProcess>, options: &Options) -> io::Result<Report> {
    let target = Target::parse(url)
        .filter(|target| !target.is_tls)
        .ok_or_else(|| io::Error::other(format!("not an HTTP URL with an address: `{url}`")))?;
    let memory = || server.and_then(ServerProcess::memory);
    let processor_time = || server.and_then(ServerProcess::processor_time);

    let memory_before = memory();
    let opening = Instant::now();
    let mut streams = Streams::open(&target, options.streams);
    streams
        .watch(options.deadline, StreamLog::all_opened_or_failed)
        .await;
    let opened_in = opening.elapsed();
    let memory_open = memory();

    let processor_time_before = processor_time();
    streams.watch(options.idle, |_| false).await;
    let idle_processor_time = processor_time()
        .zip(processor_time_before)
        .map(|(after, before)| after.saturating_sub(before));
    let memory_idle = memory();

    let processor_time_before = processor_time();
    for _ in 0..options.changes {
        streams.change(&target, options.deadline).await?;
        if !streams.log.all_received() {
            // The report counts the lost deliveries. Another change would hide them.
            break;
        }
    }
    let delivery_processor_time = processor_time()
        .zip(processor_time_before)
        .map(|(after, before)| after.saturating_sub(before));
    streams.watch(options.settle, |_| false).await;

    let log = streams.log;
    let cost = memory_before
        .zip(memory_open)
        .zip(memory_idle.zip(memory()))
        .map(|((before, open), (idle, after))| ServerCost {
            resident_before: before.resident,
            resident_open: open.resident,
            resident_idle: idle.resident,
            resident_after: after.resident,
            resident_peak: after.peak,
            bytes_per_stream: open.resident.saturating_sub(before.resident)
                / log.opened().max(1) as u64,
            idle_processor_seconds: idle_processor_time.map(|time| time.as_secs_f64()),
            delivery_processor_us: delivery_processor_time
                .map(|time| time.as_secs_f64() * 1e6 / log.received().max(1) as f64),
        });
    Ok(Report {
        streams: options.streams,
        opened: log.opened(),
        opening_seconds: opened_in.as_secs_f64(),
        idle_seconds: options.idle.as_secs_f64(),
        changes: log.changes(),
        delivered: log.received(),
        lost: log.opened() * log.changes() - log.received(),
        duplicates: log.duplicates(),
        unexpected: log.unexpected(),
        ended: log.ended(),
        first_trouble: log.first_error().map(str::to_owned),
        delivery: Latency::of(log.delivery_times().to_vec()),
        server: cost,
    })
}

/// Idle streams that stay open during another measurement.
pub(crate) struct OpenStreams {
    _streams: Streams,
}

impl OpenStreams {
    /// Opens the streams, and returns an error if one does not open.
    pub(crate) async fn open(target: &Target, count: usize) -> io::Result<Self> {
        crate::allow_open_files(count as u64 + OTHER_FILES)?;
        let mut streams = Streams::open(target, count);
        streams
            .watch(Options::default().deadline, StreamLog::all_opened_or_failed)
            .await;
        let log = &streams.log;
        if log.opened() < count {
            let error = log.first_error().unwrap_or("not in time");
            return Err(io::Error::other(format!(
                "{} of {count} streams opened: {error}",
                log.opened()
            )));
        }
        Ok(Self { _streams: streams })
    }
}

/// All streams of a run. They end when this is dropped.
struct Streams {
    log: StreamLog,
    observations: mpsc::Receiver<Observation>,
    _tasks: JoinSet<()>,
}

impl Streams {
    fn open(target: &Target, count: usize) -> Self {
        let (sender, observations) = mpsc::channel(QUEUED_OBSERVATIONS);
        let permits = Arc::new(Semaphore::new(OPENED_AT_ONCE));
        let request: Arc<[u8]> = stream::listen_request(target).into();
        let mut tasks = JoinSet::new();
        for index in 0..count {
            tasks.spawn(stream::observe(
                index,
                target.address,
                Arc::clone(&request),
                Arc::clone(&permits),
                sender.clone(),
            ));
        }
        Self {
            log: StreamLog::new(count),
            observations,
            _tasks: tasks,
        }
    }

    /// Calls the tool that causes a change, and waits until every stream has received it or the time is over.
    async fn change(&mut self, target: &Target, deadline: Duration) -> io::Result<()> {
        let call = PendingCall::connect(target, "change").await?;
        self.log.expect_change(Instant::now());
        let delivery = self.watch(deadline, StreamLog::all_received);
        let calling = async {
            let called = tokio::time::timeout(deadline, call.finish()).await;
            called
                .map_err(io::Error::from)
                .flatten()
                .map_err(|error| io::Error::other(format!("the call of `change` failed: {error}")))
        };
        // If the call fails, there is nothing to wait for.
        tokio::try_join!(calling, async {
            delivery.await;
            Ok(())
        })?;
        Ok(())
    }

    /// Records observations until the log satisfies the condition or the time is over.
    async fn watch(&mut self, limit: Duration, is_done: fn(&StreamLog) -> bool) {
        let watching = async {
            while !is_done(&self.log) {
                match self.observations.recv().await {
                    Some(observation) => self.log.record(observation),
                    // Every stream has ended, so there are no more observations.
                    None => return,
                }
            }
        };
        // The log shows whether the time is over.
        let _ = tokio::time::timeout(limit, watching).await;
    }
}
