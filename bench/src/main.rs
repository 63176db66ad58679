//! The benchmarks as a command; `cargo xtask bench` builds and runs it.

use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Args, Parser, Subcommand};
use serde::Serialize;
use toolwire_bench::comparison::{self, Contestant, Lineup};
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
    /// Toolwire beside its peers and beside what is possible
    Peers(PeersArguments),
    /// Many idle `subscriptions/listen` streams, and one change delivered to all of them
    Streams(StreamsArguments),
    /// Small calls over the HTTP that comes with the client, and over reqwest
    HttpClients(HttpClientsArguments),
}

#[derive(Debug, Args)]
struct PeersArguments {
    /// Only cases whose name contains this; may be given several times
    #[arg(long, value_name = "NAME")]
    case: Vec<String>,
    /// Only these contestants; may be given several times
    #[arg(long, value_enum, value_name = "NAME")]
    contestant: Vec<Contestant>,
    /// How often everybody has a turn
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// A fifth of the work and 3 rounds at most: for a first look
    #[arg(long)]
    quick: bool,
    /// Write the figures to this file as well
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Where the programs of this package are as they were before a change; they take part as `before`
    #[arg(long, value_name = "DIRECTORY")]
    before: Option<PathBuf>,
    /// Where `rmcp-server` and `rmcp-client` are
    #[arg(long, value_name = "DIRECTORY")]
    rmcp: Option<PathBuf>,
    /// The server on the TypeScript SDK, which node runs
    #[arg(long, value_name = "SCRIPT")]
    typescript: Option<PathBuf>,
    /// The server on the Python SDK
    #[arg(long, value_name = "SCRIPT", requires = "python_program")]
    python: Option<PathBuf>,
    /// The Python that has the SDK
    #[arg(long, value_name = "PROGRAM")]
    python_program: Option<PathBuf>,
    /// Why a contestant is missing, as `rmcp=cannot be built`; may be given several times
    #[arg(long, value_name = "NAME=REASON", value_parser = absence)]
    absent: Vec<(Contestant, String)>,
}

fn absence(text: &str) -> Result<(Contestant, String), String> {
    let (name, reason) = text.split_once('=').ok_or("a `=` is missing")?;
    let contestant = Contestant::ALL
        .into_iter()
        .find(|contestant| contestant.name() == name)
        .ok_or_else(|| format!("nobody is called `{name}`"))?;
    Ok((contestant, reason.to_owned()))
}

impl PeersArguments {
    fn lineup(&self, ours: &Path) -> Lineup {
        let mut lineup = Lineup::ours(ours);
        if let Some(directory) = &self.before {
            lineup = lineup.with_before(directory);
        }
        if let Some(directory) = &self.rmcp {
            lineup = lineup.with_rmcp(directory);
        }
        if let Some(script) = &self.typescript {
            lineup = lineup.with_script(Contestant::Typescript, Path::new("node"), script);
        }
        if let (Some(script), Some(program)) = (&self.python, &self.python_program) {
            lineup = lineup.with_script(Contestant::Python, program, script);
        }
        for (contestant, reason) in &self.absent {
            lineup = lineup.without(*contestant, reason);
        }
        if self.contestant.is_empty() {
            lineup
        } else {
            lineup.only(&self.contestant)
        }
    }
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
        Benchmark::Peers(arguments) => run_peers(&arguments),
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

fn run_peers(arguments: &PeersArguments) -> Result<Vec<String>, Box<dyn Error>> {
    let generator = beside_this_program("load-generator")?;
    let lineup = arguments.lineup(generator.parent().unwrap_or(&generator));
    let mut options = comparison::Options::new(generator);
    options.rounds = arguments.rounds;
    options.cases.clone_from(&arguments.case);
    if arguments.quick {
        options.rounds = options.rounds.min(3);
        options.share = 5;
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let began = Instant::now();
    let tell = |case: &str| eprintln!("{:>4} s  {case}", began.elapsed().as_secs());
    let report = runtime.block_on(comparison::run(&lineup, &options, tell))?;
    write!(std::io::stdout(), "{}", report.to_table())?;
    if let Some(file) = &arguments.json {
        write_json(file, &report)?;
    }
    Ok(report.failures())
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
