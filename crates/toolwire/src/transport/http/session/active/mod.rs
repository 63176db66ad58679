//! A session this node works for: it has a running request or an open stream here.
//!
//! The record of a session is in the store, where every node finds it. This is what cannot be there: running requests,
//! questions that wait for the client, connections. It lives as long as somebody here needs it. The last ones that came
//! are kept a little longer, because a session that has just asked something will most likely ask again: as many, as long
//! and as large as is bounded here.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::time::Instant;
use toolwire_types::ResponseId;

use crate::engine::{BuildNameHasher, Cancellation, ClientRequests, ConnectionState, Principal};
use crate::store::{SessionRecord, SessionSignal, StoredSession};
use crate::transport::http::session::key::SessionKey;
use crate::transport::http::session::push::{PushReader, PushTask};
use crate::transport::http::session::stream_reader::ResumableStream;

/// The part of a session that belongs to this node.
#[derive(Debug)]
pub(crate) struct ActiveSession {
    pub(crate) key: SessionKey,
    pub(crate) state: Arc<ConnectionState>,
    pub(crate) caller: ClientRequests,
    /// The record as it was last seen in the store.
    stored: Mutex<StoredSession>,
    streams: Mutex<HashMap<String, Weak<ResumableStream>>>,
    push: Mutex<Weak<PushTask>>,
    registry: Weak<ActiveSessions>,
}

/// How many sessions are kept although nobody needs them at the moment. One takes two or three kilobytes, and twice what
/// its record takes.
const CACHED_SESSIONS: usize = 512;

/// The largest record of a session that is kept, as JSON. Clients may declare much about themselves.
const MAX_CACHED_RECORD_BYTES: usize = 16 * 1024;

/// All sessions this node works for, and the last ones it worked for.
#[derive(Debug, Default)]
pub(crate) struct ActiveSessions {
    known: Mutex<SessionTable>,
}

#[derive(Debug, Default)]
struct SessionTable {
    by_id: HashMap<String, Weak<ActiveSession>, BuildNameHasher>,
    /// In the order in which they came, with the time at which they did.
    kept: VecDeque<(Instant, Arc<ActiveSession>)>,
}

impl ActiveSessions {
    /// The live part of a stored session, which is brought up to date. It is kept no longer than a session may be idle.
    pub(crate) fn enter(
        self: &Arc<Self>,
        id: &str,
        principal: &Principal,
        stored: &StoredSession,
        idle: Duration,
        answer_timeout: impl FnOnce() -> Duration,
    ) -> Arc<ActiveSession> {
        // Ids are never used twice, so the principal is the one the store has just checked.
        if let Some(live) = self.find(id) {
            if live.refresh(stored) && is_large(&stored.record) {
                self.give_up(id);
            }
            return live;
        }
        let entering = Arc::new(ActiveSession {
            key: SessionKey {
                id: id.to_owned(),
                principal: principal.clone(),
                ended: Cancellation::new(),
            },
            state: Arc::new(ConnectionState::of_session(&stored.record)),
            caller: ClientRequests::with_random_ids(answer_timeout()),
            stored: Mutex::new(stored.clone()),
            streams: Mutex::default(),
            push: Mutex::default(),
            registry: Arc::downgrade(self),
        });
        let is_kept = !is_large(&stored.record);
        let mut known = self.lock();
        let given_up = known.evict_old(idle);
        let live = known.enter(Arc::clone(&entering), is_kept);
        // Not before the lock is free, because it takes the session from the list.
        drop(known);
        drop((given_up, entering));
        live
    }

    /// The live part of a session, if there is one.
    pub(crate) fn find(&self, id: &str) -> Option<Arc<ActiveSession>> {
        self.lock().find(id)
    }

    /// Ends what is left here of a session that the store does not have.
    pub(crate) fn end(&self, id: &str, principal: &Principal) {
        if let Some(live) = self
            .find(id)
            .filter(|live| live.key.principal == *principal)
        {
            live.end();
        }
    }

    /// Does not keep a session any more.
    fn give_up(&self, id: &str) {
        let mut known = self.lock();
        let at = known.kept.iter().position(|(_, live)| live.key.id == id);
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
            .filter(|(_, live)| Arc::strong_count(live) == 1);
        known.by_id.len() - resting.count()
    }

    fn lock(&self) -> MutexGuard<'_, SessionTable> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionTable {
    fn find(&self, id: &str) -> Option<Arc<ActiveSession>> {
        self.by_id.get(id).and_then(Weak::upgrade)
    }

