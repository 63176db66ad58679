//! Reports of a server about what happened inside of it, for servers that are written with toolwire.
//!
//! This command sets an environment variable for a server process that it starts, and takes the reports out of the lines of
//! the process's standard error. A server that is not written with toolwire ignores the variable.

mod collector;
mod text;

use std::ffi::OsString;

use toolwire_proto::inspection::{InspectionLine, VARIABLE};

use crate::target::Target;

pub(crate) use collector::ReportCollector;

/// Returns the target with the variable that switches reports on, unless the user has set it. A server with an address is not
/// started by this command, so it gets no variable.
pub(crate) fn reporting(target: &Target) -> Target {
    let mut target = target.clone();
    if let Target::Child(child) = &mut target {
        let variables = &mut child.environment;
        if !variables.iter().any(|(name, _)| name == VARIABLE) {
            variables.push((OsString::from(VARIABLE), OsString::from("1")));
        }
    }
    target
}

/// Returns `true` if a line of standard error is a report. Other lines belong to the terminal, the log and records.
pub(crate) fn is_report(line: &str) -> bool {
    InspectionLine::read(line).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::{ChildProcess, Endpoint};

    #[test]
    fn variable_is_set_for_processes_unless_the_user_has_set_it() {
        let variables = |target: &Target| match target {
            Target::Child(child) => child.environment.clone(),
            Target::Http(_) => Vec::new(),
        };
        let mut child = ChildProcess::new("server");
        let on = (OsString::from(VARIABLE), OsString::from("1"));
        assert_eq!(variables(&reporting(&Target::Child(child.clone()))), [on]);
        let off = (OsString::from(VARIABLE), OsString::from("0"));
        child.environment.push(off.clone());
        assert_eq!(variables(&reporting(&Target::Child(child))), [off]);
        let address = Target::Http(Endpoint::new("http://localhost/mcp"));
        assert_eq!(reporting(&address), address);
    }
}
