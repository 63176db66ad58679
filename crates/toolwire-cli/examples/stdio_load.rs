//! How fast do servers answer over stdio, and what does a call cost them?
//!
//! Starts each given command, shakes hands, and calls its `echo` tool: one call after the other, then all at once while
//! the answers are read. Several commands, separated by `--`, take turns, so that a busy machine treats them alike; a
//! bare loop that only parses, copies and writes takes part as the yardstick. Memory and CPU are read on Linux.
//!
//! ```text
//! cargo run --release -p toolwire-cli --example stdio_load -- \
//!     --calls 50000 --rounds 5 -- target/release/toolwire demo --stdio -- ./another-server
//! ```

use std::fs;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use clap::{Parser, ValueEnum};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use toolwire::ProtocolVersion;

/// Calls that are made before anything is measured.
const WARM_UP: u32 = 2_000;

#[derive(Debug, Parser)]
struct Arguments {
    /// Calls per measurement
    #[arg(long, default_value_t = 50_000)]
    calls: u32,
    /// How often every command takes its turn
    #[arg(long, default_value_t = 3)]
    rounds: u32,
    /// The revision that is spoken
    #[arg(long, value_enum, default_value_t = Era::Handshake)]
    era: Era,
    /// The length of the text that is echoed
    #[arg(long, default_value_t = 16)]
    text: usize,
    /// Be the bare loop
    #[arg(long, exclusive = true)]
    bare: bool,
    /// The commands to start, separated by `--`
    #[arg(last = true)]
    commands: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Era {
    /// 2026-07-28
    Newest,
    /// 2025-11-25
    Handshake,
}

impl Era {
    fn version(self) -> &'static str {
        match self {
            Self::Newest => ProtocolVersion::LATEST.as_str(),
            Self::Handshake => ProtocolVersion::ALL[3].as_str(),
        }
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = if arguments.bare {
        answer_barely()
    } else {
        compare(&arguments)
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("stdio_load: {error}");
            ExitCode::FAILURE
        }
    }
}

fn compare(arguments: &Arguments) -> io::Result<()> {
    let own = std::env::current_exe()?.to_string_lossy().into_owned();
    let mut contestants = vec![vec![own, "--bare".to_owned()]];
    let commands = arguments.commands.split(|word| word == "--");
    contestants.extend(
        commands
            .filter(|words| !words.is_empty())
            .map(<[_]>::to_vec),
    );
    let mut measured: Vec<Vec<Turn>> = contestants.iter().map(|_| Vec::new()).collect();
    for _ in 0..arguments.rounds {
        for (command, turns) in contestants.iter().zip(&mut measured) {
            turns.push(take_turn(command, arguments)?);
        }
    }
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "{:>12} {:>12} {:>12} {:>12} {:>10}  medians of {} rounds of {} calls",
        "seq calls/s",
        "seq CPU µs",
        "pipe calls/s",
        "pipe CPU µs",
        "peak KiB",
        arguments.rounds,
        arguments.calls,
    )?;
    for (command, turns) in contestants.iter().zip(&measured) {
        let median = |of: fn(&Turn) -> f64| {
            let mut values: Vec<f64> = turns.iter().map(of).collect();
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        };
        writeln!(
            out,
            "{:>12.0} {:>12.2} {:>12.0} {:>12.2} {:>10}  {}",
            median(|turn| turn.sequential.calls_per_second),
            median(|turn| turn.sequential.cpu_micros_per_call),
            median(|turn| turn.pipelined.calls_per_second),
            median(|turn| turn.pipelined.cpu_micros_per_call),
            median(|turn| turn.peak_kib),
            command.join(" "),
        )?;
    }
    Ok(())
}

/// What one command did in one round.
struct Turn {
    sequential: Rate,
    pipelined: Rate,
    peak_kib: f64,
}

struct Rate {
    calls_per_second: f64,
    cpu_micros_per_call: f64,
}

fn take_turn(command: &[String], arguments: &Arguments) -> io::Result<Turn> {
    let mut server = Server::start(command, arguments)?;
    server.call_one_by_one(WARM_UP)?;
    let sequential = server.measure(arguments.calls, Server::call_one_by_one)?;
    server.call_all_at_once(WARM_UP)?;
    let pipelined = server.measure(arguments.calls, Server::call_all_at_once)?;
    let peak_kib = peak_kib(server.child.id()).unwrap_or(f64::NAN);
    server.end()?;
    Ok(Turn {
        sequential,
        pipelined,
        peak_kib,
    })
}

/// A running server and the pipes to it.
struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    era: Era,
    text: String,
    last_id: u32,
}

impl Server {
    fn start(command: &[String], arguments: &Arguments) -> io::Result<Self> {
        let mut child = Command::new(&command[0])
            .args(&command[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("the server has no pipes"));
        };
        let mut server = Self {
            child,
            input,
            output: BufReader::with_capacity(256 * 1024, output),
            era: arguments.era,
            text: "x".repeat(arguments.text),
            last_id: 0,
        };
        if server.era == Era::Handshake {
            server.shake_hands()?;
        }
        Ok(server)
    }

