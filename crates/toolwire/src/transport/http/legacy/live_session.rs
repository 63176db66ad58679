//! A session this node works for: it has a running request or an open stream here.
//!
//! The record of a session is in the store, where every node finds it. This is what cannot be there: running requests,
//! questions that wait for the client, connections. It lives as long as somebody here needs it, and no longer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use crate::engine::{Caller, Cancellation, ConnectionState, Principal};
use crate::store::StoredSession;
use crate::transport::http::legacy::push::{Push, PushReader};
use crate::transport::http::legacy::stream_control::StreamControl;

/// The part of a session that belongs to this node.
#[derive(Debug)]
pub(crate) struct LiveSession {
    pub(crate) id: String,
    pub(crate) principal: Principal,
    pub(crate) state: Arc<ConnectionState>,
    pub(crate) caller: Caller,
    /// Raised when the session is over.
    pub(crate) ended: Cancellation,
    /// The record as it was last seen in the store.
    stored: Mutex<StoredSession>,
    streams: Mutex<HashMap<String, Weak<StreamControl>>>,
    push: Mutex<Weak<Push>>,
    registry: Weak<LiveSessions>,
}

/// All sessions this node works for.
#[derive(Debug, Default)]
pub(crate) struct LiveSessions {
    by_id: Mutex<HashMap<String, Weak<LiveSession>>>,
}

impl LiveSessions {
    /// The live part of a stored session, which is brought up to date.
    pub(crate) fn enter(
        self: &Arc<Self>,
        id: &str,
        principal: &Principal,
        stored: &StoredSession,
        answer_timeout: Duration,
    ) -> Arc<LiveSession> {
        let mut by_id = self.lock();
        let live = by_id.get(id).and_then(Weak::upgrade);
        // Ids are never used twice, so the principal is the one the store has just checked.
        if let Some(live) = live {
            drop(by_id);
            live.refresh(stored);
            return live;
        }
        let live = Arc::new(LiveSession {
            id: id.to_owned(),
            principal: principal.clone(),
            state: Arc::new(ConnectionState::of_session(&stored.record)),
            caller: Caller::starting_anywhere(answer_timeout),
            ended: Cancellation::new(),
            stored: Mutex::new(stored.clone()),
            streams: Mutex::default(),
            push: Mutex::default(),
            registry: Arc::downgrade(self),
        });
        by_id.insert(id.to_owned(), Arc::downgrade(&live));
        live
    }

    /// The live part of a session, if there is one.
    pub(crate) fn find(&self, id: &str) -> Option<Arc<LiveSession>> {
        self.lock().get(id).and_then(Weak::upgrade)
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Weak<LiveSession>>> {
        self.by_id.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LiveSession {
    /// The record as it was last seen in the store.
    pub(crate) fn stored(&self) -> StoredSession {
        self.lock_stored().clone()
    }

    /// Takes over what another node, or another request here, has stored since.
    pub(crate) fn refresh(&self, stored: &StoredSession) {
        let mut known = self.lock_stored();
        if known.revision < stored.revision {
            *known = stored.clone();
            self.state.restore(&stored.record);
        }
    }

    fn lock_stored(&self) -> MutexGuard<'_, StoredSession> {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends everything that runs for the session here.
    pub(crate) fn end(&self) {
        self.ended.cancel();
        self.state.cancel_all();
        self.caller.close();
    }

    /// The stream of that name, if it is known here, else a new control of it.
    pub(crate) fn stream(&self, name: &str) -> Arc<StreamControl> {
        let mut streams = self.streams();
        if let Some(control) = streams.get(name).and_then(Weak::upgrade) {
            return control;
        }
        streams.retain(|_, control| control.strong_count() > 0);
        let control = StreamControl::new(name.to_owned());
        streams.insert(name.to_owned(), Arc::downgrade(&control));
        control
    }

    /// Registers a connection that reads what is pushed to the session; `start` begins to push when nothing does yet.
    pub(crate) fn read_pushed(
        &self,
        control: &Arc<StreamControl>,
        start: impl FnOnce() -> Arc<Push>,
    ) -> Option<PushReader> {
        let mut push = self.push();
        if let Some(reader) = push.upgrade().and_then(|push| push.read(control)) {
            return Some(reader);
        }
        let started = start();
        *push = Arc::downgrade(&started);
        started.read(control)
    }

    /// Leaves a pushed stream to another node, where it is read now.
    pub(crate) fn hand_over(&self, stream: &str) {
        let control = self.streams().get(stream).and_then(Weak::upgrade);
        if let Some(control) = control {
            control.hand_over();
        }
        if let Some(push) = self.push().upgrade() {
            push.hand_over(stream);
        }
    }

    fn push(&self) -> MutexGuard<'_, Weak<Push>> {
        self.push.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn streams(&self) -> MutexGuard<'_, HashMap<String, Weak<StreamControl>>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for LiveSession {
    fn drop(&mut self) {
        let Some(registry) = self.registry.upgrade() else {
            return;
        };
        let mut by_id = registry.lock();
        // Somebody may have entered the session again since the last user left.
        if by_id
            .get(&self.id)
            .is_some_and(|live| live.strong_count() == 0)
        {
            by_id.remove(&self.id);
        }
    }
}
