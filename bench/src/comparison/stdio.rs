//! A turn over stdio: calls of `echo` through the pipes of a process that was started for it.
//!
//! Everything here blocks: while a turn is measured, nothing else is done.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use memchr::memmem;

use super::WARM_UP_SHARE;
use super::case::STDIO_ECHO;
use super::sample::Sample;
use crate::cores::Cores;
use crate::cost::ProcessCost;
use crate::load::Workload;

/// What is read from the server at once.
const READ_BUFFER: usize = 256 * 1024;

/// One call after the other.
pub(crate) fn sequential(
    command: Command,
    cores: Option<Cores>,
    calls: usize,
) -> io::Result<Sample> {
    let mut server = StdioServer::start(command, cores)?;
    server.call_one_by_one(calls.div_ceil(WARM_UP_SHARE))?;
    server.measure(calls, StdioServer::call_one_by_one)
}

/// All calls at once, while the answers are read.
pub(crate) fn pipelined(
    command: Command,
    cores: Option<Cores>,
    calls: usize,
) -> io::Result<Sample> {
    let mut server = StdioServer::start(command, cores)?;
    server.call_all_at_once(calls.div_ceil(WARM_UP_SHARE))?;
    server.measure(calls, StdioServer::call_all_at_once)
}

/// How long the first answer takes.
pub(crate) fn first_answer(command: Command, cores: Option<Cores>) -> io::Result<Sample> {
    let began = Instant::now();
    let server = StdioServer::start(command, cores)?;
    let took = began.elapsed();
    server.end()?;
    Ok(Sample {
        first_answer_ms: Some(took.as_secs_f64() * 1e3),
        ..Sample::default()
    })
}

/// A running server and the pipes to it.
struct StdioServer {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    last_id: i64,
}

impl StdioServer {
    /// Starts it and shakes hands.
    fn start(mut command: Command, cores: Option<Cores>) -> io::Result<Self> {
        if let Some(cores) = cores {
            cores.stay_with_the_server();
        }
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        if let Some(cores) = cores {
            cores.stay_with_the_load();
        }
        let mut child = child?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("the server has no pipes"));
        };
        let mut server = Self {
            child,
            input,
            output: BufReader::with_capacity(READ_BUFFER, output),
            last_id: 0,
        };
        let initialize = line(Workload::initialize_message());
        server.input.write_all(&initialize)?;
        check_answer(&next_line(&mut server.output)?)?;
        let initialized = line(Workload::initialized_message());
        server.input.write_all(&initialized)?;
        Ok(server)
    }

    fn next_call(&mut self) -> Vec<u8> {
        self.last_id += 1;
        line(STDIO_ECHO.message(self.last_id))
    }

    fn call_one_by_one(&mut self, calls: usize) -> io::Result<Vec<Duration>> {
        let lines: Vec<Vec<u8>> = (0..calls).map(|_| self.next_call()).collect();
        let mut times = Vec::with_capacity(calls);
        let mut last = Vec::new();
        for line in lines {
            let asked = Instant::now();
            self.input.write_all(&line)?;
            last = next_line(&mut self.output)?;
            times.push(asked.elapsed());
            check_answer(&last)?;
        }
        STDIO_ECHO.verify_result(&last).map_err(io::Error::other)?;
        Ok(times)
    }

    fn call_all_at_once(&mut self, calls: usize) -> io::Result<Vec<Duration>> {
        let bytes: Vec<u8> = (0..calls).flat_map(|_| self.next_call()).collect();
        let (input, output, child) = (&mut self.input, &mut self.output, &mut self.child);
        let last = thread::scope(|scope| {
            let writer = scope.spawn(move || input.write_all(&bytes));
            let read = (0..calls).try_fold(Vec::new(), |_, _| {
                let line = next_line(output)?;
                check_answer(&line).map(|()| line)
            });
            if read.is_err() {
                // Otherwise the writer would wait for a server nobody listens to.
                child.kill()?;
            }
            let written = writer.join().expect("writing does not panic");
            written.and(read)
        })?;
        STDIO_ECHO.verify_result(&last).map_err(io::Error::other)?;
        // Each answer waited for those before it: times of single calls mean nothing here.
        Ok(Vec::new())
    }

    fn measure(
        mut self,
        calls: usize,
        make_calls: fn(&mut Self, usize) -> io::Result<Vec<Duration>>,
    ) -> io::Result<Sample> {
        let cost = ProcessCost::of(self.child.id());
        cost.forget_peak();
        let processor_before = cost.processor_time();
        let began = Instant::now();
        let mut times = make_calls(&mut self, calls)?;
        let seconds = began.elapsed().as_secs_f64();
        let processor_after = cost.processor_time();
        let memory = cost.memory();
        self.end()?;
        times.sort_unstable();
        let micros = |percent| {
            crate::figures::percentile(&times, percent).map(|time| time.as_secs_f64() * 1e6)
        };
        Ok(Sample {
            per_second: Some(calls as f64 / seconds),
            p50_us: micros(50),
            p99_us: micros(99),
            cpu_us: processor_before
                .zip(processor_after)
                .map(|(before, after)| {
                    after.saturating_sub(before).as_secs_f64() * 1e6 / calls as f64
                }),
            peak_bytes: memory.map(|memory| memory.peak as f64),
            ..Sample::default()
        })
    }

    fn end(mut self) -> io::Result<()> {
        drop(self.input);
        self.output.read_to_end(&mut Vec::new())?;
        self.child.wait()?;
        Ok(())
    }
}

fn line(message: String) -> Vec<u8> {
    let mut line = message.into_bytes();
    line.push(b'\n');
    line
}

fn next_line(output: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    if output.read_until(b'\n', &mut line)? == 0 {
        return Err(io::Error::other("the server hung up"));
    }
    Ok(line)
}

/// A look that costs little: the load must not be what is measured.
fn check_answer(line: &[u8]) -> io::Result<()> {
    if memmem::find(line, b"\"result\":").is_some() {
        return Ok(());
    }
    let line = String::from_utf8_lossy(line);
    Err(io::Error::other(format!("not a result: {line:.300}")))
}
