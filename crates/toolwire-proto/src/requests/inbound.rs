//! Requests from the peer, and which of them may still get a response.
//!
//! Exchanges are identified by the ledger's own number, because some clients use one id for everything. Two requests in
//! flight with the same id both run and both get a response. A cancellation of that id cancels all of them.

use toolwire_types::RequestId;

use crate::requests::{DEFAULT_IN_FLIGHT, Overloaded};

/// The key of an inbound request. One ledger never uses a key twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExchangeKey {
    number: u64,
    /// The index in the ledger.
    index: usize,
}

/// The capacity that an empty ledger retains. More capacity is freed.
const SPARE_ENTRIES: usize = 64;

/// Whether the peer may cancel a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a request is cancellable or not")]
pub enum CancelPolicy {
    /// Every request but `initialize`.
    Allowed,
    /// `initialize`: its cancellation is ignored.
    Ignored,
}

impl CancelPolicy {
    /// Returns the policy of a method: `initialize` is never cancelled.
    #[must_use]
    pub fn of(method: &str) -> Self {
        match method {
            "initialize" => Self::Ignored,
            _ => Self::Allowed,
        }
    }
}

/// Whether messages may still be sent for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a request is either waiting or closed"
)]
pub enum SendState {
    /// The peer waits for the response. Messages may be sent.
    Waiting,
    /// The peer cancelled the request or has its response. Nothing may be sent, including notifications.
    Closed,
}

/// The peer's requests in flight, each with caller-supplied data.
#[derive(Debug, Clone)]
pub struct InboundLedger<T = ()> {
    limit: usize,
    next: u64,
    /// The requests, without an index of their ids. Ids are looked up only on cancellation, which is rare, and every
    /// request would have to update an index.
    entries: Vec<Option<Exchange<T>>>,
    /// The indexes of empty entries.
    free: Vec<usize>,
}

#[derive(Debug, Clone)]
struct Exchange<T> {
    number: u64,
    id: RequestId,
    cancellation: CancelPolicy,
    cancelled: bool,
    data: T,
}

impl<T> InboundLedger<T> {
    /// Creates a ledger for at most `limit` requests at a time.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            next: 0,
            entries: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Records a request that is about to run.
    ///
    /// # Errors
    /// Returns an error if the ledger is full. The caller must send that error as the response and not run the request.
    pub fn begin(
        &mut self,
        id: RequestId,
        cancellation: CancelPolicy,
        data: T,
    ) -> Result<ExchangeKey, Overloaded> {
        if self.is_full() {
            return Err(Overloaded);
        }
        Ok(self.enter(id, cancellation, data))
    }

    /// Records a request that is about to wait, or that another task continues. The caller has checked before the
    /// request ran that the ledger is not [full](Self::is_full).
    pub fn enter(&mut self, id: RequestId, cancellation: CancelPolicy, data: T) -> ExchangeKey {
        let number = self.next;
        self.next += 1;
        let exchange = Some(Exchange {
            number,
            id,
            cancellation,
            cancelled: false,
            data,
        });
        let index = match self.free.pop() {
            Some(index) => {
                self.entries[index] = exchange;
                index
            }
            None => {
                self.entries.push(exchange);
                self.entries.len() - 1
            }
        };
        ExchangeKey { number, index }
    }

