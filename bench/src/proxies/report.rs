//! The results of a run.

use std::fmt::Write as _;

use serde::Serialize;

use super::Program;
use super::cases::Case;
use super::goals::{Measure, MeasuredGoal, figures};
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
    /// The goals, with what was measured.
    pub goals: Vec<MeasuredGoal>,
    /// The figures of each program.
    pub rows: Vec<ProgramFigures>,
}

/// The medians of the rounds of a program. Figures that a case does not measure are absent.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ProgramFigures {
    /// The program.
    pub program: Program,
    /// CPU time of its process per request, in microseconds. Absent for the server behind a proxy, which shares its core
    /// with the load.
    pub cpu_us: Option<f64>,
    /// CPU time, as a multiple of nginx.
    pub cpu_of_nginx: Option<f64>,
    /// The median response time, in microseconds.
    pub p50_us: Option<f64>,
    /// Requests per second, as a share of the server without a proxy.
    pub throughput_of_direct: Option<f64>,
    /// The memory of one connection, session or call, in bytes.
    pub bytes_each: Option<f64>,
    /// The increase of the memory during the work, in bytes.
    pub growth_bytes: Option<f64>,
    /// The time from the start of the process until it has read the first byte of its standard input, in milliseconds.
    pub first_read_ms: Option<f64>,
}

/// A column of the table of a case, which is left out if no program has the figure.
struct Column {
    title: &'static str,
    digits: usize,
    figure: fn(&ProgramFigures) -> Option<f64>,
}

const COLUMNS: [Column; 7] = [
    Column::new("CPU, µs", 1, |row| row.cpu_us),
    Column::new("of nginx", 2, |row| row.cpu_of_nginx),
    Column::new("p50, µs", 1, |row| row.p50_us),
    Column::new("calls, of direct", 2, |row| row.throughput_of_direct),
    Column::new("bytes each", 0, |row| row.bytes_each),
    Column::new("growth, bytes", 0, |row| row.growth_bytes),
    Column::new("first read, ms", 2, |row| row.first_read_ms),
];

impl Column {
    const fn new(
        title: &'static str,
        digits: usize,
        figure: fn(&ProgramFigures) -> Option<f64>,
    ) -> Self {
        Self {
            title,
            digits,
            figure,
        }
    }
}

impl CaseFigures {
    pub(super) fn of(case: &Case, rounds: &[Vec<(Program, Sample)>]) -> Self {
        let ratio = |program: Program, base: Program, figure: Figure| {
            let values = figures(rounds, program, figure).into_iter();
            let pairs = values.zip(figures(rounds, base, figure));
            let ratios = pairs.filter_map(|(value, base)| Some(value? / base?));
            median(ratios.collect())
        };
        let middle = |program, figure| {
            let values = figures(rounds, program, figure);
            median(values.into_iter().flatten().collect())
        };
        let rows = case.programs.iter().map(|&program| {
            let of_process = |measure: Measure| {
                let is_server = program == Program::Direct;
                middle(program, measure.figure()).filter(|_| !is_server)
            };
            let nginx = ratio(program, Program::Nginx, Measure::Cpu.figure());
            let throughput = Measure::Throughput.figure();
            ProgramFigures {
                program,
                cpu_us: of_process(Measure::Cpu),
                cpu_of_nginx: nginx.filter(|_| program != Program::Direct),
                p50_us: middle(program, Measure::MedianTime.figure()),
                throughput_of_direct: ratio(program, Program::Direct, throughput),
                bytes_each: of_process(Measure::BytesEach),
                growth_bytes: of_process(Measure::MemoryGrowth),
                first_read_ms: of_process(Measure::FirstRead),
            }
        });
        let goals = case.goals.iter().map(|goal| {
            let figure = goal.measure.figure();
            let measured = match goal.base {
                Some(base) => ratio(goal.program, base, figure),
                None => middle(goal.program, figure),
            };
            MeasuredGoal {
                goal: *goal,
                measured,
            }
        });
        Self {
            name: case.name,
            goals: goals.collect(),
            rows: rows.collect(),
        }
    }

    fn write_table(&self, text: &mut String) {
        let columns = COLUMNS.iter();
        let columns = columns.filter(|column| self.rows.iter().any(|row| column.has(row)));
        let columns: Vec<&Column> = columns.collect();
        let _ = write!(text, "\n{}\n{:18}", self.name, "");
        for column in &columns {
            let _ = write!(text, "{:>18}", column.title);
        }
        text.push('\n');
        // A program that is not installed has no figures.
        let measured = self.rows.iter();
        let measured = measured.filter(|row| columns.iter().any(|column| column.has(row)));
        for row in measured {
            let _ = write!(text, "{:18}", row.program.name());
            for column in &columns {
                let value = (column.figure)(row);
                let digits = column.digits;
                let value =
                    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"));
                let _ = write!(text, "{value:>18}");
            }
            text.push('\n');
        }
        for goal in &self.goals {
            let _ = writeln!(text, "  goal: {}", goal.to_line());
        }
    }
}

impl Column {
    fn has(&self, row: &ProgramFigures) -> bool {
        (self.figure)(row).is_some()
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
            case.write_table(&mut text);
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

    fn failures(figures: CaseFigures) -> Vec<String> {
        Report {
            cases: vec![figures],
        }
        .failures()
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
        assert!(!table.contains("bytes each"), "{table}");
        let goal = "goal: CPU time of toolwire proxy ÷ nginx: 2.50 (≤ 2.5)";
        assert!(table.contains(goal), "{table}");
    }

    #[test]
    fn missed_ratio_is_a_failure() {
        assert_eq!(failures(figures(25.0)), Vec::<String>::new());
        assert_eq!(
            failures(figures(30.0)),
            [
                "small call, 32 connections: the CPU time of toolwire proxy is 3.00 of nginx, more than 2.5"
            ]
        );
    }

    #[test]
    fn missed_number_of_bytes_is_a_failure() {
        let mut cases = CASES.iter();
        let case = cases
            .find(|case| case.name == "10,000 idle sessions")
            .expect("the case");
        let figures = |bytes: f64| {
            let sample = Sample {
                bytes_each: Some(bytes),
                ..Sample::default()
            };
            CaseFigures::of(case, &[vec![(Program::Gateway, sample)]])
        };
        assert_eq!(failures(figures(4096.0)), Vec::<String>::new());
        assert_eq!(
            failures(figures(4097.0)),
            ["10,000 idle sessions: the memory of gateway is 4097 bytes each, more than 4096"]
        );
    }
}
