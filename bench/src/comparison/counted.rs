//! A turn that is counted: instructions and allocations of a call, which do not depend on who else uses the machine.

use std::io;

use super::case::{CountedPath, MODERN};
use super::contestant::{Contestant, Lineup};
use super::report::NOT_TAKING_PART;
use super::sample::Sample;
use crate::counting::{Count, Counting};

/// Calls of the shorter run are one in so many of the longer one.
const FEW_SHARE: usize = 5;

/// A tool more or less makes no difference to a path that is not about their number.
const TOOLS: usize = 3;

/// Why no case of this kind can be run here, if so.
pub(crate) fn obstacle() -> Option<&'static str> {
    (!crate::counting::is_available()).then_some("valgrind, which counts, is not installed")
}

/// How often memory is asked for and how many instructions are run, in calls of this number.
pub(crate) async fn turn(
    lineup: &Lineup,
    contestant: Contestant,
    path: CountedPath,
    tools: Option<usize>,
    counting: Counting,
) -> io::Result<Sample> {
    let does_not_take_part = || io::Error::other(NOT_TAKING_PART);
    let server = |transport| {
        // What an interpreter runs is not its script.
        (!contestant.is_slow())
            .then(|| lineup.server(contestant, transport, TOOLS))
            .flatten()
            .ok_or_else(does_not_take_part)
    };
    let Count {
        instructions,
        allocations,
        ..
    } = match path {
        CountedPath::Http(workload) => counting.over_http(&server("http")?, workload).await?,
        CountedPath::Stdio => counting.over_stdio(&server("stdio")?)?,
        CountedPath::InProcess(_) => {
            let program = lineup
                .in_process(contestant, tools.unwrap_or(TOOLS))
                .ok_or_else(does_not_take_part)?;
            counting.repeated(program, &MODERN.message(1))?
        }
    };
    Ok(Sample {
        instructions: Some(instructions),
        allocations: Some(allocations),
        ..Sample::default()
    })
}

/// So many calls in the longer run.
pub(crate) fn counting(calls: usize) -> Counting {
    Counting::new(calls / FEW_SHARE, calls)
}
