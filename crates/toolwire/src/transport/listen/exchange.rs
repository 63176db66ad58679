//! A stream of changes as an exchange, for servers with middleware.

use std::sync::Arc;

use toolwire_proto::outbox::OutgoingKind;

use crate::engine::{BoxFuture, OutgoingNotification, TransportContext};
use crate::server::Server;
use crate::server::middleware::Endpoint;
use crate::server::visibility::StoredCaller;
use crate::transport::listen::{ListenFilter, ListenStream};
use crate::transport::outgoing_queue::MessageSink;

/// How the server ends a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListenEnd {
    /// The connection stays open, so the client gets a notification that the server cancels the stream.
    Cancelled,
    /// The connection ends with the stream.
    #[cfg(feature = "http-server")]
    Closed,
}

/// Returns the work of a `subscriptions/listen` request: it opens the stream, and ends it when `ended` completes.
/// Dropping the work ends the stream without another message.
pub(crate) fn listen_work(
    server: Server,
    filter: ListenFilter,
    end: ListenEnd,
    ended: BoxFuture<'static, ()>,
) -> Endpoint {
    Endpoint::Transport(Box::new(move |exchange| {
        Box::pin(async move {
            let context = &exchange.context;
            let sink = Arc::new(RequestSink(Arc::clone(context.scope().transport())));
            let request = (context.request_id().clone(), context.version());
            let caller = StoredCaller::of_scope(context.scope());
            let stream = ListenStream::open(&server, request, filter, sink, caller)?;
            ended.await;
            if end == ListenEnd::Cancelled {
                stream.send_cancelled();
            }
            stream.close(&server)
        })
    }))
}

/// Sends the changes as notifications of their request, so that middleware sees them.
#[derive(Debug)]
struct RequestSink(Arc<dyn TransportContext>);

impl MessageSink for RequestSink {
    fn push(&self, kind: OutgoingKind, bytes: Vec<u8>) {
        let message = bytes;
        self.0.notify(OutgoingNotification { message, kind });
    }

    #[cfg(all(
        any(feature = "events", feature = "relay"),
        any(feature = "tasks", feature = "http-server")
    ))]
    fn is_full(&self) -> bool {
        self.0.is_full()
    }
}
