//! The index of streams by name.

use std::collections::HashMap;

use crate::engine::Principal;
use crate::store::StreamKey;

/// The number of a stream within one log. It is never reused.
pub(super) type StreamId = u64;

type Session = HashMap<String, StreamId>;

/// An index of streams by principal, session and name, so that streams of different principals cannot collide.
#[derive(Debug, Default)]
pub(super) struct Directory {
    principals: HashMap<Principal, HashMap<String, Session>>,
}

impl Directory {
    pub(super) fn find(&self, principal: &Principal, key: &StreamKey) -> Option<StreamId> {
        let session = self.principals.get(principal)?.get(&key.session)?;
        session.get(&key.stream).copied()
    }

    pub(super) fn insert(&mut self, principal: &Principal, key: &StreamKey, id: StreamId) {
        let sessions = self.principals.entry(principal.clone()).or_default();
        let session = sessions.entry(key.session.clone()).or_default();
        session.insert(key.stream.clone(), id);
    }

    pub(super) fn remove(&mut self, principal: &Principal, key: &StreamKey) {
        let Some(sessions) = self.principals.get_mut(principal) else {
            return;
        };
        if let Some(session) = sessions.get_mut(&key.session) {
            session.remove(&key.stream);
            if session.is_empty() {
                sessions.remove(&key.session);
            }
        }
        if sessions.is_empty() {
            self.principals.remove(principal);
        }
    }

    /// Returns the streams of a session.
    pub(super) fn of_session(&self, principal: &Principal, session: &str) -> Vec<StreamId> {
        self.principals
            .get(principal)
            .and_then(|sessions| sessions.get(session))
            .map(|session| session.values().copied().collect())
            .unwrap_or_default()
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.principals.is_empty()
    }
}
