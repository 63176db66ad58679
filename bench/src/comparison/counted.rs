//! A counted round: instructions and allocations of a call, which do not depend on other load on the machine.

use std::io;

use super::case::CountedPath;
use super::cases::MODERN;
use super::contestant::{Contestant, Lineup};
use super::report::NOT_TAKING_PART;
use super::sample::Sample;
use super::size::Size;
use crate::counting::{Count, Counting};
use crate::load::Plan;

/// The longer run has this many times the calls of the shorter one.
const FEW_SHARE: usize = 5;

/// A path that does not depend on the number of tools is counted with this number.
const TOOLS: usize = 3;

/// Returns the reason why no counted case can run here, if any.
pub(crate) fn skip_reason() -> Option<&'static str> {
    (!crate::counting::is_available()).then_some("valgrind, which counts, is not installed")
}

/// Counts the allocations and instructions of this number of calls.
pub(crate) async fn round(
    lineup: &Lineup,
    contestant: Contestant,
    path: CountedPath,
    size: Option<Size>,
    counting: Counting,
) -> io::Result<Sample> {
    let does_not_take_part = || io::Error::other(NOT_TAKING_PART);
    let server = |transport| {
        // An interpreter's instructions are not those of its script.
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
        CountedPath::Http(workload, _) => {
            let mut plan = Plan::new(workload, 1);
            if let Some(size) = size {
                plan = size.add_to(plan, 0, 1);
            }
            let server = match size {
                Some(Size::Streams(_)) => lineup.streams_server(contestant),
                _ => Some(server("http")?),
            };
            let server = server.ok_or_else(does_not_take_part)?;
            counting.over_http_as(&server, &plan).await?
        }
        CountedPath::HttpFullPath => {
            let transport = match contestant {
                Contestant::Toolwire | Contestant::Before => "http-full-path",
                Contestant::Limit => "http",
                _ => return Err(does_not_take_part()),
            };
            let plan = Plan::new(MODERN, 1);
            counting.over_http_as(&server(transport)?, &plan).await?
        }
        CountedPath::Stdio => counting.over_stdio(&server("stdio")?)?,
        CountedPath::InProcess(_) => {
            let tools = size.and_then(Size::tools).unwrap_or(TOOLS);
            let program = lineup
                .in_process(contestant, tools)
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

/// Returns the parameters for this many calls in the longer run.
pub(crate) fn counting(calls: usize) -> Counting {
    Counting::new(calls / FEW_SHARE, calls)
}
