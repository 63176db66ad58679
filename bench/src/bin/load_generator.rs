//! Loads a server over HTTP from a separate process and prints the measurements as JSON.
//!
//! With `--wait` it prints `ready` after its warm-up and waits for a line, so that its parent process can measure the
//! server right before and right after.

use std::error::Error;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use toolwire_bench::load::{self, Era, Kind, Plan, Protocol, Workload};

/// Loads a server over HTTP with one repeated request.
#[derive(Debug, Parser)]
struct Arguments {
    /// The URL of the server, such as `http://127.0.0.1:3000/mcp`
    url: String,
    /// The era: with or without sessions
    #[arg(long, value_enum, default_value_t = Era::Modern)]
    era: Era,
    /// The kind of request
    #[arg(long, value_enum, default_value_t = Kind::Echo)]
    kind: Kind,
    /// The amount: bytes, tools or notifications
    #[arg(long, default_value_t = 100)]
    amount: usize,
    /// How connections are used
    #[arg(long, value_enum, default_value_t = Protocol::Http1)]
    protocol: Protocol,
    /// The PEM file of the certificate to trust, for a URL with `https`
    #[arg(long, value_name = "FILE")]
    trusted: Option<PathBuf>,
    /// The number of connections or, over HTTP/2, of streams; each has one request in flight
    #[arg(long, default_value_t = 32)]
    connections: usize,
    /// The number of measured requests
    #[arg(long, default_value_t = 50_000)]
    requests: usize,
    /// The number of requests before the measurement
    #[arg(long, default_value_t = 1_000)]
    warm_up: usize,
    /// Use one legacy session on all connections, not one each
    #[arg(long)]
    one_session: bool,
    /// The number of other legacy sessions, which are opened before and stay idle
    #[arg(long, default_value_t = 0, requires = "one_session")]
    idle_sessions: usize,
    /// The number of `subscriptions/listen` streams that are open meanwhile
    #[arg(long, default_value_t = 0)]
    listen_streams: usize,
    /// Wait for a line before the measured part
    #[arg(long)]
    wait: bool,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("load-generator: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let workload = Workload::new(arguments.era, arguments.kind, arguments.amount);
    let mut plan = Plan::new(workload, arguments.requests)
        .with_protocol(arguments.protocol)
        .with_trusted(arguments.trusted.clone())
        .with_connections(arguments.connections)
        .with_warm_up(arguments.warm_up)
        .with_listen_streams(arguments.listen_streams);
    if arguments.one_session {
        plan = plan.with_one_session_beside(arguments.idle_sessions);
    }
    let warm = runtime.block_on(load::warm_up(&arguments.url, &plan))?;
    let mut stdout = std::io::stdout();
    if arguments.wait {
        writeln!(stdout, "ready")?;
        std::io::stdin().read_line(&mut String::new())?;
    }
    let outcome = runtime.block_on(warm.measure());
    writeln!(stdout, "{}", serde_json::to_string(&outcome)?)?;
    Ok(())
}
