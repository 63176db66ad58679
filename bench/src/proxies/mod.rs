//! Measures what a program in front of servers costs: `toolwire proxy` and `toolwire gateway`, nginx, and a relay that
//! decodes every message.
//!
//! The programs of a case are in front of the same servers. In each round, one after the other does the same work. The
//! program has a core of its own; the servers and the load share the other one, so only the CPU time of the program is
//! compared. nginx does not read messages: it is the limit. A ratio is computed within a round, and the median of the
//! rounds is used.

mod audit_log;
mod cases;
mod commands;
pub mod decoding_relay;
mod first_read;
mod gateways;
mod goals;
mod measure;
mod parked_calls;
mod report;

use std::io;
use std::path::PathBuf;
use std::process::Command;

use crate::comparison::Sample;
use crate::cores::Cores;
use crate::process::ServerProcess;

use self::cases::{CASES, Case, Servers, Work, share_of};
use self::commands::Commands;
pub use self::goals::MeasuredGoal;
use self::measure::{Measurement, MemoryBefore};
pub use self::report::{CaseFigures, ProgramFigures, Report};

/// A program under test, or a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Program {
    /// The server without a proxy.
    Direct,
    /// nginx as a reverse proxy.
    Nginx,
    /// A relay of hyper and reqwest that decodes every message.
    DecodingRelay,
    /// `toolwire proxy`.
    Toolwire,
    /// `toolwire proxy` that uses the legacy protocol with the server.
    ToolwireToLegacy,
    /// `toolwire proxy` that starts the server as a child process, and uses its standard input and output.
    ToolwireToStdio,
    /// One server with all tools of the servers behind a gateway.
    OwnServer,
    /// `toolwire gateway` without rules.
    Gateway,
    /// `toolwire gateway` with 100 rules, a rate limit and an audit log.
    GatewayWithRules,
    /// `limit-server`, which reads its standard input at once.
    StdioReader,
    /// `toolwire proxy`, whose client uses its standard input and output.
    ToolwireOnStdio,
}

impl Program {
    fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Nginx => "nginx",
            Self::DecodingRelay => "decoding relay",
            Self::Toolwire => "toolwire proxy",
            Self::ToolwireToLegacy => "to legacy",
            Self::ToolwireToStdio => "to stdio",
            Self::OwnServer => "own server",
            Self::Gateway => "gateway",
            Self::GatewayWithRules => "with rules",
            Self::StdioReader => "limit-server",
            Self::ToolwireOnStdio => "proxy on stdio",
        }
    }
}

/// The options of the run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// The number of rounds. Default: 5.
    pub rounds: usize,
    /// Only cases whose name contains one of these texts. All cases if it is empty.
    pub cases: Vec<String>,
    /// The divisor of the work per round. Default: 1.
    pub share: usize,
    /// The directory of the programs of this package and of `toolwire`.
    pub programs: PathBuf,
    /// The command of nginx. Without it, nginx is left out.
    pub nginx: Option<String>,
}

impl Options {
    /// Creates the options with the defaults.
    #[must_use]
    pub fn new(programs: PathBuf, nginx: Option<String>) -> Self {
        Self {
            rounds: 5,
            cases: Vec::new(),
            share: 1,
            programs,
            nginx,
        }
    }

    fn has(&self, case: &Case) -> bool {
        self.cases.is_empty() || self.cases.iter().any(|part| case.name.contains(part))
    }
}

/// Runs all cases. `start_case` is called with the name of each case.
///
/// # Errors
/// Returns an error if a program does not start, if a response is wrong, or if no case is selected.
pub async fn run(options: &Options, mut start_case: impl FnMut(&str)) -> io::Result<Report> {
    let commands = Commands::new(options)?;
    let cores = Cores::two();
    if let Some(cores) = cores {
        cores.pin_to_load_core();
    }
    let mut cases = Vec::new();
    for case in CASES.iter().filter(|case| options.has(case)) {
        start_case(case.name);
        let rounds = match case.work {
            Work::Starts(starts) => start_programs(case, starts, &commands, cores, options).await,
            _ => use_programs(case, &commands, cores, options).await,
        };
        cases.push(CaseFigures::of(case, &rounds.map_err(in_case(case))?));
    }
    if cases.is_empty() {
        let names: Vec<&str> = CASES.iter().map(|case| case.name).collect();
        let names = names.join("; ");
        return Err(io::Error::other(format!(
            "no such case; there are: {names}"
        )));
    }
    Ok(Report { cases })
}

