//! The load on a server over stdio: calls of `echo` through the pipes of a process that was started for it.
//!
//! Everything here blocks, because nothing else runs while a server is measured.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use memchr::memmem;

use super::{Era, Kind, Workload};
use crate::cores::Cores;
use crate::cost::ProcessCost;

/// The size of one read from the server.
const READ_BUFFER: usize = 256 * 1024;

const ECHO: Workload = Workload::new(Era::Legacy, Kind::Echo, 100);

/// A running server and its pipes.
pub(crate) struct StdioServer {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    last_id: i64,
}

impl StdioServer {
    /// Starts the server and does the handshake.
    pub(crate) fn start(mut command: Command, cores: Option<Cores>) -> io::Result<Self> {
        if let Some(cores) = cores {
            cores.pin_to_server_core();
        }
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        if let Some(cores) = cores {
            cores.pin_to_load_core();
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
        check_response(&next_line(&mut server.output)?)?;
        let initialized = line(Workload::initialized_message());
        server.input.write_all(&initialized)?;
        Ok(server)
    }

    /// Returns the cost of the server.
    pub(crate) fn cost(&self) -> ProcessCost {
        ProcessCost::of(self.child.id())
    }

    fn next_call(&mut self) -> Vec<u8> {
        self.last_id += 1;
        line(ECHO.message(self.last_id))
    }

    /// Makes one call after the other, and returns the duration of each.
    pub(crate) fn call_one_by_one(&mut self, calls: usize) -> io::Result<Vec<Duration>> {
        let lines: Vec<Vec<u8>> = (0..calls).map(|_| self.next_call()).collect();
        let mut times = Vec::with_capacity(calls);
        let mut last = Vec::new();
        for line in lines {
            let start = Instant::now();
            self.input.write_all(&line)?;
            last = next_line(&mut self.output)?;
            times.push(start.elapsed());
            check_response(&last)?;
        }
        ECHO.verify_result(&last).map_err(io::Error::other)?;
        Ok(times)
    }

    /// Makes all calls at once, while the responses are read. Each response waits for earlier ones, so durations of
    /// single calls have no meaning.
    pub(crate) fn call_all_at_once(&mut self, calls: usize) -> io::Result<()> {
        let bytes: Vec<u8> = (0..calls).flat_map(|_| self.next_call()).collect();
        let (input, output, child) = (&mut self.input, &mut self.output, &mut self.child);
        let last = thread::scope(|scope| {
            let writer = scope.spawn(move || input.write_all(&bytes));
            let read = (0..calls).try_fold(Vec::new(), |_, _| {
                let line = next_line(output)?;
                check_response(&line).map(|()| line)
            });
            if read.is_err() {
                // Otherwise the writer would wait for a server whose output is not read.
                child.kill()?;
            }
            let written = writer.join().expect("writing does not panic");
            written.and(read)
        })?;
        ECHO.verify_result(&last).map_err(io::Error::other)
    }

    /// Closes the input and waits for the exit.
    pub(crate) fn end(mut self) -> io::Result<()> {
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
        return Err(io::Error::other("the server closed its output"));
    }
    Ok(line)
}

/// Checks only that the line has a result, because the check must not limit the load.
fn check_response(line: &[u8]) -> io::Result<()> {
    if memmem::find(line, b"\"result\":").is_some() {
        return Ok(());
    }
    let line = String::from_utf8_lossy(line);
    Err(io::Error::other(format!("not a result: {line:.300}")))
}
