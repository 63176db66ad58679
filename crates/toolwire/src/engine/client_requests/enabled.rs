//! Requests to the client: ids, pending responses, timeouts.
//!
//! The transport writes the request and passes the response back. Each call ends with the response, at its timeout, or
//! when the connection closes. A call that stops waiting before that notifies the client.

use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;
use toolwire_proto::requests::{OutboundLedger, RequestTimeouts};
use toolwire_types::{ErrorObject, RawJson, RequestId, ResponseId};

use crate::error::Error;
use crate::sync::lock;

type ClientResult = Result<RawJson, Error>;

/// The requests to the client on one connection that have no response yet.
#[derive(Debug)]
pub(crate) struct ClientRequests {
    origin: Instant,
    timeout: Duration,
    pending: Mutex<PendingRequests>,
}

#[derive(Debug, Default)]
struct PendingRequests {
    ledger: OutboundLedger<oneshot::Sender<ClientResult>>,
    closed: bool,
}

impl ClientRequests {
    /// Creates an empty set. Each request fails if the client does not respond within `timeout`.
    #[must_use]
    pub(crate) fn new(timeout: Duration) -> Self {
        Self {
            origin: Instant::now(),
            timeout,
            pending: Mutex::default(),
        }
    }

    /// Like [`new`](Self::new), with ids that start at a random number. Several nodes may send requests to one client,
    /// and their ids must differ.
    #[cfg(feature = "http-server")]
    pub(crate) fn with_random_ids(timeout: Duration) -> Self {
        // Every client handles integers up to 2^53. Half of that range is left for counting.
        let first = getrandom::u64().map_or(1, |random| (random >> 12).cast_signed() + 1);
        let pending = PendingRequests {
            ledger: OutboundLedger::starting_at(first),
            closed: false,
        };
        Self {
            pending: Mutex::new(pending),
            ..Self::new(timeout)
        }
    }

    /// Returns `true` if a request with this id is pending here.
    #[cfg(feature = "http-server")]
    pub(crate) fn is_waiting_for(&self, id: &ResponseId) -> bool {
        match id {
            ResponseId::Id(id) => self.pending().ledger.is_waiting_for(id),
            ResponseId::Null | ResponseId::Absent => false,
        }
    }

    /// Creates an id, lets `send` write the request, and waits for the response.
    ///
    /// Calls `on_abandoned` with the id if no task waits any more: at the timeout, or when this future is dropped.
    pub(crate) async fn call(
        &self,
        send: impl FnOnce(&RequestId),
        on_abandoned: impl Fn(&RequestId),
    ) -> Result<RawJson, Error> {
        let (sender, receiver) = oneshot::channel();
        let id = {
            let mut pending = self.pending();
            if pending.closed {
                return Err(Error::closed());
            }
            // The request is registered before it is sent, so that its response cannot arrive too early.
            let mut timeouts = RequestTimeouts::default();
            (timeouts.idle, timeouts.maximum) = (self.timeout, self.timeout);
            pending
                .ledger
                .begin(sender, self.origin.elapsed(), timeouts)
                .map_err(ErrorObject::from)?
        };
        let mut guard = PendingRequestGuard {
            requests: self,
            id: &id,
            on_abandoned: &on_abandoned,
            armed: true,
        };
        send(&id);
        let response = tokio::time::timeout(self.timeout, receiver).await;
        match response {
            Ok(response) => {
                guard.armed = false;
                response.unwrap_or_else(|_| Err(Error::closed()))
            }
            Err(_) => Err(Error::timeout()),
        }
    }

    /// Delivers a response to its pending request. A response without a pending request is ignored.
    pub(crate) fn resolve(&self, id: &ResponseId, outcome: Result<RawJson, ErrorObject>) {
        let ResponseId::Id(id) = id else { return };
        match self.pending().ledger.resolve(id) {
            // The task may have stopped waiting at this moment. That is not an error.
            Some(sender) => drop(sender.send(outcome.map_err(Error::from))),
            None => tracing::debug!(%id, "ignored a response without a pending request"),
        }
    }

    /// Fails all pending requests and all later calls.
    pub(crate) fn close(&self) {
        let mut pending = self.pending();
        pending.closed = true;
        for (_, sender) in pending.ledger.fail_all() {
            drop(sender.send(Err(Error::closed())));
        }
    }

    fn pending(&self) -> MutexGuard<'_, PendingRequests> {
        lock(&self.pending)
    }
}

struct PendingRequestGuard<'a, G: Fn(&RequestId)> {
    requests: &'a ClientRequests,
    id: &'a RequestId,
    on_abandoned: &'a G,
    armed: bool,
}

impl<G: Fn(&RequestId)> Drop for PendingRequestGuard<'_, G> {
    fn drop(&mut self) {
        if self.armed && self.requests.pending().ledger.resolve(self.id).is_some() {
            (self.on_abandoned)(self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(text: &str) -> RawJson {
        RawJson::from_string(text.to_owned()).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn response_reaches_its_pending_request() {
        let requests = ClientRequests::new(Duration::from_secs(60));
        let call = requests.call(
            |id| requests.resolve(&id.clone().into(), Ok(response("7"))),
            |_| panic!("gave up"),
        );
        assert_eq!(call.await.unwrap(), response("7"));
    }

    #[tokio::test(start_paused = true)]
    async fn call_without_response_times_out_and_notifies_the_client() {
        let requests = ClientRequests::new(Duration::from_secs(60));
        let abandoned = Mutex::new(Vec::new());
        let outcome = requests
            .call(|_| {}, |id| abandoned.lock().unwrap().push(id.clone()))
            .await;
        assert!(outcome.unwrap_err().is_timeout());
        assert_eq!(abandoned.lock().unwrap().len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn dropped_call_notifies_the_client() {
        let requests = ClientRequests::new(Duration::from_secs(60));
        let abandoned = Mutex::new(0);
        let call = requests.call(|_| {}, |_| *abandoned.lock().unwrap() += 1);
        assert!(
            tokio::time::timeout(Duration::from_secs(1), call)
                .await
                .is_err()
        );
        assert_eq!(*abandoned.lock().unwrap(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn closing_fails_pending_and_later_calls() {
        let requests = ClientRequests::new(Duration::from_secs(60));
        let (first, ()) = tokio::join!(requests.call(|_| {}, |_| {}), async { requests.close() });
        assert!(first.unwrap_err().is_closed());
        assert!(
            requests
                .call(|_| panic!("sent"), |_| {})
                .await
                .unwrap_err()
                .is_closed()
        );
    }
}
