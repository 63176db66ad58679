//! The benchmarks as a command; `cargo xtask bench` builds and runs it.

use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use serde::Serialize;
use toolwire_bench::{ServerProcess, allow_open_files, http_clients, streams};

/// Benchmarks of toolwire.
#[derive(Debug, Parser)]
#[command(name = "toolwire-bench", arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    benchmark: Benchmark,
}

#[derive(Debug, Subcommand)]
enum Benchmark {
    /// Many idle `subscriptions/listen` streams, and one change delivered to all of them
    Streams(StreamsArguments),
    /// Small calls over the HTTP that comes with the client, and over reqwest
    HttpClients(HttpClientsArguments),
}

#[derive(Debug, Args)]
struct StreamsArguments {
    /// How many streams to open
    #[arg(long, default_value_t = 10_000)]
    streams: usize,
    /// How many seconds nothing happens on them
    #[arg(long, default_value_t = 5)]
    idle: u64,
    /// How many seconds opening them may take, and again the delivery
    #[arg(long, default_value_t = 60)]
    deadline: u64,
    /// How much memory the server may take at most
    #[arg(long, default_value_t = 400)]
    limit_mib: u64,
    /// Write the figures to this file as well
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct HttpClientsArguments {
    /// How many calls a round makes
    #[arg(long, default_value_t = 20_000)]
    calls: usize,
    /// How many of them are under way at once, where many are
    #[arg(long, default_value_t = 64)]
    at_once: usize,
    /// How many rounds each client has, of which the best counts
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// How fast our client must be at least, as a multiple of reqwest
    #[arg(long, default_value_t = 0.8)]
    least_ratio: f64,
    /// Write the figures to this file as well
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

fn main() -> ExitCode {
    let Arguments { benchmark } = Arguments::parse();
    let outcome = match benchmark {
        Benchmark::Streams(arguments) => run_streams(&arguments),
        Benchmark::HttpClients(arguments) => run_http_clients(&arguments),
    };
    match outcome {
        Ok(failures) if failures.is_empty() => ExitCode::SUCCESS,
        Ok(failures) => {
            for failure in failures {
                eprintln!("failed: {failure}");
            }
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("toolwire-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run_streams(arguments: &StreamsArguments) -> Result<Vec<String>, Box<dyn Error>> {
    let mut options = streams::Options::default();
    options.streams = arguments.streams;
    options.idle = Duration::from_secs(arguments.idle);
    options.deadline = Duration::from_secs(arguments.deadline);
    // The server inherits it.
    allow_open_files(options.open_files())?;

    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let report = runtime.block_on(async {
        let server = ServerProcess::start(&beside_this_program("stream-server")?).await?;
        streams::run(&server, &options).await
    })?;
    write!(std::io::stdout(), "{}", report.to_table())?;
    if let Some(file) = &arguments.json {
        write_json(file, &report)?;
    }
    Ok(report.failures(arguments.limit_mib * 1024 * 1024))
}

fn run_http_clients(arguments: &HttpClientsArguments) -> Result<Vec<String>, Box<dyn Error>> {
    let mut options = http_clients::Options::default();
    options.calls = arguments.calls;
    options.at_once = arguments.at_once;
    options.rounds = arguments.rounds;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let report = runtime.block_on(async {
        let server = ServerProcess::start(&beside_this_program("stream-server")?).await?;
        http_clients::run(server.url(), &options).await
    })?;
    write!(std::io::stdout(), "{}", report.to_table())?;
    if let Some(file) = &arguments.json {
        write_json(file, &report)?;
    }
    Ok(report.failures(arguments.least_ratio))
}

/// The servers are built together with this program, with the same settings.
fn beside_this_program(name: &str) -> std::io::Result<PathBuf> {
    let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    Ok(std::env::current_exe()?.with_file_name(file))
}

fn write_json(file: &Path, report: &impl Serialize) -> Result<(), Box<dyn Error>> {
    let mut text = serde_json::to_string_pretty(report)?;
    text.push('\n');
    std::fs::write(file, text)
        .map_err(|error| format!("cannot write {}: {error}", file.display()).into())
}
