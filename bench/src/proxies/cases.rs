//! What is measured, with which programs, and the goals of `toolwire proxy` and `toolwire gateway`.

use super::Program::{
    self, DecodingRelay, Direct, Gateway, GatewayWithRules, Nginx, OwnServer, StdioReader,
    Toolwire, ToolwireOnStdio, ToolwireToLegacy, ToolwireToStdio,
};
use super::goals::{Goal, Limit, Measure};
use crate::load::{Era, Kind, Plan, Workload};

/// A measurement of some programs, and its goals.
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) work: Work,
    pub(super) servers: Servers,
    /// The programs, in the order of a round.
    pub(super) programs: &'static [Program],
    pub(super) goals: &'static [Goal],
}

/// What a program does, and what is measured of it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Work {
    /// Requests over HTTP.
    Load(Load),
    /// Idle sessions of older clients.
    IdleSessions(usize),
    /// Calls that wait for input of their clients.
    ParkedCalls(usize),
    /// Small calls that write a line into the audit log each.
    AuditLines(usize),
    /// Starts of the process, until it reads its standard input.
    Starts(usize),
}

/// Requests over HTTP.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    pub(super) workload: Workload,
    pub(super) connections: usize,
    pub(super) requests: usize,
}

/// The servers behind the programs of a case.
#[derive(Debug, Clone, Copy)]
pub(super) enum Servers {
    /// This many servers of this package, with this many tools each.
    Bench { count: usize, tools: usize },
    /// `toolwire demo` with one revision.
    Demo(Era),
}

impl Load {
    /// Returns the load, with a share of the requests.
    pub(super) fn plan(&self, share: usize) -> Plan {
        let requests = share_of(self.requests, share).max(self.connections);
        Plan::new(self.workload, requests)
            .with_connections(self.connections)
            .with_warm_up(requests / 10)
    }
}

impl Work {
    /// Returns the number of rounds, of this number of requested ones. What stays in a process is measured once.
    pub(super) fn rounds(&self, requested: usize) -> usize {
        match self {
            Self::Load(_) | Self::Starts(_) => requested,
            Self::IdleSessions(_) | Self::ParkedCalls(_) | Self::AuditLines(_) => 1,
        }
    }
}

/// Returns a share of a number, at least one.
pub(super) fn share_of(number: usize, share: usize) -> usize {
    (number / share.max(1)).max(1)
}

/// The length of the text of a small call.
const SMALL: usize = 16;

const SMALL_CALL: Workload = Workload::new(Era::Modern, Kind::Echo, SMALL);

const fn load(workload: Workload, connections: usize, requests: usize) -> Work {
    Work::Load(Load {
        workload,
        connections,
        requests,
    })
}

/// The load of the audit log: small calls on 32 connections.
pub(super) const fn audited_calls(requests: usize) -> Load {
    Load {
        workload: SMALL_CALL,
        connections: 32,
        requests,
    }
}

/// One server with three tools.
const ONE_SERVER: Servers = Servers::Bench { count: 1, tools: 3 };

/// Every way to forward a small call.
const ALL_FORWARDERS: &[Program] = &[
    Direct,
    Nginx,
    DecodingRelay,
    Toolwire,
    ToolwireToLegacy,
    ToolwireToStdio,
];

/// The programs that forward large messages. Those of other eras and transports are compared with small calls only.
const FORWARDERS_OVER_HTTP: &[Program] = &[Direct, Nginx, DecodingRelay, Toolwire];

/// The programs that forward streams and sessions, which the decoding relay does not have.
const FORWARDERS_OF_STREAMS: &[Program] = &[Direct, Nginx, Toolwire];

/// The memory of a message in flight, as a multiple of its bytes.
const COPIES_IN_FLIGHT: f64 = 2.2;

const ARGUMENT_BYTES: usize = 100_000;
const RESULT_BYTES: usize = 1_000_000;

const MIB: f64 = 1024.0 * 1024.0;

