//! A round over stdio: the load uses the pipes of a process that was started for it.

use std::io;
use std::process::Command;
use std::time::{Duration, Instant};

use super::contest::WARM_UP_SHARE;
use super::sample::Sample;
use crate::cores::Cores;
use crate::figures::percentile;
use crate::load::stdio::StdioServer;

/// Makes one call after the other.
pub(crate) fn sequential(
    command: Command,
    cores: Option<Cores>,
    calls: usize,
) -> io::Result<Sample> {
    let mut server = StdioServer::start(command, cores)?;
    server.call_one_by_one(calls.div_ceil(WARM_UP_SHARE))?;
    measure(server, calls, StdioServer::call_one_by_one)
}

/// Makes all calls at once, while the responses are read.
pub(crate) fn pipelined(
    command: Command,
    cores: Option<Cores>,
    calls: usize,
) -> io::Result<Sample> {
    let mut server = StdioServer::start(command, cores)?;
    server.call_all_at_once(calls.div_ceil(WARM_UP_SHARE))?;
    measure(server, calls, |server, calls| {
        server.call_all_at_once(calls).map(|()| Vec::new())
    })
}

/// Measures the time to the first response.
pub(crate) fn first_response(command: Command, cores: Option<Cores>) -> io::Result<Sample> {
    let start = Instant::now();
    let server = StdioServer::start(command, cores)?;
    let time = start.elapsed();
    server.end()?;
    Ok(Sample {
        first_answer_ms: Some(time.as_secs_f64() * 1e3),
        ..Sample::default()
    })
}

fn measure(
    mut server: StdioServer,
    calls: usize,
    make_calls: fn(&mut StdioServer, usize) -> io::Result<Vec<Duration>>,
) -> io::Result<Sample> {
    let cost = server.cost();
    cost.reset_peak();
    let processor_before = cost.processor_time();
    let start = Instant::now();
    let mut times = make_calls(&mut server, calls)?;
    let seconds = start.elapsed().as_secs_f64();
    let processor_after = cost.processor_time();
    let memory = cost.memory();
    server.end()?;
    times.sort_unstable();
    let micros = |percent| percentile(&times, percent).map(|time| time.as_secs_f64() * 1e6);
    Ok(Sample {
        per_second: Some(calls as f64 / seconds),
        p50_us: micros(50),
        p99_us: micros(99),
        cpu_us: processor_before
            .zip(processor_after)
            .map(|(before, after)| after.saturating_sub(before).as_secs_f64() * 1e6 / calls as f64),
        peak_bytes: memory.map(|memory| memory.peak as f64),
        ..Sample::default()
    })
}
