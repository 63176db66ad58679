//! Requests sent to the peer, with the deadlines of their responses.
//!
//! Times are durations since an origin that the caller chooses. The waiter is the value that the caller notifies with
//! the response.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use toolwire_types::RequestId;

use crate::requests::{DEFAULT_IN_FLIGHT, Overloaded};

/// How long the sender waits for a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a request has exactly these two timeouts"
)]
pub struct RequestTimeouts {
    /// The request fails after this time without a response or progress. Default: 60 s.
    pub idle: Duration,
    /// The request fails after this time, even if progress was reported. Default: 600 s.
    pub maximum: Duration,
}

impl Default for RequestTimeouts {
    fn default() -> Self {
        Self {
            idle: Duration::from_secs(60),
            maximum: Duration::from_secs(600),
        }
    }
}

/// The requests that pending for the peer's response, each with a waiter `T`.
#[derive(Debug, Clone)]
pub struct OutboundLedger<T> {
    limit: usize,
    next: i64,
    waiting: BTreeMap<RequestId, PendingRequest<T>>,
    by_deadline: BTreeSet<(Duration, RequestId)>,
}

#[derive(Debug, Clone)]
struct PendingRequest<T> {
    waiter: T,
    idle: Duration,
    deadline: Duration,
    latest: Duration,
}

impl<T> OutboundLedger<T> {
    /// Creates a ledger for at most `limit` requests at a time.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            next: 1,
            waiting: BTreeMap::new(),
            by_deadline: BTreeSet::new(),
        }
    }

    /// Creates a ledger with the default limit whose ids start at `first`.
    ///
    /// Several nodes that send requests to the same client start at different numbers, so that their ids do not collide.
    /// Many clients store numbers as doubles, so `first` should be positive and well below 2⁵³.
    #[must_use]
    pub fn starting_at(first: i64) -> Self {
        Self {
            next: first,
            ..Self::default()
        }
    }

    /// Continues with ids that start at `next`. Pending requests keep their ids.
    pub fn continue_at(&mut self, next: i64) {
        self.next = next;
    }

    /// Records a request that is about to be sent, and returns its new id.
    ///
    /// # Errors
    /// Returns an error if the ledger is full. The waiter is dropped.
    pub fn begin(
        &mut self,
        waiter: T,
        now: Duration,
        timeouts: RequestTimeouts,
    ) -> Result<RequestId, Overloaded> {
        if self.waiting.len() >= self.limit {
            return Err(Overloaded);
        }
        let id = RequestId::Number(self.next);
        // The start may be the maximum. The ids then continue with negative numbers.
        self.next = self.next.wrapping_add(1);
        let latest = now.saturating_add(timeouts.maximum);
        let deadline = now.saturating_add(timeouts.idle).min(latest);
        self.by_deadline.insert((deadline, id.clone()));
        self.waiting.insert(
            id.clone(),
            PendingRequest {
                waiter,
                idle: timeouts.idle,
                deadline,
                latest,
            },
        );
        Ok(id)
    }

    /// Records progress, which extends the deadline up to the maximum. Returns `false` if the request is not pending.
    pub fn on_progress(&mut self, id: &RequestId, now: Duration) -> bool {
        let Some(pending) = self.waiting.get_mut(id) else {
            return false;
        };
        let deadline = now.saturating_add(pending.idle).min(pending.latest);
        if deadline > pending.deadline {
            self.by_deadline.remove(&(pending.deadline, id.clone()));
            self.by_deadline.insert((deadline, id.clone()));
            pending.deadline = deadline;
        }
        true
    }

    /// Removes the request of a response and returns its waiter. Returns `None` for unknown ids, late responses and
    /// second responses.
    ///
    /// Some servers respond to request `7` with id `"7"`. The ids of this ledger are numbers, so such a response is
    /// unambiguous and accepted.
    pub fn resolve(&mut self, id: &RequestId) -> Option<T> {
        spellings(id).find_map(|id| self.remove(&id))
    }

    /// Returns `true` if a request with this id is pending. Ids match as in [`resolve`](Self::resolve).
    #[must_use]
    pub fn is_waiting_for(&self, id: &RequestId) -> bool {
        spellings(id).any(|id| self.waiting.contains_key(&id))
    }

    /// Removes and returns every request whose deadline has passed.
    pub fn expired(&mut self, now: Duration) -> Vec<(RequestId, T)> {
        let mut expired = Vec::new();
        while let Some((deadline, id)) = self.by_deadline.first()
            && *deadline <= now
        {
            let id = id.clone();
            match self.remove(&id) {
                Some(waiter) => expired.push((id, waiter)),
                None => break,
            }
        }
        expired
    }

    /// Returns the earliest deadline of the pending requests.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Duration> {
        self.by_deadline.first().map(|(deadline, _)| *deadline)
    }

    /// Removes and returns all requests, lowest id first, after the connection has closed.
    pub fn fail_all(&mut self) -> Vec<(RequestId, T)> {
        self.by_deadline.clear();
        std::mem::take(&mut self.waiting)
            .into_iter()
            .map(|(id, pending)| (id, pending.waiter))
            .collect()
    }

    /// Returns the number of pending requests.
    #[must_use]
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Returns `true` if no request is pending.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    fn remove(&mut self, id: &RequestId) -> Option<T> {
        let pending = self.waiting.remove(id)?;
        self.by_deadline.remove(&(pending.deadline, id.clone()));
        Some(pending.waiter)
    }
}

impl<T> Default for OutboundLedger<T> {
    fn default() -> Self {
        Self::new(DEFAULT_IN_FLIGHT)
    }
}

