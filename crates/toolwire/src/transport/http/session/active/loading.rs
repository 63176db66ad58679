//! What other nodes signal about sessions that requests are loading.
//!
//! A session is active only after it was loaded. A signal that arrives in between would be missed, and the loaded record may
//! be older than the signal.

use std::collections::HashMap;
use std::sync::Arc;

use crate::store::{SessionRecord, StoredSession};
use crate::transport::http::session::active::{ActiveSession, ActiveSessions};

/// The sessions that requests are loading. Each request loads at most one, so the limit of requests also limits these.
#[derive(Debug, Default)]
pub(super) struct LoadingSessions {
    by_id: HashMap<String, LoadingSession>,
}

#[derive(Debug, Default)]
struct LoadingSession {
    requests: usize,
    signalled: Signalled,
}

/// What was signalled about a session while it was loaded.
#[derive(Debug, Default, Clone)]
pub(super) struct Signalled {
    newest: Option<StoredSession>,
    has_ended: bool,
}

impl LoadingSessions {
    pub(super) fn set_record(&mut self, id: &str, record: &SessionRecord, revision: u64) {
        let Some(loading) = self.by_id.get_mut(id) else {
            return;
        };
        let newest = &mut loading.signalled.newest;
        if newest
            .as_ref()
            .is_none_or(|newest| newest.revision < revision)
        {
            *newest = Some(StoredSession::new(Arc::new(record.clone()), revision));
        }
    }

    pub(super) fn set_ended(&mut self, id: &str) {
        if let Some(loading) = self.by_id.get_mut(id) {
            loading.signalled.has_ended = true;
        }
    }

    /// Returns what was signalled about a session.
    pub(super) fn signalled(&self, id: &str) -> Option<Signalled> {
        Some(self.by_id.get(id)?.signalled.clone())
    }

    fn start(&mut self, id: &str) {
        self.by_id.entry(id.to_owned()).or_default().requests += 1;
    }

    fn end(&mut self, id: &str) {
        if let Some(loading) = self.by_id.get_mut(id) {
            loading.requests -= 1;
            if loading.requests == 0 {
                self.by_id.remove(id);
            }
        }
    }
}

impl Signalled {
    /// Applies the signals to the session, which is active now.
    pub(super) fn apply(&self, active: &ActiveSession) {
        if let Some(newest) = &self.newest {
            active.refresh(newest);
        }
        if self.has_ended {
            active.end();
        }
    }
}

/// A request that loads a session. Drop it after the session was entered.
#[derive(Debug)]
pub(crate) struct LoadingGuard<'a> {
    sessions: &'a ActiveSessions,
    id: &'a str,
}

impl Drop for LoadingGuard<'_> {
    fn drop(&mut self) {
        self.sessions.lock().loading.end(self.id);
    }
}

impl ActiveSessions {
    /// Starts to load a session. What other nodes signal about it until the guard is dropped is applied when it is entered.
    pub(crate) fn start_loading<'a>(&'a self, id: &'a str) -> LoadingGuard<'a> {
        self.lock().loading.start(id);
        LoadingGuard { sessions: self, id }
    }
}
