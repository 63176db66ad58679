//! The goals of toolwire as ratios, and whether this run reaches them.

use super::contestant::Contestant::{self, Limit, Rmcp, Toolwire};
use super::report::{CaseReport, Report, Row};
use super::sample::{Figure, Sample};
use super::size::Size;
use super::table::markdown;

/// The condition of a goal.
#[derive(Debug, Clone, Copy)]
enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

/// A goal: the case, the figure and the condition.
struct Goal {
    case: &'static str,
    what: &'static str,
    measured: fn(&CaseReport) -> Option<f64>,
    bound: Bound,
}

const fn goal(
    case: &'static str,
    what: &'static str,
    measured: fn(&CaseReport) -> Option<f64>,
    bound: Bound,
) -> Goal {
    Goal {
        case,
        what,
        measured,
        bound,
    }
}

const OF_LIMIT: &str = "limit's CPU ÷ own";
const OF_RMCP: &str = "rmcp's CPU ÷ own";
const PEAK: &str = "peak memory above the start ÷ payload in flight";

const CPU_AT_LARGEST: &str = "CPU at the largest size ÷ at the smallest";
const INSTRUCTIONS_AT_LARGEST: &str = "instructions at the largest size ÷ at the smallest";
const INSTRUCTIONS: &str = "instructions ÷ limit's";
const ALLOCATIONS: &str = "allocations";

/// The cost of a call hardly depends on a size.
const FLAT: Bound = Bound::AtMost(1.1);

/// The bytes in flight in the two cases with large payloads.
const ARGUMENTS_IN_FLIGHT: f64 = 32.0 * 100_000.0;
const RESULTS_IN_FLIGHT: f64 = 8.0 * 1_000_000.0;

const fn small_call(case: &'static str) -> [Goal; 2] {
    [
        goal(case, OF_LIMIT, cpu_of_limit, Bound::AtLeast(0.9)),
        goal(case, OF_RMCP, cpu_of_rmcp, Bound::AtLeast(4.0)),
    ]
}

const fn counted_call(case: &'static str) -> [Goal; 2] {
    let most = Bound::AtMost(1.15);
    [
        goal(case, INSTRUCTIONS, instructions_to_limit, most),
        goal(case, ALLOCATIONS, allocations, Bound::AtMost(22.0)),
    ]
}

fn goals() -> impl Iterator<Item = Goal> {
    let small_calls = [
        "modern-c1",
        "modern-c32",
        "modern-c256",
        "legacy-c1",
        "legacy-c32",
        "legacy-c256",
    ];
    let others = [
        goal("scale-tools", CPU_AT_LARGEST, cpu_at_largest, FLAT),
        goal("scale-sessions", CPU_AT_LARGEST, cpu_at_largest, FLAT),
        goal("scale-streams", CPU_AT_LARGEST, cpu_at_largest, FLAT),
        goal("list-1000", OF_LIMIT, cpu_of_limit, Bound::AtLeast(0.9)),
        goal("argument-100k", OF_LIMIT, cpu_of_limit, Bound::AtLeast(1.0)),
        goal(
            "argument-100k",
            PEAK,
            |case| Some(growth(case)? / ARGUMENTS_IN_FLIGHT),
            Bound::AtMost(3.0),
        ),
        goal("result-1m", OF_LIMIT, cpu_of_limit, Bound::AtLeast(1.0)),
        goal(
            "result-1m",
            PEAK,
            |case| Some(growth(case)? / RESULTS_IN_FLIGHT),
            Bound::AtMost(3.0),
        ),
        goal("progress-100", OF_LIMIT, cpu_of_limit, Bound::AtLeast(1.6)),
        goal("progress-100", OF_RMCP, cpu_of_rmcp, Bound::AtLeast(20.0)),
        goal("http2-c32", OF_LIMIT, cpu_of_limit, Bound::AtLeast(0.9)),
        goal("http2-c256", OF_LIMIT, cpu_of_limit, Bound::AtLeast(0.9)),
        goal("tls-c32", OF_LIMIT, cpu_of_limit, Bound::AtLeast(0.9)),
        goal("tls-connect", OF_LIMIT, cpu_of_limit, Bound::AtLeast(0.9)),
        goal(
            "threads",
            "calls/s with 2 threads ÷ with 1, as a multiple of the limit's",
            |case| Some(gain_of_threads(case, Toolwire)? / gain_of_threads(case, Limit)?),
            Bound::AtLeast(0.9),
        ),
        goal(
            "stdio-pipelined",
            OF_LIMIT,
            cpu_of_limit,
            Bound::AtLeast(0.8),
        ),
        goal(
            "stdio-pipelined",
            OF_RMCP,
            cpu_of_rmcp,
            Bound::AtLeast(12.0),
        ),
        goal(
            "stdio-sequential",
            OF_LIMIT,
            cpu_of_limit,
            Bound::AtLeast(1.0),
        ),
        goal(
            "stdio-first-answer",
            "time ÷ limit's",
            |case| {
                case.ratio((Toolwire, None), (Limit, None), |sample| {
                    sample.first_answer_ms
                })
            },
            Bound::AtMost(1.2),
        ),
        goal(
            "idle-sessions",
            "bytes each",
            bytes_each,
            Bound::AtMost(2_048.0),
        ),
        goal(
            "idle-streams",
            "bytes each",
            bytes_each,
            Bound::AtMost(16_384.0),
        ),
        goal("fan-out", OF_LIMIT, cpu_of_limit, Bound::AtLeast(0.9)),
        goal(
            "counted-in-process",
            ALLOCATIONS,
            allocations,
            Bound::AtMost(15.0),
        ),
        goal(
            "counted-in-process",
            INSTRUCTIONS_AT_LARGEST,
            instructions_at_largest,
            Bound::AtMost(1.03),
        ),
        goal(
            "counted-sessions",
            INSTRUCTIONS_AT_LARGEST,
            instructions_at_largest,
            FLAT,
        ),
        goal(
            "counted-streams",
            INSTRUCTIONS_AT_LARGEST,
            instructions_at_largest,
            FLAT,
        ),
        goal(
            "counted-full-path",
            INSTRUCTIONS,
            instructions_to_limit,
            Bound::AtMost(1.05),
        ),
        goal("client-c1", OF_LIMIT, cpu_of_limit, Bound::AtLeast(0.35)),
        goal("client-c1", OF_RMCP, cpu_of_rmcp, Bound::AtLeast(4.0)),
        goal("client-c32", OF_LIMIT, cpu_of_limit, Bound::AtLeast(0.5)),
        goal("client-c32", OF_RMCP, cpu_of_rmcp, Bound::AtLeast(5.0)),
    ];
    let counted = ["counted-modern", "counted-legacy"];
    let calls = small_calls.into_iter().flat_map(small_call);
    calls
        .chain(others)
        .chain(counted.into_iter().flat_map(counted_call))
}

