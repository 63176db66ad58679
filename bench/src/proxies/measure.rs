//! Measures one program in one round.

use std::io;
use std::path::Path;

use super::audit_log;
use super::cases::{Load, Work, share_of};
use super::parked_calls;
use crate::comparison::http::round;
use crate::comparison::{Sample, idle};
use crate::load::{Era, Kind, Plan, Workload};
use crate::process::ServerProcess;

/// The number of small calls before the memory of messages is measured, so that one-time costs are not included.
const CALLS_BEFORE: usize = 200;

/// A modern call has large messages from this number of bytes.
const LARGE_BYTES: usize = 10_000;

/// The memory of a program before the first round, if the memory for large messages is measured.
#[derive(Debug, Clone, Copy)]
pub(super) struct MemoryBefore(Option<u64>);

impl MemoryBefore {
    /// Measures the memory after a few small calls.
    pub(super) async fn of(
        process: &ServerProcess,
        work: Work,
        generator: &Path,
    ) -> io::Result<Self> {
        let Work::Load(load) = work else {
            return Ok(Self(None));
        };
        if !has_large_messages(load.workload) {
            return Ok(Self(None));
        }
        let small = Workload::new(Era::Modern, Kind::Echo, 1);
        let plan = Plan::new(small, CALLS_BEFORE).with_connections(load.connections);
        round(generator, process, &plan, None).await?;
        Ok(Self(process.memory().map(|memory| memory.resident)))
    }
}

fn has_large_messages(workload: Workload) -> bool {
    let is_call = matches!(workload.kind, Kind::Big | Kind::Echo);
    is_call && workload.era == Era::Modern && workload.amount >= LARGE_BYTES
}

/// A program, and what its measurement needs.
#[derive(Debug)]
pub(super) struct Measurement<'a> {
    pub(super) process: &'a ServerProcess,
    pub(super) before: MemoryBefore,
    pub(super) generator: &'a Path,
    pub(super) audit_file: &'a Path,
    /// The divisor of the work.
    pub(super) share: usize,
}

impl Measurement<'_> {
    pub(super) async fn run(&self, work: Work) -> io::Result<Sample> {
        match work {
            Work::Load(load) => self.load(load).await,
            Work::IdleSessions(sessions) => {
                idle::sessions(self.process, share_of(sessions, self.share)).await
            }
            Work::ParkedCalls(calls) => {
                parked_calls::start(self.process, share_of(calls, self.share)).await
            }
            Work::AuditLines(lines) => {
                let lines = share_of(lines, self.share);
                audit_log::write(self.generator, self.process, lines, self.audit_file).await
            }
            Work::Starts(_) => unreachable!("its programs do not listen"),
        }
    }

    async fn load(&self, load: Load) -> io::Result<Sample> {
        let plan = load.plan(self.share);
        let sample = round(self.generator, self.process, &plan, self.before.0).await?;
        let growth = sample.growth_bytes;
        Ok(Sample {
            bytes_each: growth.map(|growth| growth / load.connections as f64),
            growth_bytes: None,
            ..sample
        })
    }
}
