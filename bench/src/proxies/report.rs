//! The results of a run.

use std::fmt::Write as _;

use serde::Serialize;

use super::Program;
use super::cases::{Case, Goal, Limit, Measure};
use crate::comparison::Sample;
use crate::comparison::sample::{Figure, median};

/// The results of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// The cases, in the order in which they ran.
    pub cases: Vec<CaseFigures>,
}

/// The figures of a case.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CaseFigures {
    /// The name of the case.
    pub name: &'static str,
    /// The goals, with the ratio that was measured.
    pub goals: Vec<MeasuredGoal>,
    /// The figures of each proxy.
    pub rows: Vec<ProgramFigures>,
}

/// A goal and its ratio: the median of the rounds.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct MeasuredGoal {
    goal: Goal,
    ratio: Option<f64>,
}

/// The medians of the rounds of a proxy.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ProgramFigures {
    /// The proxy.
    pub program: Program,
    /// CPU time of its process per request, in microseconds.
    pub cpu_us: Option<f64>,
    /// CPU time, as a multiple of nginx.
    pub cpu_of_nginx: Option<f64>,
    /// The median response time, in microseconds.
    pub p50_us: Option<f64>,
    /// Requests per second, as a share of the server without a proxy.
    pub throughput_of_direct: Option<f64>,
}

impl CaseFigures {
    pub(super) fn of(case: &Case, rounds: &[Vec<(Program, Sample)>]) -> Self {
        let of = |program: Program, figure: Figure| -> Vec<Option<f64>> {
            let sample = |round: &Vec<(Program, Sample)>| {
                let found = round.iter().find(|(other, _)| *other == program);
                found.and_then(|(_, sample)| figure(sample))
            };
            rounds.iter().map(sample).collect()
        };
        let ratio = |program: Program, base: Program, figure: Figure| {
            let pairs = of(program, figure).into_iter().zip(of(base, figure));
            median(
                pairs
                    .filter_map(|(value, base)| Some(value? / base?))
                    .collect(),
            )
        };
        let middle = |program, figure| {
            median(
                of(program, figure)
                    .into_iter()
                    .flatten()
                    .collect::<Vec<_>>(),
            )
        };
        let rows = Program::ALL.into_iter().map(|program| ProgramFigures {
            program,
            cpu_us: middle(program, CPU),
            cpu_of_nginx: ratio(program, Program::Nginx, CPU),
            p50_us: middle(program, MEDIAN_TIME),
            throughput_of_direct: ratio(program, Program::Direct, THROUGHPUT),
        });
        let goals = case.goals.iter().map(|goal| MeasuredGoal {
            goal: *goal,
            ratio: ratio(goal.program, goal.base, goal.measure.figure()),
        });
        Self {
            name: case.name,
            goals: goals.collect(),
            rows: rows.collect(),
        }
    }
}

const CPU: Figure = |sample| sample.cpu_us;
const MEDIAN_TIME: Figure = |sample| sample.p50_us;
const THROUGHPUT: Figure = |sample| sample.per_second;

impl Measure {
    fn figure(self) -> Figure {
        match self {
            Self::Cpu => CPU,
            Self::MedianTime => MEDIAN_TIME,
            Self::Throughput => THROUGHPUT,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Cpu => "CPU time",
            Self::MedianTime => "median response time",
            Self::Throughput => "throughput",
        }
    }
}

impl MeasuredGoal {
    /// Returns the missed goal, as a sentence. A figure that could not be measured is not a missed goal.
    fn failure(&self, case: &str) -> Option<String> {
        let ratio = self.ratio?;
        let (is_missed, words, limit) = match self.goal.limit {
            Limit::AtMost(limit) => (ratio > limit, "more", limit),
            Limit::AtLeast(limit) => (ratio < limit, "less", limit),
        };
        is_missed.then(|| {
            let (program, base) = (self.goal.program.name(), self.goal.base.name());
            let measure = self.goal.measure.name();
            format!(
                "{case}: the {measure} of {program} is {ratio:.2} of {base}, {words} than {limit}"
            )
        })
    }
}

impl Report {
    /// Returns the missed goals, one line each.
    #[must_use]
    pub fn failures(&self) -> Vec<String> {
        let goals = self.cases.iter().flat_map(|case| {
            let goals = case.goals.iter();
            goals.filter_map(|goal| goal.failure(case.name))
        });
        goals.collect()
    }

    /// Formats the figures for people.
    #[must_use]
    pub fn to_table(&self) -> String {
        let mut text = String::new();
        for case in &self.cases {
            let _ = writeln!(
                text,
                "\n{}\n{:16}{:>12}{:>10}{:>12}{:>18}",
                case.name, "", "CPU, µs", "of nginx", "p50, µs", "calls, of direct"
            );
            for row in &case.rows {
                if row.p50_us.is_none() {
                    continue;
                }
                let number = |value: Option<f64>, digits: usize| {
                    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
                };
                // The figures of the server are not those of a proxy.
                let is_proxy = row.program != Program::Direct;
                let _ = writeln!(
                    text,
                    "{:16}{:>12}{:>10}{:>12}{:>18}",
                    row.program.name(),
                    number(row.cpu_us.filter(|_| is_proxy), 1),
                    number(row.cpu_of_nginx.filter(|_| is_proxy), 2),
                    number(row.p50_us, 1),
                    number(row.throughput_of_direct, 2),
                );
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::super::cases::CASES;
    use super::*;

    fn sample(cpu_us: f64, per_second: f64) -> Sample {
        Sample {
            cpu_us: Some(cpu_us),
            p50_us: Some(cpu_us * 2.0),
            per_second: Some(per_second),
            ..Sample::default()
        }
    }

    fn figures(toolwire_us: f64) -> CaseFigures {
        let rounds = [vec![
            (Program::Direct, sample(9.0, 1000.0)),
            (Program::Nginx, sample(10.0, 500.0)),
            (Program::Toolwire, sample(toolwire_us, 400.0)),
        ]];
        CaseFigures::of(&CASES[0], &rounds)
    }

    #[test]
    fn ratios_are_those_of_a_round() {
        let figures = figures(25.0);
        let mut rows = figures.rows.iter();
        let row = rows
            .find(|row| row.program == Program::Toolwire)
            .expect("its row");
        assert_eq!(row.cpu_of_nginx, Some(2.5));
        assert_eq!(row.throughput_of_direct, Some(0.4));
        let table = Report {
            cases: vec![figures],
        }
        .to_table();
        assert!(table.contains("toolwire proxy"), "{table}");
        assert!(!table.contains("decoding relay"), "{table}");
    }

    #[test]
    fn missed_goal_is_a_failure() {
        let failures = |toolwire_us| {
            Report {
                cases: vec![figures(toolwire_us)],
            }
            .failures()
        };
        assert_eq!(failures(25.0), Vec::<String>::new());
        assert_eq!(
            failures(30.0),
            [
                "small call, 32 connections: the CPU time of toolwire proxy is 3.00 of nginx, more than 2.5"
            ]
        );
    }
}
