//! The parked calls with their requests, and the size of their stored outcomes.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use tokio::time::Instant;
use toolwire_proto::relay::errors::LostCall;
use toolwire_proto::relay::parked::{
    CallId, OpenRequest, ParkedCall, ParkedCalls, PrincipalDigest, Round,
};
use toolwire_types::RawJson;

use crate::relay::parked::lost_calls::LostCalls;
use crate::relay::parked::running_call::RunningCall;
use crate::relay::parked::{ParkedOutcome, UpstreamOutcome};

/// The maximum bytes of all stored outcomes.
const MAX_OUTCOME_BYTES: usize = 64 * 1024 * 1024;

/// The calls of a relay that have asked for input.
#[derive(Debug)]
pub(super) struct ParkedTable {
    /// The time 0 of the rules.
    origin: Instant,
    calls: ParkedCalls<u64, ParkedOutcome>,
    /// The owner of each call, and the size of its stored outcome.
    entries: HashMap<CallId, Entry>,
    /// The calls that have ended, oldest first.
    ended: VecDeque<CallId>,
    /// The sum of the sizes.
    bytes: usize,
    lost: LostCalls,
}

/// A call as the rules have it.
type RuledCall = ParkedCall<u64, ParkedOutcome>;

#[derive(Debug)]
struct Entry {
    owner: PrincipalDigest,
    outcome_bytes: usize,
    /// The request to the server while the call is parked.
    running: Option<RunningCall>,
}

impl Default for ParkedTable {
    fn default() -> Self {
        Self {
            origin: Instant::now(),
            calls: ParkedCalls::new(),
            entries: HashMap::new(),
            ended: VecDeque::new(),
            bytes: 0,
            lost: LostCalls::default(),
        }
    }
}

impl ParkedTable {
    /// Returns the number of calls that wait for input.
    pub(super) fn len(&self) -> usize {
        let entries = self.entries.values();
        entries.filter(|entry| entry.running.is_some()).count()
    }

    fn now(&self) -> Duration {
        self.origin.elapsed()
    }

    /// Adds a call. Returns the requests of those that it replaces.
    pub(super) fn insert(&mut self, id: CallId, owner: PrincipalDigest) -> Vec<RunningCall> {
        let now = self.now();
        let removed = self.calls.insert(id, owner, ParkedCall::new(), now);
        let removed = self.forget(removed);
        let entry = Entry {
            owner,
            outcome_bytes: 0,
            running: None,
        };
        self.entries.insert(id, entry);
        removed
    }

    /// Adds an input request to a call. Returns `false` if the call has too many or does not exist.
    pub(super) fn request_input(
        &mut self,
        id: CallId,
        owner: PrincipalDigest,
        number: u64,
        method: &str,
        params: Option<RawJson>,
    ) -> bool {
        let now = self.now();
        let call = self.calls.get_mut(id, owner);
        call.is_some_and(|call| call.request_input(number, method, params, now))
    }

    /// Returns `true` if there is a call with this id.
    pub(super) fn contains(&self, id: CallId) -> bool {
        self.entries.contains_key(&id)
    }

    /// Returns how long a call waits for further input requests, or `None` without an input request.
    pub(super) fn park_in(&mut self, id: CallId, owner: PrincipalDigest) -> Option<Duration> {
        let now = self.now();
        let call = self.calls.get_mut(id, owner)?;
        Some(call.park_at()?.saturating_sub(now))
    }

    /// Returns the current round of a call and its open input requests.
    pub(super) fn open_requests(
        &mut self,
        id: CallId,
        owner: PrincipalDigest,
    ) -> Option<(u32, Vec<OpenRequest<u64>>)> {
        let call = self.calls.get_mut(id, owner)?;
        Some((call.round(), call.open_requests().to_vec()))
    }

    /// Parks a call with the result of its round. Returns its request if the call does not exist.
    pub(super) fn park(
        &mut self,
        id: CallId,
        owner: PrincipalDigest,
        running: RunningCall,
        result: RawJson,
    ) -> Option<RunningCall> {
        let now = self.now();
        let outcome = ParkedOutcome::InputRequired(result);
        let bytes = bytes_of(&outcome);
        let (Some(call), Some(entry)) = (self.calls.get_mut(id, owner), self.entries.get_mut(&id))
        else {
            return Some(running);
        };
        call.park(outcome, now);
        entry.running = Some(running);
        self.set_outcome_bytes(id, bytes);
        None
    }

    /// Ends a call. Returns the requests of calls that were removed for its outcome.
    pub(super) fn finish(
        &mut self,
        id: CallId,
        owner: PrincipalDigest,
        outcome: &UpstreamOutcome,
    ) -> Vec<RunningCall> {
        let now = self.now();
        let Some(call) = self.calls.get_mut(id, owner) else {
            return Vec::new();
        };
        let outcome = ParkedOutcome::Ended(outcome.clone());
        let bytes = bytes_of(&outcome);
        call.finish(outcome, now);
        self.set_outcome_bytes(id, bytes);
        self.ended.push_back(id);
        let mut removed = Vec::new();
        while self.bytes > MAX_OUTCOME_BYTES
            && let Some(oldest) = self.ended.pop_front()
        {
            removed.extend(self.remove(oldest));
        }
        removed
    }

