//! Reports of a server about what happened inside of it, for servers that are written with toolwire.
//!
//! This command sets an environment variable for a server process that it starts, and takes the reports out of the lines of
//! the process's standard error. A server that is not written with toolwire ignores the variable.

mod collector;
mod text;

use toolwire_proto::inspection::InspectionLine;

pub(crate) use collector::ReportCollector;

/// Returns `true` if a line of standard error is a report. Other lines belong to the terminal, the log and records.
pub(crate) fn is_report(line: &str) -> bool {
    InspectionLine::read(line).is_some()
}
