//! The parked calls of a relay, with limits per principal and in all.

use std::collections::HashMap;
use std::time::Duration;

use crate::relay::parked::ParkedCall;

/// The maximum number of calls of one principal. The oldest one is removed for a new one, of those that have ended if
/// there are any.
pub const MAX_PARKED_PER_PRINCIPAL: usize = 16;

/// The maximum number of calls in all. The oldest one of the principal with the most calls is removed for a new one.
pub const MAX_PARKED: usize = 1024;

/// The id of a parked call, from random bytes.
pub type CallId = [u8; 16];

/// The digest of a principal, see [`principal_digest`](crate::relay::request_state::principal_digest).
pub type PrincipalDigest = [u8; 32];

/// The calls that may be parked or that were.
#[derive(Debug, Clone)]
pub struct ParkedCalls<I, O> {
    entries: HashMap<CallId, ParkedEntry<I, O>>,
    next_number: u64,
}

#[derive(Debug, Clone)]
struct ParkedEntry<I, O> {
    /// The order in which the calls were added.
    number: u64,
    principal: PrincipalDigest,
    call: ParkedCall<I, O>,
}

impl<I, O> Default for ParkedCalls<I, O> {
    fn default() -> Self {
        Self {
            entries: HashMap::new(),
            next_number: 0,
        }
    }
}

impl<I: Clone, O: Clone> ParkedCalls<I, O> {
    /// Creates a table without calls.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a call and returns those that it replaces. The relay cancels them at their upstreams.
    ///
    /// A call is added when its upstream requests input for the first time.
    pub fn insert(
        &mut self,
        id: CallId,
        principal: PrincipalDigest,
        call: ParkedCall<I, O>,
        now: Duration,
    ) -> Vec<(CallId, ParkedCall<I, O>)> {
        let mut removed = self.expire(now);
        let of_principal = |entry: &ParkedEntry<I, O>| entry.principal == principal;
        let own = self.entries.values().filter(|entry| of_principal(entry));
        if own.count() >= MAX_PARKED_PER_PRINCIPAL {
            removed.extend(self.remove_oldest_of(principal));
        } else if self.entries.len() >= MAX_PARKED
            && let Some(largest) = self.principal_with_most_calls()
        {
            removed.extend(self.remove_oldest_of(largest));
        }
        let number = self.next_number;
        self.next_number += 1;
        let entry = ParkedEntry {
            number,
            principal,
            call,
        };
        if let Some(same_id) = self.entries.insert(id, entry) {
            removed.push((id, same_id.call));
        }
        removed
    }

    /// Returns the call of a principal. A call of another principal is like an unknown one.
    pub fn get_mut(
        &mut self,
        id: CallId,
        principal: PrincipalDigest,
    ) -> Option<&mut ParkedCall<I, O>> {
        let entry = self.entries.get_mut(&id)?;
        (entry.principal == principal).then_some(&mut entry.call)
    }

    /// Removes a call, for example because its client disconnected before it was parked.
    pub fn remove(&mut self, id: CallId) -> Option<ParkedCall<I, O>> {
        self.entries.remove(&id).map(|entry| entry.call)
    }

    /// Removes the calls whose deadline or retention is over. The relay cancels those that were parked.
    ///
    /// The calls are returned as they were before, so that [`ParkedCall::is_open`] tells which to cancel. One that had
    /// expired in a round that came too late is not open.
    pub fn expire(&mut self, now: Duration) -> Vec<(CallId, ParkedCall<I, O>)> {
        let expired: Vec<CallId> = self
            .entries
            .iter()
            .filter(|(_, entry)| entry.call.has_expired(now))
            .map(|(id, _)| *id)
            .collect();
        let removed = expired.into_iter();
        removed
            .filter_map(|id| Some((id, self.remove(id)?)))
            .collect()
    }

    /// Returns the number of calls.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns `true` if there are no calls.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn principal_with_most_calls(&self) -> Option<PrincipalDigest> {
        let mut counts: HashMap<PrincipalDigest, (usize, u64)> = HashMap::new();
        for entry in self.entries.values() {
            let (count, oldest) = counts.entry(entry.principal).or_insert((0, u64::MAX));
            *count += 1;
            *oldest = entry.number.min(*oldest);
        }
        // Of equal counts, the principal with the oldest call.
        let most = counts
            .into_iter()
            .max_by_key(|(_, (count, oldest))| (*count, std::cmp::Reverse(*oldest)));
        most.map(|(principal, _)| principal)
    }

    fn remove_oldest_of(
        &mut self,
        principal: PrincipalDigest,
    ) -> Option<(CallId, ParkedCall<I, O>)> {
        let own = self
            .entries
            .iter()
            .filter(|(_, entry)| entry.principal == principal);
        let (id, _) = own.min_by_key(|(_, entry)| (entry.call.is_open(), entry.number))?;
        let id = *id;
        Some((id, self.remove(id)?))
    }
}
