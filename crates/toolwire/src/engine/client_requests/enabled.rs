//! Requests to the client: ids, pending responses, timeouts.
//!
//! The transport writes the request and passes the response back. Each call ends with the response, at its timeout, or
//! when the connection closes. A call that stops waiting before that notifies the client.

#[cfg(feature = "http-server")]
use std::num::NonZeroU16;
#[cfg(feature = "http-server")]
use std::sync::Arc;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;
use toolwire_proto::requests::{OutboundLedger, RequestTimeouts};
use toolwire_types::{ErrorObject, RawJson, RequestId, ResponseId};

#[cfg(feature = "http-server")]
use crate::engine::node_number::{self, NodeNumber};
use crate::error::Error;
use crate::sync::lock;

type ClientResult = Result<RawJson, Error>;

/// The requests to the client on one connection that have no response yet.
#[derive(Debug)]
pub(crate) struct ClientRequests {
    origin: Instant,
    timeout: Duration,
    /// This node, if other nodes may send requests to the same client.
    #[cfg(feature = "http-server")]
    node: Option<Arc<NodeNumber>>,
    pending: Mutex<PendingRequests>,
}

#[derive(Debug, Default)]
struct PendingRequests {
    ledger: OutboundLedger<oneshot::Sender<ClientResult>>,
    /// The number in the ids.
    #[cfg(feature = "http-server")]
    number: Option<NonZeroU16>,
    closed: bool,
}

impl ClientRequests {
    /// Creates an empty set. Each request fails if the client does not respond within `timeout`.
    #[must_use]
    pub(crate) fn new(timeout: Duration) -> Self {
        Self {
            origin: Instant::now(),
            timeout,
            #[cfg(feature = "http-server")]
            node: None,
            pending: Mutex::default(),
        }
    }

    /// Like [`new`](Self::new), with ids that contain the number of this node. Several nodes may send requests to one
    /// client, and their ids must differ.
    #[cfg(feature = "http-server")]
    pub(crate) fn of_node(timeout: Duration, node: Arc<NodeNumber>) -> Self {
        let pending = PendingRequests {
            ledger: OutboundLedger::starting_at(node_number::first_id(None)),
            ..PendingRequests::default()
        };
        Self {
            node: Some(node),
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
            #[cfg(feature = "http-server")]
            if let Some(node) = &self.node {
                pending.use_number(node.current());
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

    /// Fails all pending requests. Later calls are possible.
    #[cfg(feature = "http-server")]
    pub(crate) fn fail_pending(&self, error: &ErrorObject) {
        for (_, sender) in self.pending().ledger.fail_all() {
            drop(sender.send(Err(error.clone().into())));
        }
    }

    fn pending(&self) -> MutexGuard<'_, PendingRequests> {
        lock(&self.pending)
    }
}

#[cfg(feature = "http-server")]
impl PendingRequests {
    /// Lets the ids of later requests contain this number.
    fn use_number(&mut self, number: Option<NonZeroU16>) {
        if self.number != number {
            self.number = number;
            self.ledger.continue_at(node_number::first_id(number));
        }
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

    #[cfg(feature = "http-server")]
    #[tokio::test(start_paused = true)]
    async fn ids_contain_the_number_of_the_node() {
        let node = Arc::new(NodeNumber::new(true));
        let requests = ClientRequests::of_node(Duration::from_secs(60), Arc::clone(&node));
        let numbers = Mutex::new(Vec::new());
        for number in [0, 7, 7, 9] {
            node.set(NonZeroU16::new(number));
            let call = requests.call(
                |id| {
                    numbers.lock().unwrap().push(node_number::node_of(id));
                    requests.resolve(&id.clone().into(), Ok(response("7")));
                },
                |_| panic!("gave up"),
            );
            call.await.unwrap();
        }
        let expected = [0, 7, 7, 9].map(NonZeroU16::new);
        assert_eq!(*numbers.lock().unwrap(), expected);
    }

    #[cfg(feature = "http-server")]
    #[tokio::test(start_paused = true)]
    async fn later_calls_are_possible_after_pending_ones_failed() {
        let requests = ClientRequests::new(Duration::from_secs(60));
        let error = ErrorObject::internal("the number was lost");
        let (first, ()) = tokio::join!(requests.call(|_| {}, |_| {}), async {
            requests.fail_pending(&error);
        });
        assert_eq!(first.unwrap_err().rpc(), Some(&error));
        let second = requests.call(
            |id| requests.resolve(&id.clone().into(), Ok(response("7"))),
            |_| panic!("gave up"),
        );
        assert_eq!(second.await.unwrap(), response("7"));
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
