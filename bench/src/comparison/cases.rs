//! All cases of the comparison.

use super::case::{Amounts, Case, CountedPath, HttpWork, Work};
use super::size::Size;
use crate::load::{Era, Kind, Protocol, Workload};

/// The length of a small text.
const SMALL: usize = 100;
const ARGUMENT: usize = 100_000;
const RESULT: usize = 1_000_000;
const NOTIFICATIONS: usize = 100;

const fn http(name: &'static str, about: &'static str, work: HttpWork) -> Case {
    let work = Work::Http(work);
    Case { name, about, work }
}

pub(crate) const MODERN: Workload = Workload::new(Era::Modern, Kind::Echo, SMALL);
const LEGACY: Workload = Workload::new(Era::Legacy, Kind::Echo, SMALL);

const COUNTED: Amounts = Amounts::new(1_000, 1_000, 1_000);

/// These cases have further runs under valgrind, so only toolwire and the limit take part.
const COUNTED_SIZES: Amounts = Amounts::new(1_000, 0, 0);

const TOOLS: [Size; 3] = [Size::Tools(1), Size::Tools(100), Size::Tools(10_000)];

const fn modern(kind: Kind, amount: usize) -> Workload {
    Workload::new(Era::Modern, kind, amount)
}

/// All cases, in the order in which they run.
pub(crate) const CASES: [Case; 35] = [
    http(
        "modern-c1",
        "modern tools/call, 100 bytes, 1 connection",
        HttpWork::new(MODERN, 1, Amounts::new(8_000, 3_000, 150)),
    ),
    http(
        "modern-c32",
        "modern tools/call, 100 bytes, 32 connections",
        HttpWork::new(MODERN, 32, Amounts::new(20_000, 6_000, 250)),
    ),
    http(
        "modern-c256",
        "modern tools/call, 100 bytes, 256 connections",
        HttpWork::new(MODERN, 256, Amounts::new(20_000, 6_000, 300)),
    ),
    http(
        "legacy-c1",
        "legacy tools/call in a session, 100 bytes, 1 connection",
        HttpWork::new(LEGACY, 1, Amounts::new(8_000, 3_000, 150)),
    ),
    http(
        "legacy-c32",
        "legacy tools/call in a session, 100 bytes, 32 connections",
        HttpWork::new(LEGACY, 32, Amounts::new(20_000, 6_000, 250)),
    ),
    http(
        "legacy-c256",
        "legacy tools/call in a session, 100 bytes, 256 connections",
        HttpWork::new(LEGACY, 256, Amounts::new(20_000, 6_000, 300)),
    ),
    http(
        "argument-100k",
        "tools/call with an argument of 100 KB, 32 connections",
        HttpWork::new(
            modern(Kind::Echo, ARGUMENT),
            32,
            Amounts::new(1_500, 1_000, 100),
        ),
    ),
    http(
        "result-1m",
        "tools/call with a result of 1 MB, 8 connections",
        HttpWork::new(modern(Kind::Big, RESULT), 8, Amounts::new(200, 200, 40)),
    ),
    http(
        "list-1",
        "tools/list of 1 tool, 32 connections",
        HttpWork::new(modern(Kind::List, 1), 32, Amounts::new(20_000, 6_000, 200)).with_tools(1),
    ),
    http(
        "list-100",
        "tools/list of 100 tools, 32 connections",
        HttpWork::new(modern(Kind::List, 100), 32, Amounts::new(15_000, 2_000, 64)).with_tools(100),
    ),
    http(
        "list-1000",
        "tools/list of 1,000 tools, 32 connections",
        HttpWork::new(modern(Kind::List, 1_000), 32, Amounts::new(5_000, 300, 32))
            .with_tools(1_000),
    ),
    http(
        "scale-tools",
        "modern tools/call, 32 connections, on servers with 1, 100 and 10,000 tools",
        HttpWork::new(MODERN, 32, Amounts::new(15_000, 4_000, 0)).with_sizes(&TOOLS),
    ),
    http(
        "scale-sessions",
        "legacy tools/call in one session, 32 connections, with 1, 1,000 and 10,000 open sessions",
        HttpWork::new(LEGACY, 32, Amounts::new(15_000, 4_000, 0)).with_sizes(&[
            Size::Sessions(1),
            Size::Sessions(1_000),
            Size::Sessions(10_000),
        ]),
    ),
    http(
        "scale-streams",
        "modern tools/call, 32 connections, beside 0, 1,000 and 10,000 listen streams",
        HttpWork::new(MODERN, 32, Amounts::new(15_000, 4_000, 0)).beside_streams(&[
            Size::Streams(0),
            Size::Streams(1_000),
            Size::Streams(10_000),
        ]),
    ),
    http(
        "progress-100",
        "tools/call that sends 100 progress notifications, 8 connections",
        HttpWork::new(
            modern(Kind::Progress, NOTIFICATIONS),
            8,
            Amounts::new(3_000, 250, 40),
        ),
    ),
    http(
        "http2-c32",
        "modern tools/call over HTTP/2, 100 bytes, 32 streams on 1 connection",
        HttpWork::new(MODERN, 32, Amounts::new(15_000, 5_000, 0)).over_http2(),
    ),
    http(
        "http2-c256",
        "modern tools/call over HTTP/2, 100 bytes, 256 streams on 8 connections",
        HttpWork::new(MODERN, 256, Amounts::new(15_000, 5_000, 0)).over_http2(),
    ),
    http(
        "tls-c32",
        "modern tools/call over TLS, 100 bytes, 32 connections",
        HttpWork::new(MODERN, 32, Amounts::new(15_000, 0, 0)).over_tls(),
    ),
    http(
        "tls-connect",
        "modern tools/call over TLS, each on a new connection, 8 at once",
        HttpWork::new(MODERN, 8, Amounts::new(1_000, 0, 0))
            .over_tls()
            .with_protocol(Protocol::Http1PerRequest),
    ),
    http(
        "threads",
        "modern tools/call, 100 bytes, 32 connections, with 1 and 2 worker threads on all cores",
        HttpWork::new(MODERN, 32, Amounts::new(20_000, 6_000, 0))
            .with_sizes(&[Size::Threads(1), Size::Threads(2)]),
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
        about: "start of the process to its first response over stdio",
        work: Work::StdioFirstResponse,
    },
    Case {
        name: "idle-sessions",
        about: "10,000 idle legacy sessions (1,000 of slow contestants)",
        work: Work::Sessions(Amounts::new(10_000, 10_000, 1_000)),
    },
    Case {
        name: "idle-streams",
        about: "10,000 idle listen streams with their connections, and one change for all",
        work: Work::Streams {
            streams: Amounts::new(10_000, 10_000, 1_000),
            changes: 1,
        },
    },
    Case {
        name: "fan-out",
        about: "10 changes for 10,000 listen streams each; a call is one delivery",
        work: Work::Streams {
            streams: Amounts::new(10_000, 10_000, 0),
            changes: 10,
        },
    },
    Case {
        name: "counted-modern",
        about: "modern tools/call over HTTP, counted",
        work: Work::Counted(CountedPath::Http(MODERN, &[]), COUNTED),
    },
    Case {
        name: "counted-legacy",
        about: "legacy tools/call in a session over HTTP, counted",
        work: Work::Counted(CountedPath::Http(LEGACY, &[]), COUNTED),
    },
    Case {
        name: "counted-full-path",
        about: "modern tools/call over HTTP without the fast path, counted",
        work: Work::Counted(CountedPath::HttpFullPath, COUNTED_SIZES),
    },
    Case {
        name: "counted-stdio",
        about: "tools/call over stdio, all at once, counted",
        work: Work::Counted(CountedPath::Stdio, COUNTED),
    },
    Case {
        name: "counted-in-process",
        about: "modern tools/call in process, with 1, 100 and 10,000 tools, counted",
        work: Work::Counted(CountedPath::InProcess(&TOOLS), COUNTED),
    },
    Case {
        name: "counted-sessions",
        about: "legacy tools/call with 1 and with 1,000 open sessions, counted",
        work: Work::Counted(
            CountedPath::Http(LEGACY, &[Size::Sessions(1), Size::Sessions(1_000)]),
            COUNTED_SIZES,
        ),
    },
    Case {
        name: "counted-streams",
        about: "modern tools/call beside 0 and 1,000 listen streams, counted",
        work: Work::Counted(
            CountedPath::Http(MODERN, &[Size::Streams(0), Size::Streams(1_000)]),
            COUNTED_SIZES,
        ),
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
    fn case_names_are_unique() {
        let mut names: Vec<&str> = CASES.iter().map(|case| case.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), CASES.len());
    }

    #[test]
    fn list_cases_expect_all_tools_of_the_server() {
        for case in CASES {
            if let Work::Http(work) = case.work
                && work.workload.kind == Kind::List
            {
                assert_eq!(work.tools, work.workload.amount, "{}", case.name);
            }
        }
    }
}
