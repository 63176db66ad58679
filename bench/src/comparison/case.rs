//! The cases of the comparison: one row for each.

use super::contestant::Contestant;
use super::counted;
use crate::load::{Era, Kind, Workload};

/// A case of the comparison.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case {
    /// The name on the command line and in JSON.
    pub(crate) name: &'static str,
    /// The description for people.
    pub(crate) about: &'static str,
    pub(crate) work: Work,
}

impl Case {
    /// Returns the reason why the case cannot run here, if any.
    pub(crate) fn obstacle(&self) -> Option<&'static str> {
        match self.work {
            Work::Counted(..) => counted::obstacle(),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Work {
    Http(HttpWork),
    /// Calls of `echo` over stdio, one after the other.
    StdioSequential(Amounts),
    /// Calls of `echo` over stdio, all at once.
    StdioPipelined(Amounts),
    /// The time from the start of the process to its first response.
    StdioFirstAnswer,
    /// Idle legacy sessions.
    Sessions(Amounts),
    /// Idle streams, and one change for all of them.
    Streams(Amounts),
    /// Calls of `echo` whose instructions and allocations are counted.
    Counted(CountedPath, Amounts),
    /// Clients with the same server and this many concurrent calls.
    Client {
        at_once: usize,
    },
}

/// The path of counted calls to the server.
#[derive(Debug, Clone, Copy)]
pub(crate) enum CountedPath {
    Http(Workload),
    Stdio,
    /// From bytes to bytes, with these numbers of tools. Each number is its own row.
    InProcess(&'static [usize]),
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct HttpWork {
    pub(crate) workload: Workload,
    pub(crate) connections: usize,
    /// The number of tools of the server. Each number is its own row.
    pub(crate) tools: &'static [usize],
    pub(crate) requests: Amounts,
}

/// The work of each contestant in a round, about the same time for all of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Amounts {
    /// The work of toolwire and the limits.
    fast: usize,
    rmcp: usize,
    slow: usize,
}

impl Amounts {
    const fn new(fast: usize, rmcp: usize, slow: usize) -> Self {
        Self { fast, rmcp, slow }
    }

    /// Returns one `share`th of the work, at least one.
    pub(crate) fn of(self, contestant: Contestant, share: usize) -> usize {
        let amount = match contestant {
            Contestant::Toolwire | Contestant::Before | Contestant::Limit => self.fast,
            Contestant::Rmcp => self.rmcp,
            Contestant::Typescript | Contestant::Python => self.slow,
        };
        (amount / share.max(1)).max(1)
    }
}

/// The length of a small text.
const SMALL: usize = 100;
const ARGUMENT: usize = 100_000;
const RESULT: usize = 1_000_000;
const NOTICES: usize = 100;

const fn http(
    name: &'static str,
    about: &'static str,
    workload: Workload,
    connections: usize,
    tools: &'static [usize],
    requests: Amounts,
) -> Case {
    let work = Work::Http(HttpWork {
        workload,
        connections,
        tools,
        requests,
    });
    Case { name, about, work }
}

pub(crate) const MODERN: Workload = Workload::new(Era::Modern, Kind::Echo, SMALL);
const LEGACY: Workload = Workload::new(Era::Legacy, Kind::Echo, SMALL);

const COUNTED: Amounts = Amounts::new(1_000, 1_000, 1_000);

const fn modern(kind: Kind, amount: usize) -> Workload {
    Workload::new(Era::Modern, kind, amount)
}

/// Returns all cases, in the order in which they run.
pub(crate) const CASES: [Case; 24] = [
    http(
        "modern-c1",
        "modern tools/call, 100 bytes, 1 connection",
        MODERN,
        1,
        &[3],
        Amounts::new(8_000, 3_000, 150),
    ),
    http(
        "modern-c32",
        "modern tools/call, 100 bytes, 32 connections",
        MODERN,
        32,
        &[3],
        Amounts::new(20_000, 6_000, 250),
    ),
    http(
        "modern-c256",
        "modern tools/call, 100 bytes, 256 connections",
        MODERN,
        256,
        &[3],
        Amounts::new(20_000, 6_000, 300),
    ),
    http(
        "legacy-c1",
        "legacy tools/call in a session, 100 bytes, 1 connection",
        LEGACY,
        1,
        &[3],
        Amounts::new(8_000, 3_000, 150),
    ),
    http(
        "legacy-c32",
        "legacy tools/call in a session, 100 bytes, 32 connections",
        LEGACY,
        32,
        &[3],
        Amounts::new(20_000, 6_000, 250),
    ),
    http(
        "legacy-c256",
        "legacy tools/call in a session, 100 bytes, 256 connections",
        LEGACY,
        256,
        &[3],
        Amounts::new(20_000, 6_000, 300),
    ),
    http(
        "argument-100k",
        "tools/call with an argument of 100 KB, 32 connections",
        modern(Kind::Echo, ARGUMENT),
        32,
        &[3],
        Amounts::new(1_500, 1_000, 100),
    ),
    http(
        "result-1m",
        "tools/call with a result of 1 MB, 8 connections",
        modern(Kind::Big, RESULT),
        8,
        &[3],
        Amounts::new(200, 200, 40),
    ),
    http(
        "list-1",
        "tools/list of 1 tool, 32 connections",
        modern(Kind::List, 1),
        32,
        &[1],
        Amounts::new(20_000, 6_000, 200),
    ),
    http(
        "list-100",
        "tools/list of 100 tools, 32 connections",
        modern(Kind::List, 100),
        32,
        &[100],
        Amounts::new(15_000, 2_000, 64),
    ),
    http(
        "list-1000",
        "tools/list of 1,000 tools, 32 connections",
        modern(Kind::List, 1_000),
        32,
        &[1_000],
        Amounts::new(5_000, 300, 32),
    ),
    http(
        "many-tools",
        "tools/call on a server with 1 and with 1,000 tools, 32 connections",
        MODERN,
        32,
        &[1, 1_000],
        Amounts::new(15_000, 4_000, 100),
    ),
    http(
        "progress-100",
        "tools/call that sends 100 progress notices, 8 connections",
        modern(Kind::Progress, NOTICES),
        8,
        &[3],
        Amounts::new(3_000, 250, 40),
    ),
    Case {
        name: "stdio-sequential",
        about: "tools/call over stdio, one after the other",
        work: Work::StdioSequential(Amounts::new(10_000, 5_000, 300)),
    },
    Case {
        name: "stdio-pipelined",
        about: "tools/call over stdio, all at once",
        work: Work::StdioPipelined(Amounts::new(400_000, 8_000, 500)),
    },
    Case {
        name: "stdio-first-answer",
        about: "start of the process to its first answer over stdio",
        work: Work::StdioFirstAnswer,
    },
    Case {
        name: "idle-sessions",
        about: "10,000 idle legacy sessions (1,000 of slow contestants)",
        work: Work::Sessions(Amounts::new(10_000, 10_000, 1_000)),
    },
    Case {
        name: "idle-streams",
        about: "10,000 idle listen streams with their connections, and one change for all",
        work: Work::Streams(Amounts::new(10_000, 10_000, 1_000)),
    },
    Case {
        name: "counted-modern",
        about: "modern tools/call over HTTP, counted",
        work: Work::Counted(CountedPath::Http(MODERN), COUNTED),
    },
    Case {
        name: "counted-legacy",
        about: "legacy tools/call in a session over HTTP, counted",
        work: Work::Counted(CountedPath::Http(LEGACY), COUNTED),
    },
    Case {
        name: "counted-stdio",
        about: "tools/call over stdio, all at once, counted",
        work: Work::Counted(CountedPath::Stdio, COUNTED),
    },
    Case {
        name: "counted-in-process",
        about: "modern tools/call in process, with 1 and with 1,000 tools, counted",
        work: Work::Counted(CountedPath::InProcess(&[1, 1_000]), COUNTED),
    },
    Case {
        name: "client-c1",
        about: "clients against the same server, one call at a time",
        work: Work::Client { at_once: 1 },
    },
    Case {
        name: "client-c32",
        about: "clients against the same server, 32 calls at once",
        work: Work::Client { at_once: 32 },
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_has_a_name_of_its_own() {
        let mut names: Vec<&str> = CASES.iter().map(|case| case.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), CASES.len());
    }

    #[test]
    fn a_list_is_as_long_as_the_server_has_tools() {
        for case in CASES {
            if let Work::Http(work) = case.work
                && work.workload.kind == Kind::List
            {
                assert_eq!(work.tools, [work.workload.amount], "{}", case.name);
            }
        }
    }

    #[test]
    fn a_share_of_the_work_is_never_nothing() {
        let amounts = Amounts::new(100, 10, 1);
        assert_eq!(amounts.of(Contestant::Limit, 1), 100);
        assert_eq!(amounts.of(Contestant::Rmcp, 5), 2);
        assert_eq!(amounts.of(Contestant::Python, 5), 1);
    }
}