    /// Returns `true` if no more requests may run.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.len() >= self.limit
    }

    /// Marks every request with this id as cancelled, and returns those that were not cancelled before.
    pub fn cancel(&mut self, id: &RequestId) -> Vec<ExchangeKey> {
        self.cancel_if(id, |_| true)
    }

    /// Marks the requests with this id as cancelled whose data satisfies a condition, and returns those that were not
    /// cancelled before.
    pub fn cancel_if(
        &mut self,
        id: &RequestId,
        condition: impl Fn(&T) -> bool,
    ) -> Vec<ExchangeKey> {
        let mut cancelled = Vec::new();
        for (index, exchange) in self.entries.iter_mut().enumerate() {
            let Some(exchange) = exchange else { continue };
            let is_new = exchange.id == *id && !exchange.cancelled && condition(&exchange.data);
            if is_new && exchange.cancellation == CancelPolicy::Allowed {
                exchange.cancelled = true;
                let number = exchange.number;
                cancelled.push(ExchangeKey { number, index });
            }
        }
        cancelled
    }

    /// Returns the caller's data of a request in flight.
    #[must_use]
    pub fn data(&self, key: ExchangeKey) -> Option<&T> {
        self.find(key).map(|exchange| &exchange.data)
    }

    /// Returns the caller's data of each request in flight.
    pub fn all_data(&self) -> impl Iterator<Item = &T> {
        self.entries.iter().flatten().map(|exchange| &exchange.data)
    }

    /// Returns whether a notification may be sent for this request now.
    #[must_use]
    pub fn may_send(&self, key: ExchangeKey) -> SendState {
        match self.find(key) {
            Some(exchange) if !exchange.cancelled => SendState::Waiting,
            _ => SendState::Closed,
        }
    }

    /// Removes a completed request. Returns whether its outcome may be sent, and the caller's data.
    pub fn finish(&mut self, key: ExchangeKey) -> (SendState, Option<T>) {
        if self.find(key).is_none() {
            return (SendState::Closed, None);
        }
        let finished = self.entries[key.index].take();
        self.free.push(key.index);
        if self.is_empty() && self.entries.len() > SPARE_ENTRIES {
            self.entries = Vec::new();
            self.free = Vec::new();
        }
        match finished {
            Some(exchange) if !exchange.cancelled => (SendState::Waiting, Some(exchange.data)),
            cancelled => (SendState::Closed, cancelled.map(|exchange| exchange.data)),
        }
    }

    /// Returns `true` if a request with this id is in flight and not cancelled.
    #[must_use]
    pub fn is_waiting(&self, id: &RequestId) -> bool {
        let mut exchanges = self.entries.iter().flatten();
        exchanges.any(|exchange| exchange.id == *id && !exchange.cancelled)
    }

    /// Returns the number of requests in flight.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// Returns `true` if no request is in flight.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn find(&self, key: ExchangeKey) -> Option<&Exchange<T>> {
        let exchange = self.entries.get(key.index)?.as_ref()?;
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
            .expect("the ledger is not full")
    }

    #[test]
    fn finished_request_may_send_one_response() {
        let mut ledger = InboundLedger::default();
        let key = begin(&mut ledger, 1);
        assert_eq!(ledger.may_send(key), SendState::Waiting);
        assert_eq!(ledger.finish(key).0, SendState::Waiting);
        assert_eq!(ledger.may_send(key), SendState::Closed);
        assert_eq!(ledger.finish(key).0, SendState::Closed);
        assert!(ledger.is_empty());
    }

    #[test]
    fn two_requests_with_one_id_both_get_a_response() {
        let mut ledger = InboundLedger::default();
        let (first, second) = (begin(&mut ledger, 1), begin(&mut ledger, 1));
        assert_ne!(first, second);
        assert_eq!(ledger.finish(first).0, SendState::Waiting);
        assert_eq!(ledger.finish(second).0, SendState::Waiting);
    }

    #[test]
    fn cancellation_closes_every_request_with_the_id_and_no_other() {
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
    fn cancellation_can_depend_on_the_data_of_the_request() {
        let mut ledger = InboundLedger::default();
        let mut begin = |data: u32| ledger.begin(1.into(), CancelPolicy::Allowed, data);
        let (first, second) = (begin(1).unwrap(), begin(2).unwrap());
        assert_eq!(ledger.cancel_if(&1.into(), |data| *data < 2), [first]);
        assert_eq!(ledger.cancel_if(&1.into(), |data| *data < 2), []);
        assert_eq!(ledger.may_send(second), SendState::Waiting);
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
            .expect("the ledger is not full");
        assert_eq!(CancelPolicy::of("tools/call"), CancelPolicy::Allowed);
        assert_eq!(ledger.cancel(&1.into()), []);
        assert_eq!(ledger.finish(key).0, SendState::Waiting);
    }

    #[test]
    fn full_ledger_rejects_requests_until_one_finishes() {
        let mut ledger = InboundLedger::new(2);
        let first = begin(&mut ledger, 1);
        begin(&mut ledger, 2);
        let rejected = ledger.begin(3.into(), CancelPolicy::Allowed, ());
        assert_eq!(rejected, Err(Overloaded));
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
    fn old_key_does_not_match_the_request_that_reuses_its_entry() {
        let mut ledger = InboundLedger::default();
        let old = begin(&mut ledger, 1);
        ledger.finish(old);
        let new = begin(&mut ledger, 2);
        assert_eq!(ledger.finish(old), (SendState::Closed, None));
        assert_eq!(ledger.data(old), None);
        assert_eq!(ledger.finish(new), (SendState::Waiting, Some(())));
    }

    #[test]
    fn empty_ledger_frees_its_memory() {
        let mut ledger = InboundLedger::new(1000);
        let keys: Vec<_> = (0..1000).map(|id| begin(&mut ledger, id)).collect();
        for key in keys {
            ledger.finish(key);
        }
        assert_eq!(ledger.entries.capacity(), 0);
        assert_eq!(ledger.len(), 0);
    }

    proptest! {
        #[test]
        fn ledger_is_empty_after_all_requests_finish(
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