    /// Lists a session, unless it is listed already, and keeps it if it should be. Returns the one that is listed.
    fn enter(&mut self, live: Arc<ActiveSession>, is_kept: bool) -> Arc<ActiveSession> {
        if let Some(listed) = self.find(&live.key.id) {
            return listed;
        }
        self.by_id
            .insert(live.key.id.clone(), Arc::downgrade(&live));
        if is_kept {
            self.kept.push_back((Instant::now(), Arc::clone(&live)));
        }
        live
    }

    /// Makes room for another one: takes those away that came too long ago, and the first one when there are too many.
    fn evict_old(&mut self, idle: Duration) -> Vec<(Instant, Arc<ActiveSession>)> {
        let old = self
            .kept
            .iter()
            .take_while(|(came, _)| came.elapsed() >= idle);
        let old = old
            .count()
            .max((self.kept.len() + 1).saturating_sub(CACHED_SESSIONS));
        self.kept.drain(..old).collect()
    }
}

/// Whether the record of a session is too large to be kept with it. Looks no further than it must.
fn is_large(record: &SessionRecord) -> bool {
    struct RecordSizeLimit(usize);

    impl io::Write for RecordSizeLimit {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let left = self.0.checked_sub(bytes.len());
            self.0 = left.ok_or(io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    serde_json::to_writer(RecordSizeLimit(MAX_CACHED_RECORD_BYTES), record).is_err()
}

impl ActiveSession {
    /// The record as it was last seen in the store, and as it should be; nothing before `initialize`. Both are of one
    /// moment: what somebody stores in between would look like a wish to undo it.
    pub(crate) fn stored_and_current(&self) -> Option<(StoredSession, SessionRecord)> {
        let known = self.lock_stored();
        let wanted = self.state.to_record()?;
        Some((known.clone(), wanted))
    }

    /// Takes over what another node, or another request here, has stored since; says whether there was anything.
    pub(crate) fn refresh(&self, stored: &StoredSession) -> bool {
        let mut known = self.lock_stored();
        let is_newer = known.revision < stored.revision;
        if is_newer {
            let before = std::mem::replace(&mut *known, stored.clone());
            self.state.rebase(&before.record, &stored.record);
        }
        is_newer
    }

    fn lock_stored(&self) -> MutexGuard<'_, StoredSession> {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Applies what another node did to the session.
    pub(crate) fn on_signal(&self, signal: SessionSignal) {
        match signal {
            SessionSignal::Responded { id, outcome } => {
                self.caller.resolve(&ResponseId::Id(id), outcome);
            }
            SessionSignal::Cancelled { id } => self.state.cancel(&id),
            SessionSignal::StreamMoved { stream } => self.transfer_stream(&stream),
            SessionSignal::Ended => self.end(),
            // For the streams of HTTP+SSE, which are no sessions of this kind.
            SessionSignal::Message { .. } => {}
        }
    }

    /// The session is over: ends everything that runs for it here.
    pub(crate) fn end(&self) {
        self.key.ended.cancel();
        self.state.cancel_all();
        self.caller.close();
        if let Some(registry) = self.registry.upgrade() {
            registry.give_up(&self.key.id);
        }
    }

    /// The stream of that name, if it is known here, else a new control of it.
    pub(crate) fn stream(&self, name: &str) -> Arc<ResumableStream> {
        let mut streams = self.streams();
        if let Some(control) = streams.get(name).and_then(Weak::upgrade) {
            return control;
        }
        streams.retain(|_, control| control.strong_count() > 0);
        let control = ResumableStream::new(name.to_owned());
        streams.insert(name.to_owned(), Arc::downgrade(&control));
        control
    }

    /// Registers a connection that reads what is pushed to the session; `start` begins to push when nothing does yet.
    pub(crate) fn read_pushed(
        &self,
        control: &Arc<ResumableStream>,
        start: impl FnOnce() -> Arc<PushTask>,
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
    pub(crate) fn transfer_stream(&self, stream: &str) {
        let control = self.streams().get(stream).and_then(Weak::upgrade);
        if let Some(control) = control {
            control.hand_over();
        }
        if let Some(push) = self.push().upgrade() {
            push.hand_over(stream);
        }
    }

    fn push(&self) -> MutexGuard<'_, Weak<PushTask>> {
        self.push.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn streams(&self) -> MutexGuard<'_, HashMap<String, Weak<ResumableStream>>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ActiveSession {
    fn drop(&mut self) {
        let Some(registry) = self.registry.upgrade() else {
            return;
        };
        let by_id = &mut registry.lock().by_id;
        // Somebody may have entered the session again since the last user left.
        if by_id
            .get(&self.key.id)
            .is_some_and(|live| live.strong_count() == 0)
        {
            by_id.remove(&self.key.id);
        }
    }
}

#[cfg(test)]
mod tests;
