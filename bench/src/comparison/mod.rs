//! Compares toolwire with its peers and with the limit.
//!
//! All contestants of a case are started and run in alternate rounds, each in its own process on its own core. The load
//! runs on another core. A ratio is computed within a round, so that other load on the machine affects both sides, and
//! the median of the rounds is used. Times are reported and compared with the goals, but only wrong responses are
//! failures.

mod case;
mod cases;
mod client;
mod contest;
mod contestant;
mod counted;
mod goals;
pub(crate) mod http;
pub(crate) mod idle;
mod report;
pub(crate) mod sample;
mod size;
mod stdio;
mod table;

use std::io;
use std::path::PathBuf;

use self::case::Case;
use self::cases::CASES;
use self::contest::Contest;
pub use self::contestant::{Contestant, Lineup};
pub use self::report::{Absence, CaseReport, NotRun, OfSmallest, Report, Row};
pub use self::sample::Sample;
pub use self::size::Size;
use crate::cores::Cores;

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

/// Runs all cases. `on_case` is called with the description of each case before it runs.
///
/// # Errors
/// Returns an error if nothing can be measured. Errors of single contestants are in the report.
pub async fn run(lineup: &Lineup, options: &Options, on_case: impl Fn(&str)) -> io::Result<Report> {
    let cores = Cores::two();
    let mut cases = Vec::new();
    let mut not_run = Vec::new();
    for case in CASES.iter().filter(|case| options.has(case)) {
        on_case(case.about);
        if let Some(reason) = case.skip_reason() {
            let case = case.name;
            not_run.push(NotRun { case, reason });
            continue;
        }
        let contest = Contest::new(lineup, options, cores, case)?;
        cases.push(contest.run().await?);
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
