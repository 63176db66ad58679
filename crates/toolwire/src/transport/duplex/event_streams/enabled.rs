//! Runs each `events/stream` request in a task of its own, outside the ledger of running requests.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use toolwire_proto::admit::Admitted;
use toolwire_proto::events::exhausted;
use toolwire_proto::outbox::OutgoingKind;
use toolwire_types::{ErrorObject, RequestId, ResponseId};

use crate::engine::encoding::{encode_error, encode_outcome};
use crate::engine::{BoxFuture, Cancellation, Outcome, TransportContext};
use crate::server::Server;
use crate::server::dispatch::Dispatch;
use crate::sync::lock;
use crate::transport::duplex::{MessageLoop, error_response};
use crate::transport::listen::forwarded_end;
use crate::transport::outgoing_queue::MessageSink as _;

/// The open streams of events, by the id of their request.
#[derive(Debug, Clone, Default)]
pub(in crate::transport::duplex) struct EventStreams(Arc<Mutex<HashMap<RequestId, Cancellation>>>);

impl EventStreams {
    /// Returns `true` if a method opens a stream of events.
    pub(in crate::transport::duplex) fn serves(method: &str) -> bool {
        method == "events/stream"
    }

    /// Ends a stream without another message, because the client cancelled it.
    pub(in crate::transport::duplex) fn cancel(&self, id: &RequestId) {
        if let Some(stream) = lock(&self.0).remove(id) {
            stream.cancel();
        }
    }

    /// Ends all streams without another message, because the client disconnected.
    pub(in crate::transport::duplex) fn cancel_all(&self) {
        for (_, stream) in lock(&self.0).drain() {
            stream.cancel();
        }
    }
}

impl MessageLoop {
    /// Opens a stream of events.
    #[cold]
    pub(in crate::transport::duplex) fn on_event_stream(&mut self, admitted: &Admitted<'_>) {
        let id = admitted.id.clone();
        if lock(&self.event_streams.0).contains_key(&id) {
            // A response with the id would end the open stream.
            let error = ErrorObject::invalid_params(format!(
                "a stream of events with the id {id} is already open"
            ));
            return self.respond(encode_error(ResponseId::Absent, error));
        }
        let limit = self.limits.subscriptions;
        if lock(&self.event_streams.0).len() >= limit {
            let error = exhausted(
                "too many event streams are open on this connection; cancel some first",
                "streams",
                limit as u64,
            );
            return self.respond(encode_error(ResponseId::Id(id), error));
        }
        // A stream must not hold the bytes of the chunk in which its request arrived.
        let context = self.context.with_sender(self.context.token.clone(), None);
        let context = Arc::new(context) as Arc<dyn TransportContext>;
        let cancellation = Cancellation::new();
        let snapshot = self.server.snapshot();
        let is_forwarded = snapshot.forwards();
        let opened = Server::open_in(snapshot, admitted, context, Some(cancellation.clone()));
        let work = match opened.map(|exchange| self.server.dispatch(exchange)) {
            Ok(Dispatch::Later(work)) => work,
            Ok(Dispatch::Now(outcome)) => return self.respond(encode_outcome(&id, outcome)),
            Err(error) => return self.respond(error_response(id, error, admitted.version)),
        };
        self.responses.flush_to(&self.context.out);
        lock(&self.event_streams.0).insert(id.clone(), cancellation.clone());
        let work = if is_forwarded {
            self.until_shutdown(admitted, work)
        } else {
            work
        };
        let (streams, out) = (self.event_streams.clone(), Arc::clone(self.out()));
        self.tasks.spawn(async move {
            let outcome = cancellation.unless_cancelled(work).await;
            // A cancelled stream was removed before. Another one may have its id now.
            if let Some(outcome) = outcome {
                lock(&streams.0).remove(&id);
                out.wait_for_capacity().await;
                out.push(OutgoingKind::Response, encode_outcome(&id, outcome));
            }
        });
    }

    /// Ends a forwarded stream when the server shuts down. A stream of the server itself ends on its own.
    fn until_shutdown(
        &self,
        admitted: &Admitted<'_>,
        work: BoxFuture<'static, Outcome>,
    ) -> BoxFuture<'static, Outcome> {
        let (id, version) = (admitted.id.clone(), admitted.version);
        let shutdown = self.server.shutdown_signal().clone();
        Box::pin(async move {
            tokio::select! {
                biased;
                outcome = work => outcome,
                () = shutdown.cancelled() => forwarded_end(&id, version),
            }
        })
    }
}
