//! Requests the peer sent: which of them may still be answered.
//!
//! Exchanges are told apart by a number of our own, because real clients use one id for everything: two requests in
//! flight with the same id both run and both answer, and a cancellation of that id means all of them.

use toolwire_types::RequestId;

use crate::requests::{DEFAULT_IN_FLIGHT, Overloaded};

/// Which inbound request an exchange is about; never used twice by one ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExchangeKey {
    number: u64,
    /// Where the ledger has it.
    place: usize,
}

/// A ledger that is empty gives back the memory of more places than this.
const SPARE_PLACES: usize = 64;

/// Whether the peer may cancel a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a request can be cancelled or not")]
pub enum CancelPolicy {
    /// Every request but `initialize`.
    Allowed,
    /// `initialize`: its cancellation is ignored.
    Refused,
}

impl CancelPolicy {
    /// The rule for a method: `initialize` is never cancelled.
    #[must_use]
    pub fn of(method: &str) -> Self {
        match method {
            "initialize" => Self::Refused,
            _ => Self::Allowed,
        }
    }
}

/// Whether anything may still be sent for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a request is either waiting or done with"
)]
pub enum SendState {
    /// The peer waits: send.
    Waiting,
    /// The peer cancelled, or has its answer: send nothing, notifications included.
    Closed,
}

/// The requests of the peer that are being worked on, each with a note of whoever works on it.
#[derive(Debug, Clone)]
pub struct InboundLedger<T = ()> {
    limit: usize,
    next: u64,
    /// Ids are only looked for when something is cancelled, which is rare, so there is no index of them that every request
    /// would have to enter and leave.
    places: Vec<Option<Exchange<T>>>,
    /// Which places are empty.
    free: Vec<usize>,
}

#[derive(Debug, Clone)]
struct Exchange<T> {
    number: u64,
    id: RequestId,
    cancellation: CancelPolicy,
    cancelled: bool,
    note: T,
}

impl<T> InboundLedger<T> {
    /// A ledger for at most `limit` requests at a time.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            next: 0,
            places: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Notes a request that is about to run.
    ///
    /// # Errors
    /// When the ledger is full; the request must then be answered with that error and not run.
    pub fn begin(
        &mut self,
        id: RequestId,
        cancellation: CancelPolicy,
        note: T,
    ) -> Result<ExchangeKey, Overloaded> {
        if self.is_full() {
            return Err(Overloaded);
        }
        Ok(self.enter(id, cancellation, note))
    }

    /// Notes a request that is about to wait, or to be looked after by somebody else. Whoever does this has found the
    /// ledger not to be [full](Self::is_full) before the request ran.
    pub fn enter(&mut self, id: RequestId, cancellation: CancelPolicy, note: T) -> ExchangeKey {
        let number = self.next;
        self.next += 1;
        let exchange = Some(Exchange {
            number,
            id,
            cancellation,
            cancelled: false,
            note,
        });
        let place = match self.free.pop() {
            Some(place) => {
                self.places[place] = exchange;
                place
            }
            None => {
                self.places.push(exchange);
                self.places.len() - 1
            }
        };
        ExchangeKey { number, place }
    }

    /// Whether no more requests may run.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.len() >= self.limit
    }

    /// Marks every request with this id as cancelled and returns those for which this is news.
    pub fn cancel(&mut self, id: &RequestId) -> Vec<ExchangeKey> {
        let mut news = Vec::new();
        for (place, exchange) in self.places.iter_mut().enumerate() {
            let Some(exchange) = exchange else { continue };
            let is_news = exchange.id == *id && !exchange.cancelled;
            if is_news && exchange.cancellation == CancelPolicy::Allowed {
                exchange.cancelled = true;
                let number = exchange.number;
                news.push(ExchangeKey { number, place });
            }
        }
        news
    }

    /// What was noted about a request in flight.
    #[must_use]
    pub fn note(&self, key: ExchangeKey) -> Option<&T> {
        self.find(key).map(|exchange| &exchange.note)
    }

    /// What was noted about each request in flight.
    pub fn notes(&self) -> impl Iterator<Item = &T> {
        self.places.iter().flatten().map(|exchange| &exchange.note)
    }

    /// Whether a notification may go out for this request now.
    #[must_use]
    pub fn may_send(&self, key: ExchangeKey) -> SendState {
        match self.find(key) {
            Some(exchange) if !exchange.cancelled => SendState::Waiting,
            _ => SendState::Closed,
        }
    }

    /// Removes a request that has its outcome. Says whether the outcome may be sent, and what was noted.
    pub fn finish(&mut self, key: ExchangeKey) -> (SendState, Option<T>) {
        if self.find(key).is_none() {
            return (SendState::Closed, None);
        }
        let finished = self.places[key.place].take();
        self.free.push(key.place);
        if self.is_empty() && self.places.len() > SPARE_PLACES {
            self.places = Vec::new();
            self.free = Vec::new();
        }
        match finished {
            Some(exchange) if !exchange.cancelled => (SendState::Waiting, Some(exchange.note)),
            cancelled => (SendState::Closed, cancelled.map(|exchange| exchange.note)),
        }
    }

    /// True when a request with this id is in flight and not cancelled.
    #[must_use]
    pub fn is_waiting(&self, id: &RequestId) -> bool {
        let mut exchanges = self.places.iter().flatten();
        exchanges.any(|exchange| exchange.id == *id && !exchange.cancelled)
    }

    /// How many requests are in flight.
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// True when nothing is in flight.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn find(&self, key: ExchangeKey) -> Option<&Exchange<T>> {
        let exchange = self.places.get(key.place)?.as_ref()?;
        (exchange.number == key.number).then_some(exchange)
    }
}

