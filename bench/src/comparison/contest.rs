//! One case: its contestants are started and run in alternate rounds.

use std::io;
use std::process::Command;

use super::case::{Amounts, Case, HttpServer, HttpWork, Work};
use super::contestant::{Contestant, Lineup};
use super::report::{CaseReport, NOT_TAKING_PART, Row};
use super::sample::Sample;
use super::size::Size;
use super::{Options, client, counted, http, idle, stdio};
use crate::certificate::Certificate;
use crate::cores::Cores;
use crate::load::Plan;
use crate::process::ServerProcess;

/// The number of rounds of slow contestants, whose figures differ much from all others.
const SLOW_ROUNDS: usize = 2;

/// The number of rounds of memory and counted cases, which vary little.
const STEADY_ROUNDS: usize = 1;

/// The number of rounds with many streams, because opening the streams takes longer than the measured part.
const STREAMS_ROUNDS: usize = 3;

/// The factor of the number of rounds of cases that measure a start, because a single start varies much.
const FIRST_RESPONSE_ROUNDS: usize = 10;

/// The number of seconds that a client calls in a round.
const CLIENT_SECONDS: u32 = 1;

/// The variable with the number of worker threads, which tokio reads.
const WORKER_THREADS: &str = "TOKIO_WORKER_THREADS";

/// One in this many calls is made before the measurement.
pub(super) const WARM_UP_SHARE: usize = 10;

/// One case and its contestants.
pub(super) struct Contest<'a> {
    lineup: &'a Lineup,
    options: &'a Options,
    cores: Option<Cores>,
    case: &'a Case,
    /// The certificate of all servers, if they have TLS.
    certificate: Option<Certificate>,
}

/// A contestant that is ready for the next round.
struct Entrant {
    contestant: Contestant,
    /// A server that runs through all rounds, if there is one.
    server: Option<ServerProcess>,
    resident_at_start: Option<u64>,
    row: Row,
}

impl<'a> Contest<'a> {
    pub(super) fn new(
        lineup: &'a Lineup,
        options: &'a Options,
        cores: Option<Cores>,
        case: &'a Case,
    ) -> io::Result<Self> {
        let certificate = match case.work {
            Work::Http(work) if work.server == HttpServer::Tls => Some(Certificate::create()?),
            _ => None,
        };
        Ok(Self {
            lineup,
            options,
            cores,
            case,
            certificate,
        })
    }