    /// Processes a round of a client. Returns `None` if the call does not exist. Otherwise also returns the request of a
    /// call that continues, and the owner.
    pub(super) fn receive_round(
        &mut self,
        id: CallId,
        round: u32,
        responses: &[(String, RawJson)],
    ) -> Option<(
        Round<u64, ParkedOutcome>,
        Option<RunningCall>,
        PrincipalDigest,
    )> {
        let now = self.now();
        let entry = self.entries.get_mut(&id)?;
        let call = self.calls.get_mut(id, entry.owner)?;
        let received = call.receive_round(round, responses, now);
        let continues = matches!(received, Round::Continue(_));
        let running = entry.running.take_if(|_| continues);
        Some((received, running, entry.owner))
    }

    /// Removes a call. Returns its request.
    pub(super) fn remove(&mut self, id: CallId) -> Vec<RunningCall> {
        let removed = self.calls.remove(id);
        self.forget(removed.map(|call| (id, call)))
    }

    /// Returns what is known about a call of which no round goes on.
    pub(super) fn end_of(&self, id: CallId) -> LostCall {
        if self.ended.contains(&id) {
            LostCall::Ended
        } else {
            self.lost.get(id)
        }
    }

    /// Removes the calls whose time is over. Returns their requests.
    pub(super) fn expire(&mut self) -> Vec<RunningCall> {
        let now = self.now();
        let expired = self.calls.expire(now);
        let removed = self.forget(expired);
        let entries = &self.entries;
        self.ended.retain(|id| entries.contains_key(id));
        removed
    }

    /// Removes what is stored about calls, except for how they ended. Returns their requests.
    fn forget(&mut self, calls: impl IntoIterator<Item = (CallId, RuledCall)>) -> Vec<RunningCall> {
        let mut requests = Vec::new();
        for (id, call) in calls {
            let Some(entry) = self.entries.remove(&id) else {
                continue;
            };
            self.bytes -= entry.outcome_bytes;
            let is_cancelled = call.is_open() || entry.running.is_some();
            let end = if is_cancelled {
                LostCall::Cancelled
            } else {
                LostCall::Ended
            };
            self.lost.add(id, end);
            requests.extend(entry.running);
        }
        requests
    }

    fn set_outcome_bytes(&mut self, id: CallId, bytes: usize) {
        if let Some(entry) = self.entries.get_mut(&id) {
            self.bytes = self.bytes - entry.outcome_bytes + bytes;
            entry.outcome_bytes = bytes;
        }
    }
}

/// Returns the memory of an outcome in bytes.
fn bytes_of(outcome: &ParkedOutcome) -> usize {
    let text = match outcome {
        ParkedOutcome::InputRequired(result) | ParkedOutcome::Ended(Ok(result)) => {
            result.get().len()
        }
        ParkedOutcome::Ended(Err(error)) => {
            error.message.len() + error.data.as_ref().map_or(0, |data| data.get().len())
        }
    };
    text + size_of::<Entry>()
}

#[cfg(test)]
mod tests {
    use toolwire_proto::relay::parked::OUTCOME_RETENTION;

    use super::*;

    const OWNER: PrincipalDigest = [1; 32];

    fn outcome(bytes: usize) -> UpstreamOutcome {
        let text = "x".repeat(bytes - 2 - size_of::<Entry>());
        Ok(RawJson::from_value(&text.into()))
    }

    fn finish(table: &mut ParkedTable, id: CallId, bytes: usize) {
        table.insert(id, OWNER);
        table.finish(id, OWNER, &outcome(bytes));
    }

    fn is_stored(table: &mut ParkedTable, id: CallId) -> bool {
        let received = table.receive_round(id, 0, &[]);
        matches!(received, Some((Round::Repeat(_), ..)))
    }

    #[tokio::test(start_paused = true)]
    async fn stored_outcomes_are_limited_in_bytes_and_time() {
        let mut table = ParkedTable::default();
        let [first, second, third] = [[1; 16], [2; 16], [3; 16]];
        finish(&mut table, first, MAX_OUTCOME_BYTES / 2);
        finish(&mut table, second, MAX_OUTCOME_BYTES / 2);
        assert!(is_stored(&mut table, first), "the limit is reached");
        finish(&mut table, third, 1000);
        assert!(!is_stored(&mut table, first), "the oldest gives way");
        assert!(is_stored(&mut table, second) && is_stored(&mut table, third));
        tokio::time::advance(OUTCOME_RETENTION).await;
        assert!(table.expire().is_empty());
        assert!(!is_stored(&mut table, second));
        assert_eq!((table.bytes, table.ended.len()), (0, 0));
    }
}
