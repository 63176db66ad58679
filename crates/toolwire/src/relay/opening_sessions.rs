//! The sessions of legacy clients whose `initialize` is in flight at the upstream server.
//!
//! A client may send `notifications/initialized` without waiting for the response to `initialize`. The notification then
//! waits for the session.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::engine::Cancellation;
use crate::relay::client_key::ClientKey;
use crate::relay::notification_gate::NotificationGate;
use crate::sync::lock;

/// The sessions that are being opened.
#[derive(Debug, Default)]
pub(super) struct OpeningSessions(Mutex<HashMap<ClientKey, Arc<OpeningSession>>>);

/// A session that is being opened.
#[derive(Debug, Default)]
pub(super) struct OpeningSession {
    /// The gate of the session. Notifications enter it before the session exists.
    pub(super) gate: Arc<NotificationGate>,
    /// Set when `initialize` has ended, with or without a session.
    pub(super) ended: Cancellation,
}

impl OpeningSessions {
    /// Adds a session until the returned value is dropped.
    pub(super) fn start(self: &Arc<Self>, key: ClientKey) -> OpeningGuard {
        let session = Arc::<OpeningSession>::default();
        lock(&self.0).insert(key.clone(), Arc::clone(&session));
        OpeningGuard {
            sessions: Arc::clone(self),
            key,
            session,
        }
    }

    pub(super) fn get(&self, key: &ClientKey) -> Option<Arc<OpeningSession>> {
        lock(&self.0).get(key).cloned()
    }
}

/// The entry of a session that is being opened. It is removed on drop.
#[derive(Debug)]
pub(super) struct OpeningGuard {
    sessions: Arc<OpeningSessions>,
    key: ClientKey,
    session: Arc<OpeningSession>,
}

impl OpeningGuard {
    /// Returns the gate for the session.
    pub(super) fn gate(&self) -> Arc<NotificationGate> {
        Arc::clone(&self.session.gate)
    }
}

impl Drop for OpeningGuard {
    fn drop(&mut self) {
        let mut sessions = lock(&self.sessions.0);
        // A second `initialize` of the client may have replaced the entry.
        let is_own = |session: &Arc<OpeningSession>| Arc::ptr_eq(session, &self.session);
        if sessions.get(&self.key).is_some_and(is_own) {
            sessions.remove(&self.key);
        }
        drop(sessions);
        self.session.ended.cancel();
    }
}
