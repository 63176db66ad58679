//! The goals of a case, and whether a run reaches them.

use super::Program;
use crate::comparison::Sample;
use crate::comparison::sample::Figure;

/// A limit of a figure of a program.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub(super) struct Goal {
    pub(super) program: Program,
    pub(super) measure: Measure,
    /// The program whose figure of the same round is the unit. `None`: the figure itself is limited. These are counts of
    /// bytes, which do not depend on other load on the machine.
    pub(super) base: Option<Program>,
    pub(super) limit: Limit,
}

/// A figure that has a goal.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub(super) enum Measure {
    Cpu,
    MedianTime,
    Throughput,
    /// The memory of one connection, session or call.
    BytesEach,
    /// The memory after all of the work, minus that after a tenth of it.
    MemoryGrowth,
    /// The time from the start of the process until it has read the first byte of its standard input.
    FirstRead,
}

/// The limit of a figure or of a ratio.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub(super) enum Limit {
    AtMost(f64),
    AtLeast(f64),
}

impl Goal {
    /// Limits a figure as a multiple of that of another program.
    pub(super) const fn ratio(
        program: Program,
        measure: Measure,
        base: Program,
        limit: Limit,
    ) -> Self {
        Self {
            program,
            measure,
            base: Some(base),
            limit,
        }
    }

    /// Limits a figure.
    pub(super) const fn figure(program: Program, measure: Measure, limit: Limit) -> Self {
        Self {
            program,
            measure,
            base: None,
            limit,
        }
    }
}

impl Measure {
    pub(super) fn figure(self) -> Figure {
        match self {
            Self::Cpu => |sample| sample.cpu_us,
            Self::MedianTime => |sample| sample.p50_us,
            Self::Throughput => |sample| sample.per_second,
            Self::BytesEach => |sample| sample.bytes_each,
            Self::MemoryGrowth => |sample| sample.growth_bytes,
            Self::FirstRead => |sample| sample.first_read_ms,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Cpu => "CPU time",
            Self::MedianTime => "median response time",
            Self::Throughput => "throughput",
            Self::BytesEach => "memory",
            Self::MemoryGrowth => "growth of the memory",
            Self::FirstRead => "time to the first read",
        }
    }

    /// Returns the unit of a figure that is not a ratio.
    fn unit(self) -> &'static str {
        match self {
            Self::Cpu | Self::MedianTime => " µs",
            Self::Throughput => " calls/s",
            Self::BytesEach => " bytes each",
            Self::MemoryGrowth => " bytes",
            Self::FirstRead => " ms",
        }
    }
}

/// A goal and its figure or ratio: the median of the rounds.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct MeasuredGoal {
    pub(super) goal: Goal,
    /// `None` if it could not be measured.
    pub(super) measured: Option<f64>,
}

impl MeasuredGoal {
    /// Returns the goal with what was measured, for people.
    pub(super) fn to_line(&self) -> String {
        let Goal {
            program,
            measure,
            base,
            limit,
        } = self.goal;
        let base = base.map_or_else(String::new, |base| format!(" ÷ {}", base.name()));
        let limit = match limit {
            Limit::AtMost(limit) => format!("≤ {limit}"),
            Limit::AtLeast(limit) => format!("≥ {limit}"),
        };
        let measured = match self.measured {
            Some(measured) => self.amount(measured),
            None => "not measured".to_owned(),
        };
        let (measure, program) = (measure.name(), program.name());
        format!("{measure} of {program}{base}: {measured} ({limit})")
    }

    /// Returns the missed goal, as a sentence. A figure that could not be measured is not a missed goal.
    pub(super) fn failure(&self, case: &str) -> Option<String> {
        let measured = self.measured?;
        let (is_missed, words, limit) = match self.goal.limit {
            Limit::AtMost(limit) => (measured > limit, "more", limit),
            Limit::AtLeast(limit) => (measured < limit, "less", limit),
        };
        is_missed.then(|| {
            let (program, measure) = (self.goal.program.name(), self.goal.measure.name());
            let base = self.goal.base.map(|base| format!(" of {}", base.name()));
            let (measured, base) = (self.amount(measured), base.unwrap_or_default());
            format!("{case}: the {measure} of {program} is {measured}{base}, {words} than {limit}")
        })
    }

    /// Returns a ratio, or a figure with its unit.
    fn amount(&self, measured: f64) -> String {
        match self.goal.base {
            Some(_) => format!("{measured:.2}"),
            None => format!("{measured:.0}{}", self.goal.measure.unit()),
        }
    }
}

/// Returns the figures of a program in all rounds.
pub(super) fn figures(
    rounds: &[Vec<(Program, Sample)>],
    program: Program,
    figure: Figure,
) -> Vec<Option<f64>> {
    let sample = |round: &Vec<(Program, Sample)>| {
        let found = round.iter().find(|(other, _)| *other == program);
        found.and_then(|(_, sample)| figure(sample))
    };
    rounds.iter().map(sample).collect()
}