/// Returns the ids that an id from the peer may stand for: the id itself, then the number that it spells.
///
/// Some servers respond to request `7` with id `"7"`. A side that uses only numbers may accept such a response.
///
/// ```
/// use toolwire_proto::requests::spellings;
///
/// let ids: Vec<_> = spellings(&"7".into()).collect();
/// assert_eq!(ids, ["7".into(), 7.into()]);
/// ```
pub fn spellings(id: &RequestId) -> impl Iterator<Item = RequestId> + use<> {
    let number = match id {
        RequestId::Number(_) => None,
        // Only the canonical form counts: "07" and "+7" are other texts.
        RequestId::String(text) => text
            .parse()
            .ok()
            .filter(|number: &i64| number.to_string() == **text),
    };
    std::iter::once(id.clone()).chain(number.map(RequestId::Number))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUTS: RequestTimeouts = RequestTimeouts {
        idle: Duration::from_secs(10),
        maximum: Duration::from_secs(25),
    };

    fn seconds(number: u64) -> Duration {
        Duration::from_secs(number)
    }

    fn begin(ledger: &mut OutboundLedger<&'static str>, waiter: &'static str) -> RequestId {
        ledger
            .begin(waiter, Duration::ZERO, TIMEOUTS)
            .expect("the ledger is not full")
    }

    #[test]
    fn response_resolves_its_request_once() {
        let mut ledger = OutboundLedger::default();
        let first = begin(&mut ledger, "first");
        let second = begin(&mut ledger, "second");
        assert_ne!(first, second);
        assert_eq!(ledger.resolve(&second), Some("second"));
        assert_eq!(ledger.resolve(&second), None);
        assert_eq!(ledger.resolve(&first), Some("first"));
        assert!(ledger.is_empty());
        assert_eq!(ledger.next_deadline(), None);
    }

    #[test]
    fn id_as_text_is_accepted_only_in_canonical_form() {
        let check = |id: &str, expected: Option<&str>| {
            let mut ledger = OutboundLedger::default();
            assert_eq!(begin(&mut ledger, "waiter"), 1.into());
            assert_eq!(ledger.resolve(&id.into()), expected, "{id:?}");
        };
        check("1", Some("waiter"));
        check("01", None);
        check("+1", None);
        check(" 1", None);
        check("2", None);
        check("", None);
        check("99999999999999999999", None);
    }

    #[test]
    fn ids_are_never_used_twice() {
        let mut ledger = OutboundLedger::default();
        let first = begin(&mut ledger, "first");
        ledger.resolve(&first);
        assert_ne!(begin(&mut ledger, "second"), first);
    }

    #[test]
    fn ids_start_at_the_given_number() {
        let mut ledger = OutboundLedger::starting_at(4_000_000_000_000);
        let first = begin(&mut ledger, "first");
        assert_eq!(first, 4_000_000_000_000.into());
        assert_eq!(begin(&mut ledger, "second"), 4_000_000_000_001.into());
        ledger.continue_at(7_000_000_000_000);
        assert_eq!(begin(&mut ledger, "third"), 7_000_000_000_000.into());
        assert_eq!(ledger.resolve(&first), Some("first"));
        assert_eq!(ledger.resolve(&1.into()), None);
    }

    #[test]
    fn ids_do_not_run_out() {
        let mut ledger = OutboundLedger::starting_at(i64::MAX);
        assert_eq!(begin(&mut ledger, "last"), i64::MAX.into());
        assert_eq!(begin(&mut ledger, "next"), i64::MIN.into());
    }

    #[test]
    fn progress_extends_the_deadline_up_to_the_maximum() {
        let mut ledger = OutboundLedger::default();
        let silent = begin(&mut ledger, "silent");
        let active = begin(&mut ledger, "active");
        assert!(ledger.expired(seconds(9)).is_empty());
        assert!(ledger.on_progress(&active, seconds(9)));
        assert_eq!(ledger.next_deadline(), Some(seconds(10)));
        assert_eq!(ledger.expired(seconds(10)), [(silent.clone(), "silent")]);
        assert!(!ledger.on_progress(&silent, seconds(11)));
        assert_eq!(ledger.next_deadline(), Some(seconds(19)));
        assert!(ledger.on_progress(&active, seconds(18)));
        assert_eq!(ledger.next_deadline(), Some(seconds(25)));
        assert!(ledger.on_progress(&active, seconds(24)));
        assert!(ledger.expired(seconds(24)).is_empty());
        assert_eq!(ledger.expired(seconds(25)), [(active, "active")]);
        assert!(ledger.is_empty());
    }

    #[test]
    fn maximum_timeouts_do_not_overflow() {
        let mut ledger = OutboundLedger::default();
        let forever = RequestTimeouts {
            idle: Duration::MAX,
            maximum: Duration::MAX,
        };
        let id = ledger
            .begin("waiter", seconds(5), forever)
            .expect("the ledger is not full");
        assert!(ledger.on_progress(&id, seconds(6)));
        assert_eq!(ledger.next_deadline(), Some(Duration::MAX));
    }

    #[test]
    fn closed_connection_fails_all_requests() {
        let mut ledger = OutboundLedger::default();
        let first = begin(&mut ledger, "first");
        let second = begin(&mut ledger, "second");
        assert_eq!(ledger.fail_all(), [(first, "first"), (second, "second")]);
        assert!(ledger.is_empty());
        assert_eq!(ledger.next_deadline(), None);
        assert!(ledger.expired(Duration::MAX).is_empty());
    }

    #[test]
    fn full_ledger_rejects_requests() {
        let mut ledger = OutboundLedger::new(1);
        begin(&mut ledger, "first");
        assert_eq!(
            ledger.begin("second", Duration::ZERO, TIMEOUTS),
            Err(Overloaded)
        );
        assert_eq!(ledger.len(), 1);
    }
}
