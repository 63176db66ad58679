//! Measures what a proxy in front of a server costs: `toolwire proxy`, nginx, and a relay that decodes every message.
//!
//! All of them forward to the same server. In each round, one after the other gets the same load. The proxy has a core of
//! its own; the server and the load share the other one, so only the CPU time of the proxy is compared. nginx does not
//! read messages: it is the limit. A ratio is computed within a round, and the median of the rounds is used.

mod cases;
mod commands;
pub mod decoding_relay;
mod report;

use std::io;
use std::path::PathBuf;

use crate::comparison::Sample;
use crate::comparison::http::round;
use crate::cores::Cores;
use crate::process::ServerProcess;

use self::cases::CASES;
use self::commands::Commands;
pub use self::report::{CaseFigures, Report};

/// A program under test, or the server itself.
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
}

impl Program {
    /// All of them, in the order of the report.
    pub const ALL: [Self; 6] = [
        Self::Direct,
        Self::Nginx,
        Self::DecodingRelay,
        Self::Toolwire,
        Self::ToolwireToLegacy,
        Self::ToolwireToStdio,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Nginx => "nginx",
            Self::DecodingRelay => "decoding relay",
            Self::Toolwire => "toolwire proxy",
            Self::ToolwireToLegacy => "to legacy",
            Self::ToolwireToStdio => "to stdio",
        }
    }
}

/// The options of the run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// The number of rounds. Default: 5.
    pub rounds: usize,
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
            share: 1,
            programs,
            nginx,
        }
    }
}

/// Starts the server and the proxies, and loads each of them. `start_case` is called with the name of each case.
///
/// # Errors
/// Returns an error if a program does not start, or if a response is wrong.
pub async fn run(options: &Options, mut start_case: impl FnMut(&str)) -> io::Result<Report> {
    let commands = Commands::new(options)?;
    let generator = options.programs.join("load-generator");
    let cores = Cores::two();
    if let Some(cores) = cores {
        cores.pin_to_load_core();
    }
    let server = ServerProcess::start_command(commands.server()).await?;
    let mut proxies = vec![(Program::Direct, server)];
    for proxy in Program::ALL {
        if let Some((command, url)) = commands.command(proxy, proxies[0].1.url())? {
            if let Some(cores) = cores {
                cores.pin_to_server_core();
            }
            let started = ServerProcess::start_listening(command, url).await;
            if let Some(cores) = cores {
                cores.pin_to_load_core();
            }
            proxies.push((proxy, started?));
        }
    }

    let mut cases = Vec::new();
    for case in &CASES {
        start_case(case.name);
        let plan = case.plan(options.share);
        let mut rounds = Vec::new();
        for _ in 0..options.rounds {
            let mut samples: Vec<(Program, Sample)> = Vec::new();
            for (proxy, process) in &proxies {
                if case.has(*proxy) {
                    let sample = round(&generator, process, &plan, None).await;
                    let named = |error| {
                        io::Error::other(format!("{}, {}: {error}", case.name, proxy.name()))
                    };
                    samples.push((*proxy, sample.map_err(named)?));
                }
            }
            rounds.push(samples);
        }
        cases.push(CaseFigures::of(case, &rounds));
    }
    for (_, process) in proxies {
        process.terminate().await?;
    }
    Ok(Report { cases })
}
