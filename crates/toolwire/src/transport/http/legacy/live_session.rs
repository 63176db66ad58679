//! A session this node works for: it has a running request or an open stream here.
//!
//! The record of a session is in the store, where every node finds it. This is what cannot be there: running requests,
//! questions that wait for the client, connections. It lives as long as somebody here needs it. The last ones that came
//! are kept a little longer, because a session that has just asked something will most likely ask again.

use std::collections::{HashMap, VecDeque};
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

/// How many sessions are kept although nobody needs them at the moment. One takes two or three kilobytes.
const KEPT: usize = 512;

/// All sessions this node works for, and the last ones it worked for.
#[derive(Debug, Default)]
pub(crate) struct LiveSessions {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    by_id: HashMap<String, Weak<LiveSession>>,
    /// In the order in which they came.
    kept: VecDeque<Arc<LiveSession>>,
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
        // Ids are never used twice, so the principal is the one the store has just checked.
        if let Some(live) = self.find(id) {
            live.refresh(stored);
            return live;
        }
        let entering = Arc::new(LiveSession {
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
        let (live, given_up) = self.lock().enter(entering);
        // Not before the lock is free, because it takes the session from the list.
        drop(given_up);
        live
    }

    /// The live part of a session, if there is one.
    pub(crate) fn find(&self, id: &str) -> Option<Arc<LiveSession>> {
        self.lock().find(id)
    }

    /// Does not keep a session that is over.
    fn give_up(&self, id: &str) {
        let mut known = self.lock();
        let at = known.kept.iter().position(|live| live.id == id);
        let given_up = at.and_then(|at| known.kept.remove(at));
        drop(known);
        drop(given_up);
    }

    /// How many sessions somebody needs.
    pub(crate) fn len(&self) -> usize {
        let known = self.lock();
        let resting = known
            .kept
            .iter()
            .filter(|live| Arc::strong_count(live) == 1);
        known.by_id.len() - resting.count()
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn find(&self, id: &str) -> Option<Arc<LiveSession>> {
        self.by_id.get(id).and_then(Weak::upgrade)
    }

    /// Lists and keeps a session, unless it is listed already. Returns it, and what must be dropped for it.
    fn enter(&mut self, live: Arc<LiveSession>) -> (Arc<LiveSession>, Option<Arc<LiveSession>>) {
        if let Some(listed) = self.find(&live.id) {
            return (listed, Some(live));
        }
        self.by_id.insert(live.id.clone(), Arc::downgrade(&live));
        self.kept.push_back(Arc::clone(&live));
        let given_up = match self.kept.len() > KEPT {
            true => self.kept.pop_front(),
            false => None,
        };
        (live, given_up)
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

    /// The session is over: ends everything that runs for it here.
    pub(crate) fn end(&self) {
        self.ended.cancel();
        self.state.cancel_all();
        self.caller.close();
        if let Some(registry) = self.registry.upgrade() {
            registry.give_up(&self.id);
        }
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
        let by_id = &mut registry.lock().by_id;
        // Somebody may have entered the session again since the last user left.
        if by_id
            .get(&self.id)
            .is_some_and(|live| live.strong_count() == 0)
        {
            by_id.remove(&self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use toolwire_types::{ClientCapabilities, ProtocolVersion};

    use super::*;
    use crate::store::SessionRecord;

    fn enter(sessions: &Arc<LiveSessions>, id: &str, revision: u64) -> Arc<LiveSession> {
        let mut record =
            SessionRecord::new(ProtocolVersion::LATEST, ClientCapabilities::new(), None);
        record.initialized = revision > 1;
        let stored = StoredSession::new(Arc::new(record), revision);
        sessions.enter(id, &Principal::anonymous(), &stored, Duration::ZERO)
    }

    #[test]
    fn the_next_request_finds_what_the_last_one_left_and_brings_it_up_to_date() {
        let sessions = Arc::new(LiveSessions::default());
        let first = enter(&sessions, "a", 1);
        assert!(!first.state.is_initialized());
        assert_eq!(sessions.len(), 1);
        let first = {
            let weak = Arc::downgrade(&first);
            drop(first);
            weak
        };
        assert_eq!(sessions.len(), 0, "nobody needs it");
        let second = enter(&sessions, "a", 2);
        assert!(Weak::ptr_eq(&first, &Arc::downgrade(&second)));
        assert!(second.state.is_initialized());
        assert_eq!(sessions.len(), 1);
    }

    #[test]
    fn only_the_last_ones_are_kept() {
        let sessions = Arc::new(LiveSessions::default());
        let needed = enter(&sessions, "needed", 1);
        enter(&sessions, "forgotten", 1);
        for id in 0..KEPT - 2 {
            enter(&sessions, &id.to_string(), 1);
        }
        assert!(sessions.find("forgotten").is_some());
        enter(&sessions, "one more", 1);
        enter(&sessions, "and another", 1);
        assert!(sessions.find("forgotten").is_none());
        assert!(sessions.find("0").is_some());
        // Not kept any more, it lives as long as it is needed.
        assert!(sessions.find("needed").is_some());
        assert_eq!(sessions.len(), 1);
        drop(needed);
        assert!(sessions.find("needed").is_none());
        assert_eq!(sessions.lock().by_id.len(), KEPT);
    }

    #[test]
    fn one_that_is_over_is_not_kept() {
        let sessions = Arc::new(LiveSessions::default());
        let running = enter(&sessions, "a", 1);
        enter(&sessions, "b", 1);
        for id in ["a", "b", "never seen"] {
            sessions.give_up(id);
        }
        assert!(sessions.find("b").is_none());
        assert!(sessions.find("a").is_some());
        drop(running);
        assert!(sessions.find("a").is_none());
    }
}
