//! An open `subscriptions/listen` request of a connection.

use tokio::task::AbortHandle;

use crate::server::Server;
use crate::transport::listen::ListenStream;

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