impl<T> Default for InboundLedger<T> {
    fn default() -> Self {
        Self::new(DEFAULT_IN_FLIGHT)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use toolwire_types::ErrorObject;

    use super::*;

    fn begin(ledger: &mut InboundLedger, id: impl Into<RequestId>) -> ExchangeKey {
        ledger
            .begin(id.into(), CancelPolicy::Allowed, ())
            .expect("the ledger has room")
    }

    #[test]
    fn a_finished_request_may_send_its_answer_once() {
        let mut ledger = InboundLedger::default();
        let key = begin(&mut ledger, 1);
        assert_eq!(ledger.may_send(key), SendState::Waiting);
        assert_eq!(ledger.finish(key).0, SendState::Waiting);
        assert_eq!(ledger.may_send(key), SendState::Closed);
        assert_eq!(ledger.finish(key).0, SendState::Closed);
        assert!(ledger.is_empty());
    }

    #[test]
    fn two_requests_with_one_id_both_answer() {
        let mut ledger = InboundLedger::default();
        let (first, second) = (begin(&mut ledger, 1), begin(&mut ledger, 1));
        assert_ne!(first, second);
        assert_eq!(ledger.finish(first).0, SendState::Waiting);
        assert_eq!(ledger.finish(second).0, SendState::Waiting);
    }

    #[test]
    fn cancelling_an_id_silences_every_request_that_has_it_and_no_other() {
        let mut ledger = InboundLedger::default();
        let (first, second) = (begin(&mut ledger, 1), begin(&mut ledger, 1));
        let text = begin(&mut ledger, "1");
        assert_eq!(ledger.cancel(&1.into()), [first, second]);
        assert_eq!(ledger.cancel(&1.into()), []);
        assert_eq!(ledger.may_send(first), SendState::Closed);
        assert!(!ledger.is_waiting(&1.into()));
        assert!(ledger.is_waiting(&"1".into()));
        assert_eq!(ledger.finish(second).0, SendState::Closed);
        assert_eq!(ledger.finish(text).0, SendState::Waiting);
    }

    #[test]
    fn cancelling_an_unknown_or_finished_id_does_nothing() {
        let mut ledger = InboundLedger::default();
        let key = begin(&mut ledger, 1);
        ledger.finish(key);
        assert_eq!(ledger.cancel(&1.into()), []);
        assert_eq!(ledger.cancel(&"never".into()), []);
    }

    #[test]
    fn initialize_is_never_cancelled() {
        let mut ledger = InboundLedger::default();
        let key = ledger
            .begin(1.into(), CancelPolicy::of("initialize"), ())
            .expect("the ledger has room");
        assert_eq!(CancelPolicy::of("tools/call"), CancelPolicy::Allowed);
        assert_eq!(ledger.cancel(&1.into()), []);
        assert_eq!(ledger.finish(key).0, SendState::Waiting);
    }

    #[test]
    fn a_full_ledger_refuses_and_takes_again_after_a_finish() {
        let mut ledger = InboundLedger::new(2);
        let first = begin(&mut ledger, 1);
        begin(&mut ledger, 2);
        let refused = ledger.begin(3.into(), CancelPolicy::Allowed, ());
        assert_eq!(refused, Err(Overloaded));
        let error = ErrorObject::from(Overloaded);
        assert_eq!(error.code, -32603);
        assert_eq!(
            error.data,
            Some(serde_json::json!({"reason": "overloaded"}).into())
        );
        ledger.finish(first);
        begin(&mut ledger, 3);
        assert_eq!(ledger.len(), 2);
    }

    #[test]
    fn an_old_key_does_not_reach_who_has_its_place_now() {
        let mut ledger = InboundLedger::default();
        let old = begin(&mut ledger, 1);
        ledger.finish(old);
        let new = begin(&mut ledger, 2);
        assert_eq!(ledger.finish(old), (SendState::Closed, None));
        assert_eq!(ledger.note(old), None);
        assert_eq!(ledger.finish(new), (SendState::Waiting, Some(())));
    }

    #[test]
    fn an_empty_ledger_holds_no_memory_of_a_crowd() {
        let mut ledger = InboundLedger::new(1000);
        let keys: Vec<_> = (0..1000).map(|id| begin(&mut ledger, id)).collect();
        for key in keys {
            ledger.finish(key);
        }
        assert_eq!(ledger.places.capacity(), 0);
        assert_eq!(ledger.len(), 0);
    }

    proptest! {
        #[test]
        fn after_everything_is_finished_nothing_is_left(
            steps in proptest::collection::vec((0_i64..4, 0_u8..3), 0..200),
        ) {
            let mut ledger = InboundLedger::new(16);
            let mut open = Vec::new();
            for (id, step) in steps {
                match step {
                    0 => open.extend(ledger.begin(id.into(), CancelPolicy::Allowed, ())),
                    1 => { ledger.cancel(&id.into()); }
                    _ => if let Some(key) = open.pop() { ledger.finish(key); },
                }
                prop_assert!(ledger.len() <= 16);
            }
            for key in open {
                ledger.finish(key);
            }
            prop_assert!(ledger.is_empty());
        }
    }
}
