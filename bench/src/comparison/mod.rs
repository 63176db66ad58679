//! Toolwire beside its peers and beside what is possible.
//!
//! All contestants of a case are started, and take turns for several rounds, each in a process of its own on a core of its
//! own; the load runs on another. A ratio is formed inside a round, so that a busy machine treats both sides alike, and the
//! median of the rounds counts. Times are reported and compared with the goals, but only wrong answers are failures.

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

/// Rounds of contestants that are slow; their figures are far from all others.
const SLOW_ROUNDS: usize = 2;

/// Rounds of what is told by memory or counted, which varies little.
const STEADY_ROUNDS: usize = 1;

/// A start takes little time, and differs more from the next than a thousand calls do from the next thousand: so many times
/// the rounds of others.
const FIRST_ANSWER_ROUNDS: usize = 10;

/// For how many seconds a client calls in a turn.
const CLIENT_SECONDS: u32 = 1;

/// Calls before those that are measured are one in so many.
const WARM_UP_SHARE: usize = 10;

/// What is run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// How often everybody has a turn. 5.
    pub rounds: usize,
    /// Only cases whose name contains one of these; all when there are none.
    pub cases: Vec<String>,
    /// By what the work of a turn is divided. 1.
    pub share: usize,
    /// Where `load-generator` is.
    pub generator: PathBuf,
}

impl Options {
    /// Everything, with the generator that lies here.
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

/// The names of all cases.
pub fn case_names() -> impl Iterator<Item = &'static str> {
    CASES.iter().map(|case| case.name)
}

/// Runs everything; `tell` hears which case comes next.
///
/// # Errors
/// When nothing can be measured at all. What goes wrong with single contestants is in the report.
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

/// One case and everybody in it.
struct Contest<'a> {
    lineup: &'a Lineup,
    options: &'a Options,
    cores: Option<Cores>,
    case: &'a Case,
}

/// Somebody who is ready for the next turn.
struct Entrant {
    contestant: Contestant,
    /// A server that runs through all rounds, where there is one.
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

    /// Starts what runs through all rounds. Whoever cannot start is in the report with the reason.
    async fn enter(&self, contestant: Contestant, tools: Option<usize>) -> Entrant {
        let command = match &self.case.work {
            Work::Http(work) => {
                let tools = tools.or(work.tools.first().copied()).unwrap_or_default();
                self.lineup.server(contestant, "http", tools)
            }
            Work::Sessions(_) => self.lineup.server(contestant, "http", 3),
            Work::Streams(_) => self.lineup.streams_server(contestant),
            // A process of its own for each turn.
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
            // The server inherits it.
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
