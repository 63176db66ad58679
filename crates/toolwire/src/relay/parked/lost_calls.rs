//! What is known about calls that are not parked any more.

use std::collections::{HashMap, VecDeque};

use toolwire_proto::relay::errors::LostCall;
use toolwire_proto::relay::parked::CallId;

/// The maximum number of calls.
const MAX_LOST_CALLS: usize = 4096;

/// The ends of the last calls that were removed, for clients that respond too late.
#[derive(Debug, Default)]
pub(super) struct LostCalls {
    by_id: HashMap<CallId, LostCall>,
    /// Oldest first.
    order: VecDeque<CallId>,
}

impl LostCalls {
    /// Stores the end of a call. The oldest one is dropped beyond the limit.
    pub(super) fn add(&mut self, id: CallId, end: LostCall) {
        if self.by_id.insert(id, end).is_some() {
            return;
        }
        self.order.push_back(id);
        if self.order.len() > MAX_LOST_CALLS
            && let Some(oldest) = self.order.pop_front()
        {
            self.by_id.remove(&oldest);
        }
    }

    /// Returns what is known about a call.
    pub(super) fn get(&self, id: CallId) -> LostCall {
        self.by_id.get(&id).copied().unwrap_or(LostCall::Unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_ends_are_known() {
        let id = |number: usize| u128::try_from(number).unwrap().to_be_bytes();
        let mut calls = LostCalls::default();
        for number in 0..=MAX_LOST_CALLS {
            calls.add(id(number), LostCall::Ended);
            calls.add(id(number), LostCall::Cancelled);
        }
        assert_eq!(calls.get(id(0)), LostCall::Unknown);
        assert_eq!(calls.get(id(1)), LostCall::Cancelled);
        assert_eq!(calls.get(id(MAX_LOST_CALLS)), LostCall::Cancelled);
        assert_eq!(calls.by_id.len(), MAX_LOST_CALLS);
        assert_eq!(calls.order.len(), MAX_LOST_CALLS);
    }
}
