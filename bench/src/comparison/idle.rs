//! The memory of idle sessions, and of idle streams with their connections.

use std::io;
use std::time::{Duration, Instant};

use super::sample::Sample;
use crate::load::{Destination, begin_sessions};
use crate::process::ServerProcess;
use crate::streams;

/// One in this many sessions is opened before memory is measured, so that one-time costs are not included.
const WARM_UP_SHARE: usize = 100;

/// The connections on which sessions are opened. An idle session needs none.
const CONNECTIONS: usize = 16;

/// Opens idle sessions: this many in total, because a server may permit no more.
pub(crate) async fn sessions(server: &ServerProcess, all: usize) -> io::Result<Sample> {
    let warm_up = all / WARM_UP_SHARE;
    let count = all - warm_up;
    let destination = Destination::new(server.url(), None)?;
    begin_sessions(&destination, CONNECTIONS, warm_up).await?;
    let before = server.memory();
    let processor_before = server.processor_time();
    let start = Instant::now();
    begin_sessions(&destination, CONNECTIONS, count).await?;
    let seconds = start.elapsed().as_secs_f64();
    let processor_after = server.processor_time();
    let after = server.memory();
    Ok(Sample {
        per_second: Some(count as f64 / seconds),
        cpu_us: processor_before
            .zip(processor_after)
            .map(|(before, after)| after.saturating_sub(before).as_secs_f64() * 1e6 / count as f64),
        peak_bytes: after.map(|memory| memory.peak as f64),
        bytes_each: before.zip(after).map(|(before, after)| {
            after.resident.saturating_sub(before.resident) as f64 / count as f64
        }),
        ..Sample::default()
    })
}

/// Opens streams, leaves them idle, and delivers changes to all of them. Times and CPU time are those of a delivery.
pub(crate) async fn streams(
    server: &ServerProcess,
    count: usize,
    changes: usize,
) -> io::Result<Sample> {
    let options = streams::Options {
        streams: count,
        changes,
        idle: Duration::from_millis(500),
        settle: Duration::from_millis(500),
        ..streams::Options::default()
    };
    crate::allow_open_files(options.open_files())?;
    let report = streams::run(server, &options).await?;
    let failures = report.failures(u64::MAX);
    if !failures.is_empty() {
        return Err(io::Error::other(failures.join("; ")));
    }
    let delivery = report.delivery;
    let cost = report.server;
    Ok(Sample {
        per_second: delivery.map(|delivery| report.opened as f64 * 1e3 / delivery.max_ms),
        p50_us: delivery.map(|delivery| delivery.p50_ms * 1e3),
        p99_us: delivery.map(|delivery| delivery.p99_ms * 1e3),
        cpu_us: cost.as_ref().and_then(|cost| cost.delivery_processor_us),
        peak_bytes: cost.as_ref().map(|cost| cost.resident_peak as f64),
        // A case with several changes has several rounds, and later ones reuse the memory of the first.
        bytes_each: cost
            .filter(|_| changes == 1)
            .map(|cost| cost.bytes_per_stream as f64),
        ..Sample::default()
    })
}