    fn shake_hands(&mut self) -> io::Result<()> {
        let hello = json!({
            "protocolVersion": Era::Handshake.version(),
            "capabilities": {},
            "clientInfo": {"name": "stdio_load", "version": "1.0.0"},
        });
        let request = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello});
        self.input.write_all(format!("{request}\n").as_bytes())?;
        check_answer(&next_line(&mut self.output)?)?;
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        self.input.write_all(format!("{initialized}\n").as_bytes())
    }

    fn next_call(&mut self) -> Vec<u8> {
        self.last_id += 1;
        let mut params = json!({"name": "echo", "arguments": {"text": self.text}});
        if self.era == Era::Newest {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": Era::Newest.version(),
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        let call = json!({
            "jsonrpc": "2.0", "id": self.last_id, "method": "tools/call", "params": params,
        });
        format!("{call}\n").into_bytes()
    }

    fn call_one_by_one(&mut self, calls: u32) -> io::Result<Duration> {
        let lines: Vec<Vec<u8>> = (0..calls).map(|_| self.next_call()).collect();
        let began = Instant::now();
        for line in lines {
            self.input.write_all(&line)?;
            check_answer(&next_line(&mut self.output)?)?;
        }
        Ok(began.elapsed())
    }

    fn call_all_at_once(&mut self, calls: u32) -> io::Result<Duration> {
        let bytes: Vec<u8> = (0..calls).flat_map(|_| self.next_call()).collect();
        let (input, output, child) = (&mut self.input, &mut self.output, &mut self.child);
        let began = Instant::now();
        thread::scope(|scope| {
            let writer = scope.spawn(move || input.write_all(&bytes));
            let read = (0..calls).try_for_each(|_| check_answer(&next_line(output)?));
            if read.is_err() {
                // Otherwise the writer would wait for a server nobody listens to.
                child.kill()?;
            }
            let written = writer.join().expect("writing does not panic");
            read.and(written)
        })?;
        Ok(began.elapsed())
    }

    fn measure(
        &mut self,
        calls: u32,
        make_calls: fn(&mut Self, u32) -> io::Result<Duration>,
    ) -> io::Result<Rate> {
        let before = cpu_seconds(self.child.id()).unwrap_or(f64::NAN);
        let elapsed = make_calls(self, calls)?;
        let after = cpu_seconds(self.child.id()).unwrap_or(f64::NAN);
        Ok(Rate {
            calls_per_second: f64::from(calls) / elapsed.as_secs_f64(),
            cpu_micros_per_call: (after - before) * 1e6 / f64::from(calls),
        })
    }

    fn end(mut self) -> io::Result<()> {
        drop(self.input);
        self.output.read_to_end(&mut Vec::new())?;
        self.child.wait()?;
        Ok(())
    }
}

fn next_line(output: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    if output.read_until(b'\n', &mut line)? == 0 {
        return Err(io::Error::other("the server hung up"));
    }
    Ok(line)
}

/// A look that costs little: the generator must not be what is measured.
fn check_answer(line: &[u8]) -> io::Result<()> {
    const RESULT: &[u8] = b"\"result\":";
    if line
        .windows(RESULT.len())
        .take(64)
        .any(|part| part == RESULT)
    {
        return Ok(());
    }
    let line = String::from_utf8_lossy(line);
    Err(io::Error::other(format!("not a result: {line}")))
}

/// What the process has used of the CPU, with all its threads. Linux counts in hundredths of a second.
fn cpu_seconds(process: u32) -> Option<f64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name may hold spaces; it ends at the last parenthesis. The fields after it begin with the third.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut times = fields.split_whitespace().skip(11);
    let mut ticks = || times.next()?.parse::<f64>().ok();
    Some((ticks()? + ticks()?) / 100.0)
}

fn peak_kib(process: u32) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

/// The least a server could do: read a line, parse it, write the answer. Ready answers share a write.
fn answer_barely() -> io::Result<()> {
    #[derive(Deserialize)]
    struct Message<'a> {
        #[serde(borrow)]
        id: Option<&'a RawValue>,
        method: &'a str,
        #[serde(default, borrow)]
        params: Option<Params<'a>>,
    }
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(default, borrow)]
        arguments: Option<Echo<'a>>,
    }
    #[derive(Deserialize)]
    struct Echo<'a> {
        text: &'a str,
    }
    #[derive(Serialize)]
    struct Answer<'a> {
        jsonrpc: &'a str,
        id: &'a RawValue,
        result: Value,
    }
    let mut input = BufReader::with_capacity(64 * 1024, io::stdin().lock());
    let mut output = BufWriter::with_capacity(64 * 1024, io::stdout().lock());
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line)? > 0 {
        let message: Message<'_> = serde_json::from_slice(&line)?;
        if let Some(id) = message.id {
            let echo = message.params.and_then(|params| params.arguments);
            let result = match echo {
                Some(Echo { text }) => json!({"content": [{"type": "text", "text": text}]}),
                None => json!({
                    "protocolVersion": Era::Handshake.version(),
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": message.method, "version": "1.0.0"},
                }),
            };
            let answer = Answer {
                jsonrpc: "2.0",
                id,
                result,
            };
            serde_json::to_writer(&mut output, &answer)?;
            output.write_all(b"\n")?;
        }
        line.clear();
        if input.buffer().is_empty() {
            output.flush()?;
        }
    }
    output.flush()
}
