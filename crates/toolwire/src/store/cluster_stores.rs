//! The stores that all nodes of a service share.

use std::sync::Arc;

use crate::store::{Bus, EventLog, Mailboxes, SessionStore};

/// The stores that any node needs to serve any client: sessions, resumable streams, a bus and mailboxes.
///
/// The adapter of an engine converts into it, for example `&toolwire_redis::Redis`. `HttpOptions::with_cluster` sets all of
/// them, so that none is forgotten.
#[derive(Debug, Clone)]
pub struct ClusterStores {
    pub(crate) sessions: Arc<dyn SessionStore>,
    pub(crate) events: Arc<dyn EventLog>,
    pub(crate) bus: Arc<dyn Bus>,
    pub(crate) mailboxes: Arc<dyn Mailboxes>,
}

impl ClusterStores {
    /// Creates the stores of a service.
    #[must_use]
    pub fn new(
        sessions: impl SessionStore + 'static,
        events: impl EventLog + 'static,
        bus: impl Bus + 'static,
        mailboxes: impl Mailboxes + 'static,
    ) -> Self {
        Self {
            sessions: Arc::new(sessions),
            events: Arc::new(events),
            bus: Arc::new(bus),
            mailboxes: Arc::new(mailboxes),
        }
    }
}
