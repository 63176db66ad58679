//! The benchmarks as a command. `cargo xtask bench` builds and runs it.

use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Args, Parser, Subcommand};
use serde::Serialize;
use toolwire_bench::comparison::{self, Contestant, Lineup};
#[cfg(unix)]
use toolwire_bench::fleet;
use toolwire_bench::{ServerProcess, allow_open_files, http_clients, proxies, streams, tasks};

/// Benchmarks of toolwire.
#[derive(Debug, Parser)]
#[command(name = "toolwire-bench", arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    benchmark: Benchmark,
}

#[derive(Debug, Subcommand)]
enum Benchmark {
    /// Compare toolwire with its peers and with the limit
    Peers(PeersArguments),
    /// Open many idle `subscriptions/listen` streams and deliver changes to all of them
    Streams(StreamsArguments),
    /// Make small calls with toolwire's HTTP client and with reqwest
    HttpClients(HttpClientsArguments),
    /// Create many tasks that wait for input, poll them, and compare a poll with a small call
    Tasks(TasksArguments),
    /// Compare `toolwire proxy` with nginx and with a relay that decodes every message, and measure `toolwire gateway`
    Proxy(ProxyArguments),
    /// Measure three nodes that share a Redis or Valkey
    #[cfg(unix)]
    Fleet(FleetArguments),
}

#[derive(Debug, Args)]
struct PeersArguments {
    /// Run only cases whose name contains this; may be repeated
    #[arg(long, value_name = "NAME")]
    case: Vec<String>,
    /// Run only these contestants; may be repeated
    #[arg(long, value_enum, value_name = "NAME")]
    contestant: Vec<Contestant>,
    /// The number of rounds
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Do a fifth of the work in at most 3 rounds, for a first impression
    #[arg(long)]
    quick: bool,
    /// Also write the figures to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// The directory of this package's programs before a change; they take part as `before`
    #[arg(long, value_name = "DIRECTORY")]
    before: Option<PathBuf>,
    /// The directory of `rmcp-server` and `rmcp-client`
    #[arg(long, value_name = "DIRECTORY")]
    rmcp: Option<PathBuf>,
    /// The server on the TypeScript SDK, for Node.js
    #[arg(long, value_name = "SCRIPT")]
    typescript: Option<PathBuf>,
    /// The server on the Python SDK
    #[arg(long, value_name = "SCRIPT", requires = "python_program")]
    python: Option<PathBuf>,
    /// The Python with the SDK
    #[arg(long, value_name = "PROGRAM")]
    python_program: Option<PathBuf>,
    /// The reason why a contestant is missing, such as `rmcp=cannot be built`; may be repeated
    #[arg(long, value_name = "NAME=REASON", value_parser = absence)]
    absent: Vec<(Contestant, String)>,
}

