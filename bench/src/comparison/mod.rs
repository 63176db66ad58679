//! Compares toolwire with its peers and with the limit.
//!
//! All contestants of a case are started and run in alternate rounds, each in its own process on its own core. The load
//! runs on another core. A ratio is computed within a round, so that other load on the machine affects both sides, and
//! the median of the rounds is used. Times are reported and compared with the goals, but only wrong responses are
//! failures.

mod case;
mod client;
mod contestant;
mod counted;
mod goals;
mod http;
mod idle;
mod report;
mod sample;
mod stdio;
mod table;

use std::io;
use std::path::PathBuf;

use self::case::{Amounts, CASES, Case, CountedPath, HttpWork, Work};
pub use self::contestant::{Contestant, Lineup};
pub use self::report::{Absence, CaseReport, NotRun, Report, Row};
pub use self::sample::Sample;
use crate::cores::Cores;
use crate::load::Plan;
use crate::process::ServerProcess;

/// The number of rounds of slow contestants, whose figures differ much from all others.
const SLOW_ROUNDS: usize = 2;

/// The number of rounds of memory and counted cases, which vary little.
const STEADY_ROUNDS: usize = 1;

/// A start is short, and varies more than a thousand calls. It has this many times the rounds of other cases.
const FIRST_ANSWER_ROUNDS: usize = 10;

/// The number of seconds that a client calls in a round.
const CLIENT_SECONDS: u32 = 1;

/// One in this many calls is made before the measurement.
const WARM_UP_SHARE: usize = 10;

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
    /// The path of `load-generator`.
    pub generator: PathBuf,
}

impl Options {
    /// Creates options for all cases, with this load generator.
    #[must_use]
    pub fn new(generator: PathBuf) -> Self {
        Self {
            rounds: 5,
            cases: Vec::new(),
            share: 1,
            generator,
        }
    }

    fn has(&self, case: &Case) -> bool {
        self.cases.is_empty() || self.cases.iter().any(|part| case.name.contains(part))
    }
}

/// Returns the names of all cases.
pub fn case_names() -> impl Iterator<Item = &'static str> {
    CASES.iter().map(|case| case.name)
}

/// Runs all cases. `tell` is called with the name of each case.
///
/// # Errors
/// Returns an error if nothing can be measured. Errors of single contestants are in the report.
pub async fn run(lineup: &Lineup, options: &Options, tell: impl Fn(&str)) -> io::Result<Report> {
    let cores = Cores::two();
    let mut cases = Vec::new();
    let mut not_run = Vec::new();
    for case in CASES.iter().filter(|case| options.has(case)) {
        tell(case.about);
        if let Some(reason) = case.obstacle() {
            let case = case.name;
            not_run.push(NotRun { case, reason });
            continue;
        }
        let contest = Contest {
            lineup,
            options,
            cores,
            case,
        };
        cases.push(contest.hold().await?);
    }
    if cases.is_empty() && not_run.is_empty() {
        let names: Vec<&str> = case_names().collect();
        return Err(io::Error::other(format!(
            "no such case; there are {}",
            names.join(", ")
        )));
    }
    Ok(Report::new(options.rounds, lineup.absent(), not_run, cases))
}

/// One case and its contestants.
struct Contest<'a> {
    lineup: &'a Lineup,
    options: &'a Options,
    cores: Option<Cores>,
    case: &'a Case,
}

/// A contestant that is ready for the next round.
struct Entrant {
    contestant: Contestant,
    /// A server that runs through all rounds, if there is one.
    server: Option<ServerProcess>,
    resident_at_start: Option<u64>,
    row: Row,
}