fn in_case(case: &Case) -> impl FnOnce(io::Error) -> io::Error {
    let name = case.name;
    move |error| io::Error::other(format!("{name}: {error}"))
}

/// The samples of a round.
type Round = Vec<(Program, Sample)>;

/// A program that listens.
struct Listening {
    program: Program,
    /// `None` if it is the first server.
    process: Option<ServerProcess>,
    before: MemoryBefore,
}

/// Starts the programs of a case, which listen, and uses one after the other in each round.
async fn use_programs(
    case: &Case,
    commands: &Commands<'_>,
    cores: Option<Cores>,
    options: &Options,
) -> io::Result<Vec<Round>> {
    // Each of them has connections to the server, and the programs inherit the limit.
    if let (Work::ParkedCalls(count) | Work::IdleSessions(count), Servers::Demo(_)) =
        (case.work, case.servers)
    {
        crate::allow_open_files(parked_calls::open_files(share_of(count, options.share)))?;
    }
    let generator = options.programs.join("load-generator");
    let servers = commands.start_servers(case.servers).await?;
    let first = servers.first().expect("a case has a server");
    let mut programs = Vec::new();
    for &program in case.programs {
        let process = match program {
            Program::Direct => None,
            Program::OwnServer => {
                let command = commands.own_server(case.servers);
                Some(ServerProcess::start_on(command, cores).await?)
            }
            _ => match commands.listening(program, &servers)? {
                Some((command, url)) => Some(start_listening(command, url, cores).await?),
                None => continue,
            },
        };
        let subject = process.as_ref().unwrap_or(first);
        let before = MemoryBefore::of(subject, case.work, &generator);
        let before = before.await.map_err(of_program(program))?;
        programs.push(Listening {
            program,
            process,
            before,
        });
    }
    let mut rounds = Vec::new();
    for _ in 0..case.work.rounds(options.rounds) {
        let mut round = Vec::new();
        for listening in &programs {
            let measurement = Measurement {
                process: listening.process.as_ref().unwrap_or(first),
                before: listening.before,
                generator: &generator,
                audit_file: &commands.audit_file(),
                share: options.share,
            };
            let sample = measurement.run(case.work).await;
            let sample = sample.map_err(of_program(listening.program))?;
            round.push((listening.program, sample));
        }
        rounds.push(round);
    }
    let started = programs.into_iter().filter_map(|program| program.process);
    // The servers end after the programs that are connected to them.
    for process in started.chain(servers) {
        process.terminate().await?;
    }
    Ok(rounds)
}

/// Starts a program on the server core. Afterwards this thread is on the load core.
async fn start_listening(
    command: Command,
    url: String,
    cores: Option<Cores>,
) -> io::Result<ServerProcess> {
    if let Some(cores) = cores {
        cores.pin_to_server_core();
    }
    let started = ServerProcess::start_listening(command, url).await;
    if let Some(cores) = cores {
        cores.pin_to_load_core();
    }
    started
}

/// Starts each program of a case several times in each round.
async fn start_programs(
    case: &Case,
    starts: usize,
    commands: &Commands<'_>,
    cores: Option<Cores>,
    options: &Options,
) -> io::Result<Vec<Round>> {
    let servers = commands.start_servers(case.servers).await?;
    let starts = share_of(starts, options.share);
    let mut rounds = Vec::new();
    for _ in 0..case.work.rounds(options.rounds) {
        let mut round = Vec::new();
        for &program in case.programs {
            let command = || commands.reading(program, &servers);
            let sample = first_read::starts(command, cores, starts);
            round.push((program, sample.map_err(of_program(program))?));
        }
        rounds.push(round);
    }
    for server in servers {
        server.terminate().await?;
    }
    Ok(rounds)
}

fn of_program(program: Program) -> impl FnOnce(io::Error) -> io::Error {
    move |error| io::Error::other(format!("{}: {error}", program.name()))
}