/// Returns one line for each goal whose case was run.
pub(crate) fn table(report: &Report) -> String {
    let head = ["case", "what", "goal", "measured", "met"];
    let mut lines = vec![head.map(str::to_owned).to_vec()];
    for goal in goals() {
        let Some(case) = report.case(goal.case) else {
            continue;
        };
        let measured = (goal.measured)(case);
        let met = match (measured, goal.bound) {
            (None, _) => "not measured",
            (Some(value), Bound::AtLeast(least)) if value >= least => "yes",
            (Some(value), Bound::AtMost(most)) if value <= most => "yes",
            _ => "no",
        };
        lines.push(vec![
            goal.case.to_owned(),
            goal.what.to_owned(),
            match goal.bound {
                Bound::AtLeast(value) => format!("≥ {value}"),
                Bound::AtMost(value) => format!("≤ {value}"),
            },
            measured.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}")),
            met.to_owned(),
        ]);
    }
    format!("### goals\n\n{}", markdown(&lines, 2))
}

fn cpu_of_limit(case: &CaseReport) -> Option<f64> {
    case.ratio((Limit, None), (Toolwire, None), cpu)
}

fn cpu_of_rmcp(case: &CaseReport) -> Option<f64> {
    case.ratio((Rmcp, None), (Toolwire, None), cpu)
}

fn instructions_to_limit(case: &CaseReport) -> Option<f64> {
    case.ratio((Toolwire, None), (Limit, None), instructions)
}

fn cpu_at_largest(case: &CaseReport) -> Option<f64> {
    at_largest(case, cpu)
}

fn instructions_at_largest(case: &CaseReport) -> Option<f64> {
    at_largest(case, instructions)
}

/// Returns the figure of toolwire at the largest size as a multiple of that at the smallest.
fn at_largest(case: &CaseReport, figure: Figure) -> Option<f64> {
    let rows = case.rows.iter().filter(|row| row.contestant == Toolwire);
    let sizes: Vec<_> = rows.map(|row| row.size).collect();
    let (smallest, largest) = (*sizes.first()?, *sizes.last()?);
    case.ratio((Toolwire, largest), (Toolwire, smallest), figure)
}

/// Returns the calls per second with two threads as a multiple of those with one.
fn gain_of_threads(case: &CaseReport, contestant: Contestant) -> Option<f64> {
    let with = |threads| (contestant, Some(Size::Threads(threads)));
    case.ratio(with(2), with(1), |sample| sample.per_second)
}

fn allocations(case: &CaseReport) -> Option<f64> {
    toolwire(case)?.median.allocations
}

fn bytes_each(case: &CaseReport) -> Option<f64> {
    toolwire(case)?.median.bytes_each
}

fn growth(case: &CaseReport) -> Option<f64> {
    toolwire(case)?.median.growth_bytes
}

fn toolwire(case: &CaseReport) -> Option<&Row> {
    case.rows.iter().find(|row| row.contestant == Toolwire)
}

fn cpu(sample: &Sample) -> Option<f64> {
    sample.cpu_us
}

fn instructions(sample: &Sample) -> Option<f64> {
    sample.instructions
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::case_names;

    #[test]
    fn every_goal_names_an_existing_case() {
        for goal in goals() {
            assert!(case_names().any(|name| name == goal.case), "{}", goal.case);
        }
    }
}
