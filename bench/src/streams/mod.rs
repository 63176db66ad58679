//! Many idle `subscriptions/listen` streams, and one change that all of them must hear of exactly once.
//!
//! Every stream is a connection of its own, and all of them use the same request id: a server that keeps streams apart by
//! id alone fails here. The load is one thread, so the delivery times include its own turn-taking over all the sockets.

mod ledger;
mod report;
mod stream;

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

use crate::figures::Latency;
use crate::http1::Target;
use crate::process::ServerProcess;

use self::ledger::Ledger;
pub use self::report::{Report, ServerCost};
use self::stream::{Observation, PendingCall};

/// How many connections are being opened at once. The queue of a listening socket is often 128 long; what it cannot hold
/// is dropped and tried again a second later, which would be measured as time to open.
const OPENED_AT_ONCE: usize = 100;

/// How many observations may wait for the ledger. It only has to be kept busy; streams wait when it is full, and the time
/// of an observation is taken before.
const WAITING_OBSERVATIONS: usize = 1024;

/// Files this process needs besides one per stream.
const OTHER_FILES: u64 = 100;

/// What is done.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// How many streams are opened. 10,000.
    pub streams: usize,
    /// How long nothing happens on them. 5 s.
    pub idle: Duration,
    /// How long after the last delivery a second one would still be noticed. 1 s.
    pub settle: Duration,
    /// How long all streams together may take to open, and again to hear of the change. 60 s.
    pub deadline: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            streams: 10_000,
            idle: Duration::from_secs(5),
            settle: Duration::from_secs(1),
            deadline: Duration::from_secs(60),
        }
    }
}

impl Options {
    /// How many files the load and the server may each need to have open.
    #[must_use]
    pub fn open_files(&self) -> u64 {
        self.streams as u64 + OTHER_FILES
    }
}

/// Loads a server of its own and measures what that costs it.
///
/// # Errors
/// When there is nothing to measure: the server cannot be reached, or its change cannot be called. What goes wrong with
/// single streams is in the report.
pub async fn run(server: &ServerProcess, options: &Options) -> io::Result<Report> {
    load(server.url(), Some(server), options).await
}

/// Loads the server at this URL, whoever runs it.
///
/// # Errors
/// As for [`run`].
pub async fn run_at(url: &str, options: &Options) -> io::Result<Report> {
    load(url, None, options).await
}

async fn load(url: &str, server: Option<&ServerProcess>, options: &Options) -> io::Result<Report> {
    let target = Target::parse(url)
        .ok_or_else(|| io::Error::other(format!("not a URL with an address: `{url}`")))?;
    let memory = || server.and_then(ServerProcess::memory);
    let processor_time = || server.and_then(ServerProcess::processor_time);

    let memory_before = memory();
    let opening = Instant::now();
    let mut streams = Streams::open(&target, options.streams);
    streams
        .watch(options.deadline, Ledger::is_everybody_open_or_gone)
        .await;
    let opened_in = opening.elapsed();
    let memory_open = memory();

    let processor_time_before = processor_time();
    streams.watch(options.idle, |_| false).await;
    let idle_processor_time = processor_time()
        .zip(processor_time_before)
        .map(|(after, before)| after.saturating_sub(before));
    let memory_idle = memory();

    let call = PendingCall::connect(&target, "change").await?;
    streams.ledger.expect_change(Instant::now());
    let hearing = streams.watch(options.deadline, Ledger::has_everybody_heard);
    let calling = async {
        call.finish()
            .await
            .map_err(|error| io::Error::other(format!("the call of `change` failed: {error}")))
    };
    // A call that fails leaves nothing to wait for.
    tokio::try_join!(calling, async {
        hearing.await;
        Ok(())
    })?;
    streams.watch(options.settle, |_| false).await;

    let ledger = streams.ledger;
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
                / ledger.opened().max(1) as u64,
            idle_processor_seconds: idle_processor_time.map(|time| time.as_secs_f64()),
        });
    Ok(Report {
        streams: options.streams,
        opened: ledger.opened(),
        opening_seconds: opened_in.as_secs_f64(),
        idle_seconds: options.idle.as_secs_f64(),
        delivered: ledger.heard(),
        lost: ledger.opened() - ledger.heard(),
        duplicates: ledger.duplicates(),
        unexpected: ledger.unexpected(),
        ended: ledger.ended(),
        first_trouble: ledger.first_trouble().map(str::to_owned),
        delivery: Latency::of(ledger.delivery_times()),
        server: cost,
    })
}

/// All streams of a run; they end when this is dropped.
struct Streams {
    ledger: Ledger,
    observations: mpsc::Receiver<Observation>,
    _tasks: JoinSet<()>,
}

impl Streams {
    fn open(target: &Target, count: usize) -> Self {
        let (sender, observations) = mpsc::channel(WAITING_OBSERVATIONS);
        let gate = Arc::new(Semaphore::new(OPENED_AT_ONCE));
        let request: Arc<[u8]> = stream::listen_request(target).into();
        let mut tasks = JoinSet::new();
        for index in 0..count {
            tasks.spawn(stream::hold(
                index,
                target.address,
                Arc::clone(&request),
                Arc::clone(&gate),
                sender.clone(),
            ));
        }
        Self {
            ledger: Ledger::new(count),
            observations,
            _tasks: tasks,
        }
    }

    /// Takes notes until the ledger shows what is waited for, or the time is over.
    async fn watch(&mut self, longest: Duration, is_done: fn(&Ledger) -> bool) {
        let watching = async {
            while !is_done(&self.ledger) {
                match self.observations.recv().await {
                    Some(observation) => self.ledger.record(observation),
                    // Every stream has ended, so nothing more will ever be seen.
                    None => return,
                }
            }
        };
        // Whether the time is over is seen in the ledger.
        let _ = tokio::time::timeout(longest, watching).await;
    }
}
