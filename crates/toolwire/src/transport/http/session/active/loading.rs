//! What other nodes signal about sessions that requests are loading.
//!
//! A session is active only after it was loaded. A signal that arrives in between would be missed, and the loaded record may
//! be older than the signal.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::store::{SessionRecord, StoredSession};
use crate::sync::lock;

/// The sessions that requests are loading. Each request loads at most one, so the limit of requests also limits these.
#[derive(Debug, Default)]
pub(crate) struct LoadingSessions {
    by_id: Mutex<HashMap<String, LoadingSession>>,
}

#[derive(Debug, Default)]
struct LoadingSession {
    requests: usize,
    signalled: Signalled,
}

/// What was signalled about a session while it was loaded.
#[derive(Debug, Default, Clone)]
pub(super) struct Signalled {
    pub(super) newest: Option<StoredSession>,
    pub(super) has_ended: bool,
}

/// A request that loads a session. Drop it after the session was entered.
#[derive(Debug)]
pub(crate) struct LoadingGuard<'a> {
    sessions: &'a LoadingSessions,
    id: &'a str,
}

impl LoadingSessions {
    /// Starts to load a session. Signals about it are recorded until the guard is dropped.
    pub(crate) fn start<'a>(&'a self, id: &'a str) -> LoadingGuard<'a> {
        let mut by_id = lock(&self.by_id);
        by_id.entry(id.to_owned()).or_default().requests += 1;
        LoadingGuard { sessions: self, id }
    }

    pub(super) fn set_record(&self, id: &str, record: &SessionRecord, revision: u64) {
        if let Some(loading) = lock(&self.by_id).get_mut(id) {
            let newest = &mut loading.signalled.newest;
            let known = newest.as_ref().map_or(0, |newest| newest.revision);
            if newest.is_none() || known < revision {
                *newest = Some(StoredSession::new(Arc::new(record.clone()), revision));
            }
        }
    }

    pub(super) fn set_ended(&self, id: &str) {
        if let Some(loading) = lock(&self.by_id).get_mut(id) {
            loading.signalled.has_ended = true;
        }
    }

    /// Returns what was signalled about a session.
    pub(super) fn signalled(&self, id: &str) -> Signalled {
        let by_id = lock(&self.by_id);
        let loading = by_id.get(id);
        loading.map_or_else(Signalled::default, |loading| loading.signalled.clone())
    }
}

impl Drop for LoadingGuard<'_> {
    fn drop(&mut self) {
        let mut by_id = lock(&self.sessions.by_id);
        if let Some(loading) = by_id.get_mut(self.id) {
            loading.requests -= 1;
            if loading.requests == 0 {
                by_id.remove(self.id);
            }
        }
    }
}
