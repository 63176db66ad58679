//! Reports the notifications that an outgoing queue drops, because its client reads too slowly.

use std::sync::{Arc, Weak};

use crate::server::middleware::NotificationDrop;
use crate::server::{Server, ServerInner};

/// Tells the middleware of a server about dropped notifications. The default value tells nothing.
#[derive(Clone, Default)]
pub(crate) struct DropReporter(Weak<ServerInner>);

impl DropReporter {
    pub(crate) fn new(server: &Server) -> Self {
        Self(Arc::downgrade(server.shared()))
    }

    /// Reports this number of notifications. The caller holds no lock of the queue, because a middleware may use it.
    pub(crate) fn report(&self, count: u64) {
        if count > 0 {
            self.report_some(count);
        }
    }

    // A separate function, because a queue seldom drops something.
    #[cold]
    fn report_some(&self, count: u64) {
        tracing::debug!(
            count,
            "dropped notifications, because the client reads slowly"
        );
        let Some(shared) = self.0.upgrade() else {
            return;
        };
        let snapshot = Server::of_shared(shared).snapshot();
        for _ in 0..count {
            snapshot.notification_dropped(NotificationDrop::ForClient);
        }
    }
}

impl std::fmt::Debug for DropReporter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DropReporter").finish_non_exhaustive()
    }
}
