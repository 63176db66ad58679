//! Reports to the sources of mounts that the roots of a client changed.

use std::fmt;
use std::sync::Arc;

use crate::engine::{BoxFuture, TransportContext};
use crate::server::mount::Catalog;
use crate::server::snapshot::Snapshot;

/// The notification of a client whose roots changed.
pub(crate) const ROOTS_CHANGED: &str = "notifications/roots/list_changed";

type Report = dyn Fn(Arc<dyn TransportContext>) -> BoxFuture<'static, ()> + Send + Sync;

/// The interest of a source in the roots of clients.
#[derive(Clone)]
pub(crate) struct RootsListener(Arc<Report>);

impl RootsListener {
    /// Returns the work that reports changed roots. `client` is the channel to their client.
    fn report(&self, client: Arc<dyn TransportContext>) -> BoxFuture<'static, ()> {
        (self.0)(client)
    }
}

impl fmt::Debug for RootsListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RootsListener").finish_non_exhaustive()
    }
}

impl Catalog {
    /// Calls `report` with the channel to a client whose roots changed.
    pub(crate) fn with_roots_listener(
        mut self,
        report: impl Fn(Arc<dyn TransportContext>) -> BoxFuture<'static, ()> + Send + Sync + 'static,
    ) -> Self {
        let listener = RootsListener(Arc::new(report));
        self.declarations.roots_listeners.push(listener);
        self
    }
}

impl Snapshot {
    /// Returns the interest of all sources in the roots of clients.
    pub(crate) fn roots_listeners(&self) -> Vec<RootsListener> {
        let declared = self.declarations.values();
        let listeners = declared.flat_map(|declared| &declared.roots_listeners);
        listeners.cloned().collect()
    }

    /// Returns the work for a notification that the roots of a client changed: `handler`, and reports to the sources.
    /// Returns `None` without both.
    pub(crate) fn roots_work(
        &self,
        client: &Arc<dyn TransportContext>,
        handler: Option<BoxFuture<'static, ()>>,
    ) -> Option<BoxFuture<'static, ()>> {
        let listeners = self.roots_listeners();
        if listeners.is_empty() {
            return handler;
        }
        let client = Arc::clone(client);
        Some(Box::pin(async move {
            if let Some(handler) = handler {
                handler.await;
            }
            for listener in listeners {
                listener.report(Arc::clone(&client)).await;
            }
        }))
    }
}
