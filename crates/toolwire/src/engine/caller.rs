//! Requests to the client: ids, waiting, deadlines.
//!
//! The transport writes the request and feeds answers back; this keeps the two apart. Every call ends: with the answer,
//! at its deadline, or when the connection closes. A caller that stops waiting tells the client so.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;
use toolwire_proto::requests::{OutboundLedger, RequestTimeouts};
use toolwire_types::{ErrorObject, RawJson, RequestId, ResponseId};

use crate::error::Error;

type ClientResult = Result<RawJson, Error>;

/// The requests that are waiting for the client, on one connection.
#[derive(Debug)]
pub(crate) struct ClientRequests {
    origin: Instant,
    timeout: Duration,
    waiting: Mutex<PendingRequests>,
}

#[derive(Debug, Default)]
struct PendingRequests {
    ledger: OutboundLedger<oneshot::Sender<ClientResult>>,
    closed: bool,
}

impl ClientRequests {
    /// A caller whose requests fail when they are not answered within `timeout`.
    #[must_use]
    pub(crate) fn new(timeout: Duration) -> Self {
        Self {
            origin: Instant::now(),
            timeout,
            waiting: Mutex::default(),
        }
    }

    /// As [`new`](Self::new), with ids that begin at a random number. Several nodes may ask the same client, and their
    /// ids must not meet.
    #[cfg(feature = "http-server")]
    pub(crate) fn with_random_ids(timeout: Duration) -> Self {
        // Whole numbers up to 2^53 survive every client. Half of them are left to count on.
        let first = getrandom::u64().map_or(1, |random| (random >> 12).cast_signed() + 1);
        let waiting = PendingRequests {
            ledger: OutboundLedger::starting_at(first),
            closed: false,
        };
        Self {
            waiting: Mutex::new(waiting),
            ..Self::new(timeout)
        }
    }

    /// Whether somebody here waits for the answer to this request.
    #[cfg(feature = "http-server")]
    pub(crate) fn is_waiting_for(&self, id: &ResponseId) -> bool {
        match id {
            ResponseId::Id(id) => self.waiting().ledger.is_waiting_for(id),
            ResponseId::Null | ResponseId::Absent => false,
        }
    }

    /// Mints an id, lets `send` write the request, and waits for the answer.
    ///
    /// `give_up` is called with the id when nobody waits any more: at the deadline, or when this future is dropped.
    pub(crate) async fn call(
        &self,
        send: impl FnOnce(&RequestId),
        give_up: impl Fn(&RequestId),
    ) -> Result<RawJson, Error> {
        let (sender, receiver) = oneshot::channel();
        let id = {
            let mut waiting = self.waiting();
            if waiting.closed {
                return Err(Error::closed());
            }
            // Registered before it is sent, so that no answer can come too early.
            let mut patience = RequestTimeouts::default();
            (patience.idle, patience.maximum) = (self.timeout, self.timeout);
            waiting
                .ledger
                .begin(sender, self.origin.elapsed(), patience)
                .map_err(ErrorObject::from)?
        };
        let mut guard = PendingRequestGuard {
            caller: self,
            id: &id,
            give_up: &give_up,
            armed: true,
        };
        send(&id);
        let answer = tokio::time::timeout(self.timeout, receiver).await;
        match answer {
            Ok(answer) => {
                guard.armed = false;
                answer.unwrap_or_else(|_| Err(Error::closed()))
            }
            Err(_) => Err(Error::timeout()),
        }
    }

    /// Gives an answer to whoever waits for it; answers nobody waits for are ignored.
    pub(crate) fn resolve(&self, id: &ResponseId, outcome: Result<RawJson, ErrorObject>) {
        let ResponseId::Id(id) = id else { return };
        match self.waiting().ledger.resolve(id) {
            // A caller that stopped waiting in this moment is no error.
            Some(sender) => drop(sender.send(outcome.map_err(Error::from))),
            None => tracing::debug!(%id, "an answer that nobody waits for"),
        }
    }

    /// Fails everybody who waits, and everybody who comes later.
    pub(crate) fn close(&self) {
        let mut waiting = self.waiting();
        waiting.closed = true;
        for (_, sender) in waiting.ledger.fail_all() {
            drop(sender.send(Err(Error::closed())));
        }
    }

    fn waiting(&self) -> MutexGuard<'_, PendingRequests> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct PendingRequestGuard<'a, G: Fn(&RequestId)> {
    caller: &'a ClientRequests,
    id: &'a RequestId,
    give_up: &'a G,
    armed: bool,
}

impl<G: Fn(&RequestId)> Drop for PendingRequestGuard<'_, G> {
    fn drop(&mut self) {
        if self.armed && self.caller.waiting().ledger.resolve(self.id).is_some() {
            (self.give_up)(self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(text: &str) -> RawJson {
        RawJson::from_string(text.to_owned()).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_reaches_its_caller() {
        let caller = ClientRequests::new(Duration::from_secs(60));
        let call = caller.call(
            |id| caller.resolve(&id.clone().into(), Ok(answer("7"))),
            |_| panic!("gave up"),
        );
        assert_eq!(call.await.unwrap(), answer("7"));
    }

    #[tokio::test(start_paused = true)]
    async fn silence_ends_at_the_deadline_and_the_client_is_told() {
        let caller = ClientRequests::new(Duration::from_secs(60));
        let told = Mutex::new(Vec::new());
        let outcome = caller
            .call(|_| {}, |id| told.lock().unwrap().push(id.clone()))
            .await;
        assert!(outcome.unwrap_err().is_timeout());
        assert_eq!(told.lock().unwrap().len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn dropping_the_call_tells_the_client() {
        let caller = ClientRequests::new(Duration::from_secs(60));
        let told = Mutex::new(0);
        let call = caller.call(|_| {}, |_| *told.lock().unwrap() += 1);
        assert!(
            tokio::time::timeout(Duration::from_secs(1), call)
                .await
                .is_err()
        );
        assert_eq!(*told.lock().unwrap(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn closing_fails_those_who_wait_and_those_who_come() {
        let caller = ClientRequests::new(Duration::from_secs(60));
        let (first, ()) = tokio::join!(caller.call(|_| {}, |_| {}), async { caller.close() });
        assert!(first.unwrap_err().is_closed());
        assert!(
            caller
                .call(|_| panic!("sent"), |_| {})
                .await
                .unwrap_err()
                .is_closed()
        );
    }
}
