//! The loads, and the goals of `toolwire proxy`.

use super::Program;
use crate::load::{Era, Kind, Plan, Workload};

/// A load, and its goals.
pub(super) struct Case {
    pub(super) name: &'static str,
    workload: Workload,
    connections: usize,
    requests: usize,
    pub(super) goals: &'static [Goal],
}

/// A limit of a figure of a proxy, as a multiple of the same figure of another program in the same round.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub(super) struct Goal {
    pub(super) program: Program,
    pub(super) measure: Measure,
    pub(super) base: Program,
    pub(super) limit: Limit,
}

/// A figure that has a goal.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub(super) enum Measure {
    Cpu,
    MedianTime,
    Throughput,
}

/// The limit of a ratio.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub(super) enum Limit {
    AtMost(f64),
    AtLeast(f64),
}

impl Goal {
    const fn new(measure: Measure, base: Program, limit: Limit) -> Self {
        Self {
            program: Program::Toolwire,
            measure,
            base,
            limit,
        }
    }

    const fn of(self, program: Program) -> Self {
        Self { program, ..self }
    }
}

impl Case {
    /// Returns the load, with a share of the work.
    pub(super) fn plan(&self, share: usize) -> Plan {
        let requests = (self.requests / share.max(1)).max(self.connections);
        Plan::new(self.workload, requests)
            .with_connections(self.connections)
            .with_warm_up(requests / 10)
    }

    /// Returns `true` if the proxy can serve the load. The decoding relay has no streams and no sessions, and the load of
    /// the other eras and transports is a small call.
    pub(super) fn has(&self, proxy: Program) -> bool {
        let is_modern = self.workload.era == Era::Modern;
        match proxy {
            Program::DecodingRelay => is_modern && !matches!(self.workload.kind, Kind::Progress),
            Program::ToolwireToLegacy | Program::ToolwireToStdio => {
                is_modern && self.workload.amount == SMALL
            }
            _ => true,
        }
    }
}

/// The length of the text of a small call.
const SMALL: usize = 16;

pub(super) const CASES: [Case; 6] = [
    Case {
        name: "small call, 32 connections",
        workload: Workload::new(Era::Modern, Kind::Echo, SMALL),
        connections: 32,
        requests: 40_000,
        goals: &[
            Goal::new(Measure::Cpu, Program::Nginx, Limit::AtMost(2.5)),
            Goal::new(Measure::Throughput, Program::Direct, Limit::AtLeast(0.4)),
            Goal::new(Measure::Cpu, Program::Toolwire, Limit::AtMost(1.5))
                .of(Program::ToolwireToLegacy),
            Goal::new(Measure::Cpu, Program::Toolwire, Limit::AtMost(1.3))
                .of(Program::ToolwireToStdio),
        ],
    },
    Case {
        name: "small call, 1 connection",
        workload: Workload::new(Era::Modern, Kind::Echo, SMALL),
        connections: 1,
        requests: 10_000,
        goals: &[Goal::new(
            Measure::MedianTime,
            Program::Nginx,
            Limit::AtMost(2.5),
        )],
    },
    Case {
        name: "small call in sessions, 32 connections",
        workload: Workload::new(Era::Legacy, Kind::Echo, SMALL),
        connections: 32,
        requests: 40_000,
        goals: &[],
    },
    Case {
        name: "argument of 100 KB, 4 connections",
        workload: Workload::new(Era::Modern, Kind::Echo, 100_000),
        connections: 4,
        requests: 2_000,
        goals: &[Goal::new(
            Measure::Cpu,
            Program::DecodingRelay,
            Limit::AtMost(0.5),
        )],
    },
    Case {
        name: "result of 1 MB, 4 connections",
        workload: Workload::new(Era::Modern, Kind::Big, 1_000_000),
        connections: 4,
        requests: 500,
        goals: &[Goal::new(
            Measure::Cpu,
            Program::DecodingRelay,
            Limit::AtMost(0.5),
        )],
    },
    Case {
        name: "100 progress notifications, 4 connections",
        workload: Workload::new(Era::Modern, Kind::Progress, 100),
        connections: 4,
        requests: 500,
        goals: &[Goal::new(
            Measure::Throughput,
            Program::Direct,
            Limit::AtLeast(0.4),
        )],
    },
];