impl Contest<'_> {
    async fn hold(&self) -> io::Result<CaseReport> {
        let target = match self.case.work {
            Work::Client { .. } => Some(self.start_fixed_server().await?),
            _ => None,
        };
        let mut entrants = Vec::new();
        for (contestant, tools) in self.places() {
            entrants.push(self.enter(contestant, tools).await);
        }
        for round in 0..self.rounds() {
            for entrant in &mut entrants {
                if entrant.row.trouble.is_some()
                    || (entrant.contestant.is_slow() && round >= SLOW_ROUNDS)
                {
                    continue;
                }
                match self.turn(entrant, target.as_ref()).await {
                    Ok(sample) => entrant.row.samples.push(sample),
                    Err(error) => entrant.row.trouble = Some(error.to_string()),
                }
            }
        }
        let rows = entrants.into_iter().map(|entrant| entrant.row).collect();
        Ok(CaseReport::new(self.case.name, self.case.about, rows))
    }

    fn rounds(&self) -> usize {
        match self.case.work {
            Work::Sessions(_) | Work::Streams(_) | Work::Counted(..) => {
                self.options.rounds.min(STEADY_ROUNDS)
            }
            Work::StdioFirstAnswer => self.options.rounds * FIRST_ANSWER_ROUNDS,
            _ => self.options.rounds,
        }
    }

    fn places(&self) -> Vec<(Contestant, Option<usize>)> {
        let tools: Vec<Option<usize>> = match &self.case.work {
            Work::Http(HttpWork { tools, .. })
            | Work::Counted(CountedPath::InProcess(tools), _)
                if tools.len() > 1 =>
            {
                tools.iter().copied().map(Some).collect()
            }
            _ => vec![None],
        };
        self.lineup
            .present()
            .flat_map(|contestant| tools.iter().map(move |tools| (contestant, *tools)))
            .collect()
    }

    /// Starts the servers that run through all rounds. A contestant that cannot start is in the report with the reason.
    async fn enter(&self, contestant: Contestant, tools: Option<usize>) -> Entrant {
        let command = match &self.case.work {
            Work::Http(work) => {
                let tools = tools.or(work.tools.first().copied()).unwrap_or_default();
                self.lineup.server(contestant, "http", tools)
            }
            Work::Sessions(_) => self.lineup.server(contestant, "http", 3),
            Work::Streams(_) => self.lineup.streams_server(contestant),
            // Each round has its own process.
            _ => None,
        };
        let mut entrant = Entrant {
            contestant,
            server: None,
            resident_at_start: None,
            row: Row::new(contestant, tools),
        };
        if let Some(command) = command {
            match self.start(command).await {
                Ok(server) => {
                    entrant.resident_at_start = server.memory().map(|memory| memory.resident);
                    entrant.server = Some(server);
                }
                Err(error) => entrant.row.trouble = Some(error.to_string()),
            }
        }
        entrant
    }

    async fn turn(&self, entrant: &Entrant, target: Option<&ServerProcess>) -> io::Result<Sample> {
        let contestant = entrant.contestant;
        let amount = |amounts: Amounts| amounts.of(contestant, self.options.share);
        let does_not_take_part = || io::Error::other(report::NOT_TAKING_PART);
        let server = || entrant.server.as_ref().ok_or_else(does_not_take_part);
        let stdio = || {
            let tools = 1;
            let command = self.lineup.server(contestant, "stdio", tools);
            command.ok_or_else(does_not_take_part)
        };
        self.stay_with_the_load();
        match self.case.work {
            Work::Http(work) => {
                let requests = amount(work.requests);
                let plan = Plan::new(work.workload, requests)
                    .with_connections(work.connections)
                    .with_warm_up(requests / WARM_UP_SHARE);
                let generator = &self.options.generator;
                http::turn(generator, server()?, &plan, entrant.resident_at_start).await
            }
            Work::StdioSequential(calls) => stdio::sequential(stdio()?, self.cores, amount(calls)),
            Work::StdioPipelined(calls) => stdio::pipelined(stdio()?, self.cores, amount(calls)),
            Work::StdioFirstAnswer => stdio::first_answer(stdio()?, self.cores),
            Work::Sessions(sessions) => idle::sessions(server()?, amount(sessions)).await,
            Work::Streams(streams) => idle::streams(server()?, amount(streams)).await,
            Work::Counted(path, calls) => {
                let counting = counted::counting(amount(calls)).on(self.cores);
                counted::turn(self.lineup, contestant, path, entrant.row.tools, counting).await
            }
            Work::Client { at_once } => {
                let url = target.ok_or_else(does_not_take_part)?.url();
                let seconds = CLIENT_SECONDS;
                let command = self.lineup.client(contestant, url, at_once, seconds);
                client::turn(command.ok_or_else(does_not_take_part)?).await
            }
        }
    }

    async fn start(&self, command: std::process::Command) -> io::Result<ServerProcess> {
        if let Work::Streams(streams) = self.case.work {
            // The server inherits the limit of open files.
            let most = streams.of(Contestant::Limit, self.options.share);
            crate::allow_open_files(most as u64 + 100)?;
        }
        ServerProcess::start_on(command, self.cores).await
    }

    /// The server that all clients call.
    async fn start_fixed_server(&self) -> io::Result<ServerProcess> {
        let directory = self.options.generator.parent();
        let ours = Lineup::ours(directory.unwrap_or(&self.options.generator));
        let command = ours.server(Contestant::Limit, "http", 3);
        self.start(command.expect("the limit is one of ours")).await
    }

    fn stay_with_the_load(&self) {
        if let Some(cores) = self.cores {
            cores.stay_with_the_load();
        }
    }
}