fn absence(text: &str) -> Result<(Contestant, String), String> {
    let (name, reason) = text.split_once('=').ok_or("a `=` is missing")?;
    let contestant = Contestant::ALL
        .into_iter()
        .find(|contestant| contestant.name() == name)
        .ok_or_else(|| format!("there is no contestant `{name}`"))?;
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
    /// The number of streams
    #[arg(long, default_value_t = 10_000)]
    streams: usize,
    /// The number of changes
    #[arg(long, default_value_t = 1)]
    changes: usize,
    /// The number of seconds that the streams are idle
    #[arg(long, default_value_t = 5)]
    idle: u64,
    /// The number of seconds that opening the streams may take, and also each delivery
    #[arg(long, default_value_t = 60)]
    deadline: u64,
    /// The maximum memory of the server
    #[arg(long, default_value_t = 400)]
    limit_mib: u64,
    /// Also write the figures to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct HttpClientsArguments {
    /// The number of calls per round
    #[arg(long, default_value_t = 20_000)]
    calls: usize,
    /// The number of concurrent calls in the concurrent rounds
    #[arg(long, default_value_t = 64)]
    at_once: usize,
    /// The number of rounds per client; the best one is used
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// The minimum speed of toolwire's client, as a multiple of reqwest
    #[arg(long, default_value_t = 0.8)]
    least_ratio: f64,
    /// Also write the figures to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct TasksArguments {
    /// The number of tasks
    #[arg(long, default_value_t = 10_000)]
    tasks: usize,
    /// The number of polls, and of calls, per round
    #[arg(long, default_value_t = 50_000)]
    requests: usize,
    /// The number of rounds; the best one is used
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// The number of seconds that the tasks only wait
    #[arg(long, default_value_t = 12)]
    idle: u64,
    /// Let the handlers leave the memory at once, instead of after 10 minutes
    #[arg(long)]
    parked: bool,
    /// The maximum memory of a task, in bytes; 4,096 if it is parked, otherwise 12,288
    #[arg(long)]
    limit_bytes: Option<u64>,
    /// The maximum CPU time of a poll of one of a few tasks, as a multiple of a small call
    #[arg(long, default_value_t = 1.2)]
    most_ratio: f64,
    /// Also write the figures to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct ProxyArguments {
    /// Run only cases whose name contains this; may be repeated
    #[arg(long, value_name = "NAME")]
    case: Vec<String>,
    /// The number of rounds
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Do a fifth of the work in at most 3 rounds, for a first impression
    #[arg(long)]
    quick: bool,
    /// The command of nginx
    #[arg(long, value_name = "COMMAND", default_value = "nginx")]
    nginx: String,
    /// Also write the figures to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[cfg(unix)]
#[derive(Debug, Args)]
struct FleetArguments {
    /// The number of repetitions of each operation whose commands are counted
    #[arg(long, default_value_t = 20)]
    repetitions: u32,
    /// The number of seconds that the nodes are idle
    #[arg(long, default_value_t = 16)]
    idle: u64,
    /// The number of changes
    #[arg(long, default_value_t = 1_000)]
    changes: usize,
    /// The number of requests per round
    #[arg(long, default_value_t = 20_000)]
    requests: usize,
    /// The number of rounds; the best one is used
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// The number of idle sessions, and of streamed calls
    #[arg(long, default_value_t = 5_000)]
    sessions: usize,
    /// The number of seconds after which a step fails that does not end
    #[arg(long, default_value_t = 300)]
    timeout: u64,
    /// The maximum memory of an idle session in the engine, in bytes
    #[arg(long, default_value_t = 1024)]
    limit_bytes: u64,
    /// Also write the figures to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

fn main() -> ExitCode {
    let Arguments { benchmark } = Arguments::parse();
    let outcome = match benchmark {
        Benchmark::Peers(arguments) => run_peers(&arguments),
        Benchmark::Streams(arguments) => run_streams(&arguments),
        Benchmark::HttpClients(arguments) => run_http_clients(&arguments),
        Benchmark::Tasks(arguments) => run_tasks(&arguments),
        Benchmark::Proxy(arguments) => run_proxy(&arguments),
        #[cfg(unix)]
        Benchmark::Fleet(arguments) => run_fleet(&arguments),
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
    let start = Instant::now();
    let print_case = |case: &str| eprintln!("{:>4} s  {case}", start.elapsed().as_secs());
    let report = runtime.block_on(comparison::run(&lineup, &options, print_case))?;
    write!(std::io::stdout(), "{}", report.to_table())?;
    if let Some(file) = &arguments.json {
        write_json(file, &report)?;
    }
    Ok(report.failures())
}

fn run_streams(arguments: &StreamsArguments) -> Result<Vec<String>, Box<dyn Error>> {
    let mut options = streams::Options::default();
    options.streams = arguments.streams;
    options.changes = arguments.changes;
    options.idle = Duration::from_secs(arguments.idle);
    options.deadline = Duration::from_secs(arguments.deadline);
    // The server inherits the limit of open files.
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

fn run_tasks(arguments: &TasksArguments) -> Result<Vec<String>, Box<dyn Error>> {
    let mut options = tasks::Options::default();
    options.tasks = arguments.tasks;
    options.requests = arguments.requests;
    options.rounds = arguments.rounds;
    options.idle = Duration::from_secs(arguments.idle);
    let mut command = std::process::Command::new(beside_this_program("task-server")?);
    if arguments.parked {
        command.arg("parked");
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let report = runtime.block_on(async {
        let server = ServerProcess::start_command(command).await?;
        tasks::run(&server, &options).await
    })?;
    write!(std::io::stdout(), "{}", report.to_table())?;
    if let Some(file) = &arguments.json {
        write_json(file, &report)?;
    }
    let limit_bytes = arguments
        .limit_bytes
        .unwrap_or(if arguments.parked { 4096 } else { 12_288 });
    Ok(report.failures(limit_bytes, arguments.most_ratio))
}

fn run_proxy(arguments: &ProxyArguments) -> Result<Vec<String>, Box<dyn Error>> {
    let generator = beside_this_program("load-generator")?;
    let programs = generator.parent().unwrap_or(&generator).to_owned();
    let mut options = proxies::Options::new(programs, Some(arguments.nginx.clone()));
    options.rounds = arguments.rounds;
    options.cases.clone_from(&arguments.case);
    if arguments.quick {
        options.rounds = options.rounds.min(3);
        options.share = 5;
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let start = Instant::now();
    let print_case = |case: &str| eprintln!("{:>4} s  {case}", start.elapsed().as_secs());
    let report = runtime.block_on(proxies::run(&options, print_case))?;
    write!(std::io::stdout(), "{}", report.to_table())?;
    if let Some(file) = &arguments.json {
        write_json(file, &report)?;
    }
    Ok(report.failures())
}

#[cfg(unix)]
fn run_fleet(arguments: &FleetArguments) -> Result<Vec<String>, Box<dyn Error>> {
    let mut options = fleet::Options::default();
    options.repetitions = arguments.repetitions;
    options.idle = Duration::from_secs(arguments.idle);
    options.changes = arguments.changes;
    options.requests = arguments.requests;
    options.rounds = arguments.rounds;
    options.sessions = arguments.sessions;
    options.timeout = Duration::from_secs(arguments.timeout);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let program = beside_this_program("fleet-server")?;
    let report = runtime.block_on(fleet::run(&program, &options))?;
    write!(std::io::stdout(), "{}", report.to_table())?;
    if let Some(file) = &arguments.json {
        write_json(file, &report)?;
    }
    Ok(report.failures(arguments.limit_bytes))
}

/// Returns the path of a program that is built together with this one.
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
