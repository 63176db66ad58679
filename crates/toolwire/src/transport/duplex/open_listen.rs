//! An open `subscriptions/listen` request of a connection.

use tokio::task::AbortHandle;
use toolwire_proto::outbox::OutgoingKind;
use toolwire_types::{ProtocolVersion, RequestId};

use crate::engine::encoding::encode_outcome;
use crate::engine::{Cancellation, ConnectionState};
use crate::server::Server;
use crate::transport::listen::{ListenStream, cancelled_by_server, forwarded_end};
use crate::transport::outgoing_queue::{MessageSink as _, OutgoingQueue};

/// An open stream of changes.
#[derive(Debug)]
pub(crate) enum OpenListen {
    Stream(ListenStream),
    /// The task of a stream inside the middleware of the server.
    Task(AbortHandle),
}

impl OpenListen {
    /// Returns `true` if a middleware ended the request.
    pub(crate) fn has_ended(&self) -> bool {
        match self {
            Self::Stream(_) => false,
            Self::Task(task) => task.is_finished(),
        }
    }

    /// Ends the stream without another message.
    pub(crate) fn close_silently(self) {
        match self {
            Self::Stream(stream) => stream.close_silently(),
            Self::Task(task) => task.abort(),
        }
    }

    /// Ends the stream because the server shuts down. A task ends its stream itself.
    pub(crate) fn cancel_and_conclude(self, server: &Server) {
        match self {
            Self::Stream(stream) => stream.cancel_and_conclude(server),
            Self::Task(_) => {}
        }
    }
}

/// A subscription that the server forwards.
#[derive(Debug)]
pub(super) struct ForwardedListen {
    pub(super) id: RequestId,
    pub(super) version: ProtocolVersion,
    pub(super) cancellation: Cancellation,
}

impl ForwardedListen {
    /// Returns `true` if the request was neither cancelled nor completed.
    pub(super) fn is_open(&self) -> bool {
        !self.cancellation.is_reusable() && !self.cancellation.is_cancelled()
    }

    /// Ends the subscription because the server shuts down, with the same messages as a stream of the server itself.
    pub(super) fn cancel_and_conclude(self, state: &ConnectionState, out: &OutgoingQueue) {
        // From now on the request sends no response of its own.
        if !state.cancel(&self.id, None) {
            return;
        }
        out.notify(&cancelled_by_server(&self.id), OutgoingKind::Other);
        let outcome = forwarded_end(&self.id, self.version);
        out.push(OutgoingKind::Response, encode_outcome(&self.id, outcome));
    }
}
