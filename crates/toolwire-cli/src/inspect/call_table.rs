//! The stored calls of the page, and their limits.

use std::collections::BTreeMap;
use std::time::Instant;

use tokio::task::AbortHandle;
use toolwire::RawJson;
use toolwire_proto::inspection::ExchangeReport;

use crate::inspect::call_outcome::{CallOutcome, CallState};
use crate::saved_calls::SavedResponse;

/// The maximum size of the responses of one call that are stored for a saved call, with their messages, in bytes.
pub(super) const MAX_RESPONSE_BYTES: usize = 1024 * 1024;

/// The limits of calls.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallLimits {
    /// The maximum number of running calls. Further ones are rejected.
    pub(super) running: usize,
    /// The maximum number of calls whose outcome is stored. The oldest are removed.
    pub(super) ended: usize,
    /// The maximum size in bytes of all stored outcomes. The newest outcome is always stored.
    pub(super) bytes: usize,
}

impl Default for CallLimits {
    /// Returns 64 running calls, and 200 outcomes with 64 MiB in total.
    fn default() -> Self {
        Self {
            running: 64,
            ended: 200,
            bytes: 64 * 1024 * 1024,
        }
    }
}

#[derive(Debug)]
pub(super) struct CallEntry {
    pub(super) outcome: CallOutcome,
    /// The size of the outcome, once the call has ended.
    pub(super) stored_bytes: usize,
    pub(super) params: RawJson,
    /// The responses to input requests, as they were sent.
    pub(super) responses: Vec<SavedResponse>,
    /// The reports of the server about the requests of the call, the oldest first.
    pub(super) reports: Vec<ExchangeReport>,
    /// The responses for input requests that are still to come.
    pub(super) prepared: Vec<SavedResponse>,
    pub(super) start: Instant,
    pub(super) abort: Option<AbortHandle>,
}

#[derive(Debug, Default)]
pub(super) struct CallTable {
    pub(super) by_id: BTreeMap<u64, CallEntry>,
    pub(super) last: u64,
}

impl CallTable {
    /// Removes the oldest ended calls beyond the limits.
    pub(super) fn remove_oldest(&mut self, limits: CallLimits) {
        let ended: Vec<(u64, usize)> = self
            .by_id
            .iter()
            .filter(|(_, entry)| !entry.is_running())
            .map(|(id, entry)| (*id, entry.stored_bytes))
            .collect();
        let (mut count, mut bytes) = (0, 0);
        for (id, size) in ended.into_iter().rev() {
            count += 1;
            bytes += size;
            let is_newest = count == 1;
            if !is_newest && (count > limits.ended || bytes > limits.bytes) {
                self.by_id.remove(&id);
            }
        }
    }
}

impl CallEntry {
    pub(super) fn is_running(&self) -> bool {
        self.outcome.summary.state == CallState::Running
    }

    /// Stores a response for a saved call, if the limit permits it.
    pub(super) fn add_response(&mut self, sent: SavedResponse) {
        let stored = self.responses.iter().chain([&sent]).map(response_bytes);
        if stored.sum::<usize>() <= MAX_RESPONSE_BYTES {
            self.responses.push(sent);
        }
    }
}

pub(super) fn report_bytes(report: &ExchangeReport) -> usize {
    serde_json::to_string(report).unwrap_or_default().len()
}

pub(super) fn response_bytes(response: &SavedResponse) -> usize {
    response.message.len() + response.response.get().len()
}
