//! The loads, and the goals of `toolwire proxy`.

use super::Proxy;
use crate::load::{Era, Kind, Plan, Workload};

/// A load, and its goal.
pub(super) struct Case {
    pub(super) name: &'static str,
    workload: Workload,
    connections: usize,
    requests: usize,
    /// The maximum CPU time of `toolwire proxy`, as a multiple of nginx. It is a goal if it is present.
    pub(super) most_of_nginx: Option<f64>,
}

impl Case {
    /// Returns the load, with a share of the work.
    pub(super) fn plan(&self, share: usize) -> Plan {
        let requests = (self.requests / share.max(1)).max(self.connections);
        Plan::new(self.workload, requests)
            .with_connections(self.connections)
            .with_warm_up(requests / 10)
    }

    /// Returns `true` if the proxy can serve the load. The decoding relay has no streams and no sessions.
    pub(super) fn has(&self, proxy: Proxy) -> bool {
        let is_simple =
            self.workload.era == Era::Modern && !matches!(self.workload.kind, Kind::Progress);
        proxy != Proxy::DecodingRelay || is_simple
    }
}

pub(super) const CASES: [Case; 6] = [
    Case {
        name: "small call, 32 connections",
        workload: Workload::new(Era::Modern, Kind::Echo, 16),
        connections: 32,
        requests: 40_000,
        most_of_nginx: Some(2.5),
    },
    Case {
        name: "small call, 1 connection",
        workload: Workload::new(Era::Modern, Kind::Echo, 16),
        connections: 1,
        requests: 10_000,
        most_of_nginx: None,
    },
    Case {
        name: "small call in sessions, 32 connections",
        workload: Workload::new(Era::Legacy, Kind::Echo, 16),
        connections: 32,
        requests: 40_000,
        most_of_nginx: None,
    },
    Case {
        name: "argument of 100 KB, 4 connections",
        workload: Workload::new(Era::Modern, Kind::Echo, 100_000),
        connections: 4,
        requests: 2_000,
        most_of_nginx: None,
    },
    Case {
        name: "result of 1 MB, 4 connections",
        workload: Workload::new(Era::Modern, Kind::Big, 1_000_000),
        connections: 4,
        requests: 500,
        most_of_nginx: None,
    },
    Case {
        name: "100 progress notifications, 4 connections",
        workload: Workload::new(Era::Modern, Kind::Progress, 100),
        connections: 4,
        requests: 500,
        most_of_nginx: None,
    },
];
