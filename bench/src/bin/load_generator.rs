//! Loads a server over HTTP from a process of its own and prints what it measured as JSON.
//!
//! With `--wait` it prints `ready` after its warm-up and begins when a line comes in, so that whoever started it can look at
//! the server right before and right after.

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use toolwire_bench::load::{self, Era, Kind, Plan, Workload};

/// Loads a server over HTTP with one request again and again.
#[derive(Debug, Parser)]
struct Arguments {
    /// Where the server is, such as `http://127.0.0.1:3000/mcp`
    url: String,
    /// With sessions or without
    #[arg(long, value_enum, default_value_t = Era::Modern)]
    era: Era,
    /// What is asked for
    #[arg(long, value_enum, default_value_t = Kind::Echo)]
    kind: Kind,
    /// How much of it: bytes, tools, or notices
    #[arg(long, default_value_t = 100)]
    amount: usize,
    /// How many connections have a request under way
    #[arg(long, default_value_t = 32)]
    connections: usize,
    /// How many requests are measured
    #[arg(long, default_value_t = 50_000)]
    requests: usize,
    /// How many requests are made before
    #[arg(long, default_value_t = 1_000)]
    warm_up: usize,
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
    let plan = Plan::new(workload, arguments.requests)
        .with_connections(arguments.connections)
        .with_warm_up(arguments.warm_up);
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
