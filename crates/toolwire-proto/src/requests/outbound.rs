//! Requests sent to the peer: who waits for which answer, and until when.
//!
//! Times are durations since an origin of the caller's choice. The slot is whatever the caller wakes with the answer.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use toolwire_types::RequestId;

use crate::requests::{DEFAULT_IN_FLIGHT, Overloaded};

/// How long an answer is awaited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a wait has these two ends and no more"
)]
pub struct RequestTimeouts {
    /// Without a sign of life for this long, the request has failed.
    pub idle: Duration,
    /// After this long it has failed, whatever progress was reported.
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

/// The requests that wait for the peer's answer, each with a slot `T`.
#[derive(Debug, Clone)]
pub struct OutboundLedger<T> {
    limit: usize,
    next: i64,
    waiting: BTreeMap<RequestId, PendingRequest<T>>,
    by_deadline: BTreeSet<(Duration, RequestId)>,
}

#[derive(Debug, Clone)]
struct PendingRequest<T> {
    slot: T,
    idle: Duration,
    deadline: Duration,
    latest: Duration,
}

impl<T> OutboundLedger<T> {
    /// A ledger for at most `limit` requests at a time.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            next: 1,
            waiting: BTreeMap::new(),
            by_deadline: BTreeSet::new(),
        }
    }

    /// A ledger of the usual size that mints its ids from `first` on.
    ///
    /// Several nodes that ask the same client start at random points, so that their ids do not meet. Many clients keep
    /// numbers as doubles: `first` is best positive and well below 2⁵³.
    #[must_use]
    pub fn starting_at(first: i64) -> Self {
        Self {
            next: first,
            ..Self::default()
        }
    }

    /// Notes a request that is about to be sent and mints its id, one that was never used before.
    ///
    /// # Errors
    /// When the ledger is full; the slot is dropped.
    pub fn begin(
        &mut self,
        slot: T,
        now: Duration,
        patience: RequestTimeouts,
    ) -> Result<RequestId, Overloaded> {
        if self.waiting.len() >= self.limit {
            return Err(Overloaded);
        }
        let id = RequestId::Number(self.next);
        // A caller's start may be the last number there is; the negative ones are as good.
        self.next = self.next.wrapping_add(1);
        let latest = now.saturating_add(patience.maximum);
        let deadline = now.saturating_add(patience.idle).min(latest);
        self.by_deadline.insert((deadline, id.clone()));
        self.waiting.insert(
            id.clone(),
            PendingRequest {
                slot,
                idle: patience.idle,
                deadline,
                latest,
            },
        );
        Ok(id)
    }

    /// Notes a sign of life: the wait starts anew, but never past its maximum. False when nobody waits.
    pub fn on_progress(&mut self, id: &RequestId, now: Duration) -> bool {
        let Some(wait) = self.waiting.get_mut(id) else {
            return false;
        };
        let deadline = now.saturating_add(wait.idle).min(wait.latest);
        if deadline > wait.deadline {
            self.by_deadline.remove(&(wait.deadline, id.clone()));
            self.by_deadline.insert((deadline, id.clone()));
            wait.deadline = deadline;
        }
        true
    }

    /// The slot an answer belongs to; `None` for unknown ids, late answers and second answers.
    ///
    /// Some servers answer request `7` with id `"7"`. Ids minted here are numbers, so such an answer is unambiguous and
    /// taken.
    pub fn resolve(&mut self, id: &RequestId) -> Option<T> {
        spellings(id).find_map(|id| self.remove(&id))
    }

    /// Whether a request with this id waits for its answer; as [`resolve`](Self::resolve), but the wait goes on.
    #[must_use]
    pub fn is_waiting_for(&self, id: &RequestId) -> bool {
        spellings(id).any(|id| self.waiting.contains_key(&id))
    }

    /// Removes and returns every request whose time is over.
    pub fn expired(&mut self, now: Duration) -> Vec<(RequestId, T)> {
        let mut expired = Vec::new();
        while let Some((deadline, id)) = self.by_deadline.first()
            && *deadline <= now
        {
            let id = id.clone();
            match self.remove(&id) {
                Some(slot) => expired.push((id, slot)),
                None => break,
            }
        }
        expired
    }

    /// When [`OutboundLedger::expired`] has something to say next.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Duration> {
        self.by_deadline.first().map(|(deadline, _)| *deadline)
    }

    /// Removes and returns everything, oldest id first: the connection is gone.
    pub fn fail_all(&mut self) -> Vec<(RequestId, T)> {
        self.by_deadline.clear();
        std::mem::take(&mut self.waiting)
            .into_iter()
            .map(|(id, wait)| (id, wait.slot))
            .collect()
    }

    /// How many requests wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// True when nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    fn remove(&mut self, id: &RequestId) -> Option<T> {
        let wait = self.waiting.remove(id)?;
        self.by_deadline.remove(&(wait.deadline, id.clone()));
        Some(wait.slot)
    }
}