    pub(super) async fn run(&self) -> io::Result<CaseReport> {
        let target = match self.case.work {
            Work::Client { .. } => Some(self.start_fixed_server().await?),
            _ => None,
        };
        let mut entrants = Vec::new();
        for (contestant, size) in self.entries() {
            entrants.push(self.prepare(contestant, size).await);
        }
        for round in 0..self.rounds() {
            for entrant in &mut entrants {
                if entrant.row.trouble.is_some()
                    || (entrant.contestant.is_slow() && round >= SLOW_ROUNDS)
                {
                    continue;
                }
                match self.run_round(entrant, target.as_ref()).await {
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
            Work::Sessions(_) | Work::Streams { changes: 1, .. } | Work::Counted(..) => {
                self.options.rounds.min(STEADY_ROUNDS)
            }
            Work::Streams { .. } => self.options.rounds.min(STREAMS_ROUNDS),
            Work::Http(work) if work.server == HttpServer::Streams => {
                self.options.rounds.min(STREAMS_ROUNDS)
            }
            Work::StdioFirstResponse => self.options.rounds * FIRST_RESPONSE_ROUNDS,
            _ => self.options.rounds,
        }
    }

    fn entries(&self) -> Vec<(Contestant, Option<Size>)> {
        let sizes = self.case.sizes().iter();
        let mut sizes: Vec<Option<Size>> = sizes
            .map(|size| Some(size.divided(self.options.share)))
            .collect();
        sizes.dedup();
        if sizes.is_empty() {
            sizes.push(None);
        }
        self.lineup
            .present()
            .filter(|contestant| self.case.takes_part(*contestant))
            .flat_map(|contestant| sizes.iter().map(move |size| (contestant, *size)))
            .collect()
    }

    /// Starts the servers that run through all rounds. A contestant that cannot start is in the report with the reason.
    async fn prepare(&self, contestant: Contestant, size: Option<Size>) -> Entrant {
        let command = match &self.case.work {
            Work::Http(work) => self.http_server(work, contestant, size),
            Work::Sessions(_) => self.lineup.server(contestant, "http", 3),
            Work::Streams { .. } => self.lineup.streams_server(contestant),
            // Each round has its own process.
            _ => None,
        };
        let mut entrant = Entrant {
            contestant,
            server: None,
            resident_at_start: None,
            row: Row::new(contestant, size),
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

    fn http_server(
        &self,
        work: &HttpWork,
        contestant: Contestant,
        size: Option<Size>,
    ) -> Option<Command> {
        let tools = size.and_then(Size::tools).unwrap_or(work.tools);
        let mut command = match work.server {
            HttpServer::Plain => self.lineup.server(contestant, "http", tools),
            HttpServer::Streams => self.lineup.streams_server(contestant),
            HttpServer::Http2 => self.lineup.http2_server(contestant, tools),
            HttpServer::Tls => {
                let certificate = self.certificate.as_ref()?;
                self.lineup.tls_server(contestant, tools, certificate)
            }
        }?;
        if let Some(Size::Threads(threads)) = size {
            command.env(WORKER_THREADS, threads.to_string());
        }
        Some(command)
    }

    async fn run_round(
        &self,
        entrant: &Entrant,
        target: Option<&ServerProcess>,
    ) -> io::Result<Sample> {
        let contestant = entrant.contestant;
        let amount = |amounts: Amounts| amounts.of(contestant, self.options.share);
        let does_not_take_part = || io::Error::other(NOT_TAKING_PART);
        let server = || entrant.server.as_ref().ok_or_else(does_not_take_part);
        let stdio = || {
            let tools = 1;
            let command = self.lineup.server(contestant, "stdio", tools);
            command.ok_or_else(does_not_take_part)
        };
        self.pin_load();
        match self.case.work {
            Work::Http(work) => {
                let requests = amount(work.requests);
                let mut plan = Plan::new(work.workload, requests)
                    .with_protocol(work.protocol)
                    .with_trusted(self.certificate.as_ref().map(Certificate::certificate))
                    .with_connections(work.connections)
                    .with_warm_up(requests / WARM_UP_SHARE);
                if let Some(size) = entrant.row.size {
                    let round = entrant.row.samples.len();
                    plan = size.add_to(plan, round, self.rounds());
                }
                let generator = &self.options.generator;
                http::round(generator, server()?, &plan, entrant.resident_at_start).await
            }
            Work::StdioSequential(calls) => stdio::sequential(stdio()?, self.cores, amount(calls)),
            Work::StdioPipelined(calls) => stdio::pipelined(stdio()?, self.cores, amount(calls)),
            Work::StdioFirstResponse => stdio::first_response(stdio()?, self.cores),
            Work::Sessions(sessions) => idle::sessions(server()?, amount(sessions)).await,
            Work::Streams { streams, changes } => {
                idle::streams(server()?, amount(streams), changes).await
            }
            Work::Counted(path, calls) => {
                let counting = counted::counting(amount(calls)).on(self.cores);
                counted::round(self.lineup, contestant, path, entrant.row.size, counting).await
            }
            Work::Client { at_once } => {
                let url = target.ok_or_else(does_not_take_part)?.url();
                let seconds = CLIENT_SECONDS;
                let command = self.lineup.client(contestant, url, at_once, seconds);
                client::round(command.ok_or_else(does_not_take_part)?).await
            }
        }
    }

    async fn start(&self, command: Command) -> io::Result<ServerProcess> {
        if let Some(files) = self.case.open_files(self.options.share) {
            // The server inherits the limit of open files.
            crate::allow_open_files(files)?;
        }
        if self.case.uses_all_cores() {
            self.pin_load();
            return ServerProcess::start_command(command).await;
        }
        ServerProcess::start_on(command, self.cores).await
    }

    /// Starts the server that all clients call.
    async fn start_fixed_server(&self) -> io::Result<ServerProcess> {
        let directory = self.options.generator.parent();
        let ours = Lineup::ours(directory.unwrap_or(&self.options.generator));
        let command = ours.server(Contestant::Limit, "http", 3);
        self.start(command.expect("the limit is one of ours")).await
    }

    fn pin_load(&self) {
        match self.cores {
            Some(cores) if self.case.uses_all_cores() => cores.use_all(),
            Some(cores) => cores.pin_to_load_core(),
            None => {}
        }
    }
}
