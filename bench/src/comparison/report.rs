//! The results of a run.

use serde::Serialize;

use super::contestant::Contestant;
use super::sample::{Figure, Sample, median};
use super::size::Size;
use super::{goals, table};

/// The text for a contestant without a program for a case.
pub(crate) const NOT_TAKING_PART: &str = "does not take part";

/// The results of a run.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// The number of rounds.
    pub rounds: usize,
    /// The missing contestants.
    pub absent: Vec<Absence>,
    /// The selected cases that could not run, with the reason.
    pub not_run: Vec<NotRun>,
    /// The cases that were run.
    pub cases: Vec<CaseReport>,
}

/// A contestant that could not be built or started.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Absence {
    /// The contestant.
    pub contestant: Contestant,
    /// The reason.
    pub reason: String,
}

/// A case that could not run.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct NotRun {
    /// The name of the case.
    pub case: &'static str,
    /// The reason.
    pub reason: &'static str,
}

/// The results of one case.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct CaseReport {
    /// The name of the case.
    pub name: &'static str,
    /// The description of the case.
    pub about: &'static str,
    /// One row for each contestant, or several for several configurations.
    pub rows: Vec<Row>,
}

/// One contestant in one case.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Row {
    /// The contestant.
    pub contestant: Contestant,
    /// The size of the server, if it varies in this case.
    pub size: Option<Size>,
    /// The error, if any.
    pub trouble: Option<String>,
    /// The samples, one for each round.
    pub samples: Vec<Sample>,
    /// The median of the rounds.
    pub median: Sample,
    /// Requests per second, as a multiple of the limit.
    pub speed_of_limit: Option<f64>,
    /// CPU time of the limit, as a multiple of this contestant's: 1 is the cost of the limit.
    pub cpu_of_limit: Option<f64>,
    /// CPU time of rmcp, as a multiple of this contestant's.
    pub cpu_of_rmcp: Option<f64>,
    /// The figures as multiples of those of the smallest size of this contestant.
    pub of_smallest: Option<OfSmallest>,
}

/// The figures of a size as multiples of those of the smallest size.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct OfSmallest {
    /// Requests per second.
    pub per_second: Option<f64>,
    /// CPU time per request.
    pub cpu: Option<f64>,
    /// Instructions per request.
    pub instructions: Option<f64>,
}

impl Row {
    pub(crate) fn new(contestant: Contestant, size: Option<Size>) -> Self {
        Self {
            contestant,
            size,
            trouble: None,
            samples: Vec::new(),
            median: Sample::default(),
            speed_of_limit: None,
            cpu_of_limit: None,
            cpu_of_rmcp: None,
            of_smallest: None,
        }
    }
}

impl CaseReport {
    pub(crate) fn new(name: &'static str, about: &'static str, rows: Vec<Row>) -> Self {
        let mut case = Self { name, about, rows };
        let smallest = case.rows.first().and_then(|row| row.size);
        let ratios: Vec<_> = case
            .rows
            .iter()
            .map(|row| {
                let own = (row.contestant, row.size);
                let limit = (Contestant::Limit, row.size);
                let rmcp = (Contestant::Rmcp, row.size);
                let of_smallest = smallest.map(|smallest| {
                    let first = (row.contestant, Some(smallest));
                    OfSmallest {
                        per_second: case.ratio(own, first, |sample| sample.per_second),
                        cpu: case.ratio(own, first, |sample| sample.cpu_us),
                        instructions: case.ratio(own, first, |sample| sample.instructions),
                    }
                });
                (
                    case.ratio(own, limit, |sample| sample.per_second),
                    case.ratio(limit, own, |sample| sample.cpu_us),
                    case.ratio(rmcp, own, |sample| sample.cpu_us),
                    of_smallest,
                )
            })
            .collect();
        for (row, ratios) in case.rows.iter_mut().zip(ratios) {
            (
                row.speed_of_limit,
                row.cpu_of_limit,
                row.cpu_of_rmcp,
                row.of_smallest,
            ) = ratios;
            row.median = medians(&row.samples);
        }
        case
    }

    /// Returns the median over the rounds of one figure divided by another of the same round.
    pub(crate) fn ratio(
        &self,
        one: (Contestant, Option<Size>),
        other: (Contestant, Option<Size>),
        figure: Figure,
    ) -> Option<f64> {
        let row = |(contestant, size)| {
            self.rows
                .iter()
                .find(|row| row.contestant == contestant && row.size == size)
        };
        let (one, other) = (row(one)?, row(other)?);
        let ratios = one.samples.iter().zip(&other.samples);
        median(
            ratios
                .filter_map(|(one, other)| Some(figure(one)? / figure(other)?))
                .collect(),
        )
    }
}

fn medians(samples: &[Sample]) -> Sample {
    let of = |figure: Figure| median(samples.iter().filter_map(figure).collect());
    Sample {
        per_second: of(|sample| sample.per_second),
        p50_us: of(|sample| sample.p50_us),
        p99_us: of(|sample| sample.p99_us),
        cpu_us: of(|sample| sample.cpu_us),
        peak_bytes: of(|sample| sample.peak_bytes),
        growth_bytes: of(|sample| sample.growth_bytes),
        bytes_each: of(|sample| sample.bytes_each),
        first_answer_ms: of(|sample| sample.first_answer_ms),
        first_read_ms: of(|sample| sample.first_read_ms),
        instructions: of(|sample| sample.instructions),
        allocations: of(|sample| sample.allocations),
    }
}

impl Report {
    pub(crate) fn new(
        rounds: usize,
        absent: &[(Contestant, String)],
        not_run: Vec<NotRun>,
        cases: Vec<CaseReport>,
    ) -> Self {
        let absent = absent.iter().map(|(contestant, reason)| Absence {
            contestant: *contestant,
            reason: reason.clone(),
        });
        Self {
            rounds,
            absent: absent.collect(),
            not_run,
            cases,
        }
    }

    pub(crate) fn case(&self, name: &str) -> Option<&CaseReport> {
        self.cases.iter().find(|case| case.name == name)
    }

    /// Returns the violations: wrong responses and errors of toolwire or of the limits. A missed goal is not a
    /// violation.
    #[must_use]
    pub fn failures(&self) -> Vec<String> {
        let rows = self
            .cases
            .iter()
            .flat_map(|case| case.rows.iter().map(move |row| (case.name, row)));
        rows.filter(|(_, row)| row.contestant.is_ours())
            .filter_map(|(case, row)| {
                let error = row.trouble.as_ref()?;
                Some(format!("{case}: {}: {error}", row.contestant.name()))
            })
            .collect()
    }

    /// Formats the figures for people in Markdown, with the goals at the end.
    #[must_use]
    pub fn to_table(&self) -> String {
        table::of_report(self) + &goals::table(self)
    }
}