impl<T> Default for OutboundLedger<T> {
    fn default() -> Self {
        Self::new(DEFAULT_IN_FLIGHT)
    }
}

/// The ids of this side that an id in the peer's words may stand for: itself, then the number it spells.
///
/// Some servers answer request `7` with id `"7"`. A side that mints only numbers may take such an answer.
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
        // Only the plain form: "07" and "+7" are other texts.
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

    const PATIENCE: RequestTimeouts = RequestTimeouts {
        idle: Duration::from_secs(10),
        maximum: Duration::from_secs(25),
    };

    fn seconds(number: u64) -> Duration {
        Duration::from_secs(number)
    }

    fn begin(ledger: &mut OutboundLedger<&'static str>, slot: &'static str) -> RequestId {
        ledger
            .begin(slot, Duration::ZERO, PATIENCE)
            .expect("the ledger has room")
    }

    #[test]
    fn an_answer_finds_its_slot_once() {
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
    fn an_id_written_as_text_is_understood_only_in_its_plain_form() {
        let check = |id: &str, expected: Option<&str>| {
            let mut ledger = OutboundLedger::default();
            assert_eq!(begin(&mut ledger, "slot"), 1.into());
            assert_eq!(ledger.resolve(&id.into()), expected, "{id:?}");
        };
        check("1", Some("slot"));
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
    fn ids_start_where_they_are_told_to() {
        let mut ledger = OutboundLedger::starting_at(4_000_000_000_000);
        let first = begin(&mut ledger, "first");
        assert_eq!(first, 4_000_000_000_000.into());
        assert_eq!(begin(&mut ledger, "second"), 4_000_000_000_001.into());
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
    fn silence_ends_a_wait_and_progress_prolongs_it_up_to_the_maximum() {
        let mut ledger = OutboundLedger::default();
        let quiet = begin(&mut ledger, "quiet");
        let lively = begin(&mut ledger, "lively");
        assert!(ledger.expired(seconds(9)).is_empty());
        assert!(ledger.on_progress(&lively, seconds(9)));
        assert_eq!(ledger.next_deadline(), Some(seconds(10)));
        assert_eq!(ledger.expired(seconds(10)), [(quiet.clone(), "quiet")]);
        assert!(!ledger.on_progress(&quiet, seconds(11)));
        assert_eq!(ledger.next_deadline(), Some(seconds(19)));
        assert!(ledger.on_progress(&lively, seconds(18)));
        assert_eq!(ledger.next_deadline(), Some(seconds(25)));
        assert!(ledger.on_progress(&lively, seconds(24)));
        assert!(ledger.expired(seconds(24)).is_empty());
        assert_eq!(ledger.expired(seconds(25)), [(lively, "lively")]);
        assert!(ledger.is_empty());
    }

    #[test]
    fn an_endless_patience_does_not_overflow() {
        let mut ledger = OutboundLedger::default();
        let forever = RequestTimeouts {
            idle: Duration::MAX,
            maximum: Duration::MAX,
        };
        let id = ledger
            .begin("slot", seconds(5), forever)
            .expect("the ledger has room");
        assert!(ledger.on_progress(&id, seconds(6)));
        assert_eq!(ledger.next_deadline(), Some(Duration::MAX));
    }

    #[test]
    fn a_dead_connection_fails_everything() {
        let mut ledger = OutboundLedger::default();
        let first = begin(&mut ledger, "first");
        let second = begin(&mut ledger, "second");
        assert_eq!(ledger.fail_all(), [(first, "first"), (second, "second")]);
        assert!(ledger.is_empty());
        assert_eq!(ledger.next_deadline(), None);
        assert!(ledger.expired(Duration::MAX).is_empty());
    }

    #[test]
    fn a_full_ledger_refuses() {
        let mut ledger = OutboundLedger::new(1);
        begin(&mut ledger, "first");
        assert_eq!(
            ledger.begin("second", Duration::ZERO, PATIENCE),
            Err(Overloaded)
        );
        assert_eq!(ledger.len(), 1);
    }
}