pub(super) const CASES: [Case; 13] = [
    Case {
        name: "small call, 32 connections",
        work: load(SMALL_CALL, 32, 40_000),
        servers: ONE_SERVER,
        programs: ALL_FORWARDERS,
        goals: &[
            Goal::ratio(Toolwire, Measure::Cpu, Nginx, Limit::AtMost(2.5)),
            Goal::ratio(Toolwire, Measure::Throughput, Direct, Limit::AtLeast(0.4)),
            Goal::ratio(ToolwireToLegacy, Measure::Cpu, Toolwire, Limit::AtMost(1.5)),
            Goal::ratio(ToolwireToStdio, Measure::Cpu, Toolwire, Limit::AtMost(1.3)),
        ],
    },
    Case {
        name: "small call, 1 connection",
        work: load(SMALL_CALL, 1, 10_000),
        servers: ONE_SERVER,
        programs: ALL_FORWARDERS,
        goals: &[Goal::ratio(
            Toolwire,
            Measure::MedianTime,
            Nginx,
            Limit::AtMost(2.5),
        )],
    },
    Case {
        name: "small call in sessions, 32 connections",
        work: load(Workload::new(Era::Legacy, Kind::Echo, SMALL), 32, 40_000),
        servers: ONE_SERVER,
        programs: FORWARDERS_OF_STREAMS,
        goals: &[],
    },
    Case {
        name: "argument of 100 KB, 4 connections",
        work: load(
            Workload::new(Era::Modern, Kind::Echo, ARGUMENT_BYTES),
            4,
            2_000,
        ),
        servers: ONE_SERVER,
        programs: FORWARDERS_OVER_HTTP,
        goals: &[Goal::ratio(
            Toolwire,
            Measure::Cpu,
            DecodingRelay,
            Limit::AtMost(0.5),
        )],
    },
    Case {
        name: "result of 1 MB, 4 connections",
        work: load(Workload::new(Era::Modern, Kind::Big, RESULT_BYTES), 4, 500),
        servers: ONE_SERVER,
        programs: FORWARDERS_OVER_HTTP,
        goals: &[
            Goal::ratio(Toolwire, Measure::Cpu, DecodingRelay, Limit::AtMost(0.5)),
            Goal::figure(
                Toolwire,
                Measure::BytesEach,
                Limit::AtMost(COPIES_IN_FLIGHT * RESULT_BYTES as f64),
            ),
        ],
    },
    Case {
        name: "100 progress notifications, 4 connections",
        work: load(Workload::new(Era::Modern, Kind::Progress, 100), 4, 500),
        servers: ONE_SERVER,
        programs: FORWARDERS_OF_STREAMS,
        goals: &[Goal::ratio(
            Toolwire,
            Measure::Throughput,
            Direct,
            Limit::AtLeast(0.4),
        )],
    },
    Case {
        name: "list of 1,000 tools of ten servers, 4 connections",
        work: load(Workload::new(Era::Modern, Kind::List, 1_000), 4, 4_000),
        servers: Servers::Bench {
            count: 10,
            tools: 100,
        },
        programs: &[OwnServer, Gateway],
        goals: &[Goal::ratio(
            Gateway,
            Measure::Cpu,
            OwnServer,
            Limit::AtMost(1.2),
        )],
    },
    Case {
        name: "rules, rate limit and audit log, 32 connections",
        work: load(SMALL_CALL, 32, 40_000),
        servers: ONE_SERVER,
        programs: &[Gateway, GatewayWithRules],
        goals: &[Goal::ratio(
            GatewayWithRules,
            Measure::Cpu,
            Gateway,
            Limit::AtMost(1.2),
        )],
    },
    Case {
        name: "audit log of 1,000,000 lines",
        work: Work::AuditLines(1_000_000),
        servers: ONE_SERVER,
        programs: &[GatewayWithRules],
        goals: &[Goal::figure(
            GatewayWithRules,
            Measure::MemoryGrowth,
            Limit::AtMost(MIB),
        )],
    },
    Case {
        name: "10,000 idle sessions",
        work: Work::IdleSessions(10_000),
        servers: ONE_SERVER,
        programs: &[Gateway],
        goals: &[Goal::figure(
            Gateway,
            Measure::BytesEach,
            Limit::AtMost(4096.0),
        )],
    },
    Case {
        name: "1,000 idle sessions with a stream to the server",
        work: Work::IdleSessions(1_000),
        servers: Servers::Demo(Era::Modern),
        programs: &[Toolwire],
        goals: &[],
    },
    Case {
        name: "1,000 parked calls",
        work: Work::ParkedCalls(1_000),
        servers: Servers::Demo(Era::Legacy),
        programs: &[Toolwire],
        goals: &[],
    },
    Case {
        name: "start",
        work: Work::Starts(20),
        servers: ONE_SERVER,
        programs: &[StdioReader, ToolwireOnStdio],
        goals: &[Goal::ratio(
            ToolwireOnStdio,
            Measure::FirstRead,
            StdioReader,
            Limit::AtMost(10.0),
        )],
    },
];
