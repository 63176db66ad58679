//! The active sessions of this node: those with a running request or an open stream here.
//!
//! The record of a session is in the store, where every node can read it. An active session contains the state that
//! cannot be stored: running requests, pending requests to the client, and connections. It exists as long as a request
//! or a stream uses it. The most recent sessions are cached a little longer, because their clients are likely to send
//! another request. The number, the age and the size of cached sessions are bounded.

pub(crate) mod loading;

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use tokio::time::Instant;
use toolwire_types::{ErrorObject, RawJson, RequestId};

use crate::engine::node_number::NodeNumber;
use crate::engine::{BuildNameHasher, Cancellation, ClientRequests, ConnectionState, Principal};
use crate::error::Error;
use crate::server::Server;
use crate::store::{SessionRecord, SessionSignal, StoredSession};
use crate::sync::lock;
use crate::transport::http::session::active::loading::{LoadingSessions, Signalled};
use crate::transport::http::session::early_cancellations::{EarlyCancellations, REQUEST_DELAY};
use crate::transport::http::session::key::SessionKey;
use crate::transport::http::session::push::{PushReader, PushTask};
use crate::transport::http::session::record;
use crate::transport::http::session::stream_reader::ResumableStream;
use crate::transport::outgoing_queue::{MessageSink, send_request};

/// The state of a session on this node.
#[derive(Debug)]
pub(crate) struct ActiveSession {
    pub(crate) key: SessionKey,
    pub(crate) state: Arc<ConnectionState>,
    pub(crate) client_requests: ClientRequests,
    node: Arc<NodeNumber>,
    /// The record as it was last read from the store.
    stored: Mutex<StoredSession>,
    streams: Mutex<HashMap<String, Weak<ResumableStream>>>,
    push: Mutex<Weak<PushTask>>,
    registry: Weak<ActiveSessions>,
    /// The number of connections that read a stream of the session.
    readers: AtomicUsize,
}

/// A connection that reads a stream of a session. While there is one, the session is renewed.
#[derive(Debug)]
pub(crate) struct SessionReader(Arc<ActiveSession>);

impl Drop for SessionReader {
    fn drop(&mut self) {
        self.0.readers.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The maximum number of cached sessions that are not in use. A session takes two or three kilobytes and twice the size
/// of its record.
const CACHED_SESSIONS: usize = 512;

/// The largest record of a cached session, as JSON. Clients may declare large capabilities.
const MAX_CACHED_RECORD_BYTES: usize = 16 * 1024;

/// The active sessions of this node, and its cached sessions.
#[derive(Debug, Default)]
pub(crate) struct ActiveSessions {
    table: Mutex<SessionTable>,
    pub(crate) loading: LoadingSessions,
    node: Arc<NodeNumber>,
    early_cancellations: EarlyCancellations,
    /// Raised when requests that still run end with an error, because this node stops soon.
    stopping: Cancellation,
    /// How long requests may continue after the shutdown of the server has begun. A listener raises `stopping` before;
    /// a service without a listener does not.
    drain: Duration,
    /// The server, which learns the end of each session. Only tests have none.
    server: Option<Server>,
}

#[derive(Debug, Default)]
struct SessionTable {
    by_id: HashMap<String, Weak<ActiveSession>, BuildNameHasher>,
    /// The cached sessions, oldest first, with the time at which they were added.
    cached: VecDeque<(Instant, Arc<ActiveSession>)>,
}

impl ActiveSessions {
    pub(crate) fn new(node: &Arc<NodeNumber>, server: &Server, drain: Duration) -> Self {
        Self {
            table: Mutex::default(),
            loading: LoadingSessions::default(),
            node: Arc::clone(node),
            early_cancellations: EarlyCancellations::default(),
            stopping: Cancellation::new(),
            drain,
            server: Some(server.clone()),
        }
    }

    /// Returns the active session of a stored session and updates it from the store. It is cached for at most `idle`.
    pub(crate) fn enter(
        self: &Arc<Self>,
        id: &str,
        principal: &Principal,
        stored: &StoredSession,
        idle: Duration,
        response_timeout: impl FnOnce() -> Duration,
    ) -> Arc<ActiveSession> {
        // Ids are never reused, so the principal is the one that the store has just checked.
        if let Some(active) = self.find(id) {
            active.refresh(stored);
            return active;
        }
        let created = Arc::new(ActiveSession {
            key: SessionKey {
                id: id.to_owned(),
                principal: principal.clone(),
                ended: Cancellation::new(),
            },
            state: Arc::new(record::state_of(&stored.record)),
            client_requests: ClientRequests::of_node(response_timeout(), Arc::clone(&self.node)),
            node: Arc::clone(&self.node),
            stored: Mutex::new(stored.clone()),
            streams: Mutex::default(),
            push: Mutex::default(),
            registry: Arc::downgrade(self),
            readers: AtomicUsize::new(0),
        });
        let is_cached = !is_large(&stored.record);
        let mut table = self.lock();
        let evicted = table.evict_old(idle);
        let active = table.enter(Arc::clone(&created), is_cached);
        // Dropped after the lock is released, because dropping a session locks the table.
        drop(table);
        drop((evicted, created));
        // Later signals find the active session.
        active.apply(&self.loading.signalled(id));
        active
    }

    /// Returns the active session with this id, if there is one.
    pub(crate) fn find(&self, id: &str) -> Option<Arc<ActiveSession>> {
        self.lock().find(id)
    }

    /// Ends the active session of a principal, if there is one. Its record may have been deleted by another node.
    pub(crate) fn end(&self, id: &str, principal: &Principal) {
        if let Some(active) = self
            .find(id)
            .filter(|active| active.key.principal == *principal)
        {
            active.end();
        }
    }

    /// Ends a session whose record is no longer in the store, whether or not it is active.
    pub(crate) fn end_deleted(&self, id: &str) {
        // Recorded first, so that a session that becomes active at this moment does not miss it.
        self.loading.set_ended(id);
        match self.find(id) {
            Some(active) => active.end(),
            None => self.session_closed(id),
        }
    }

    /// Applies a signal of another node.
    pub(crate) fn on_signal(&self, id: &str, signal: SessionSignal) {
        match &signal {
            SessionSignal::Ended => return self.end_deleted(id),
            // Recorded first, as in `end_deleted`.
            SessionSignal::Updated { record, revision } => {
                self.loading.set_record(id, record, *revision);
            }
            SessionSignal::Cancelled { .. } | SessionSignal::StreamMoved { .. } => {}
        }
        if let Some(active) = self.find(id) {
            active.on_signal(signal);
        }
    }

    /// Tells the server that a session has ended.
    fn session_closed(&self, id: &str) {
        self.loading.set_ended(id);
        if let Some(server) = &self.server {
            server.snapshot().session_closed(id);
        }
    }

    /// Returns the sessions with a connection that reads a stream.
    pub(crate) fn with_readers(&self) -> Vec<Arc<ActiveSession>> {
        let has_readers = |active: &Arc<ActiveSession>| active.readers.load(Ordering::Relaxed) > 0;
        self.all().into_iter().filter(has_readers).collect()
    }

    /// Returns the sessions that this node serves: those with a connection that reads a stream, or with a running request.
    pub(crate) fn served(&self) -> Vec<Arc<ActiveSession>> {
        let is_served = |active: &Arc<ActiveSession>| {
            active.readers.load(Ordering::Relaxed) > 0 || active.state.has_requests()
        };
        self.all().into_iter().filter(is_served).collect()
    }

    /// Returns `true` if requests of sessions are running.
    pub(crate) fn has_requests(&self) -> bool {
        self.all().iter().any(|active| active.state.has_requests())
    }

    /// Applies a cancellation that a client sent to another node some time ago. A request that has not begun yet is
    /// cancelled when it begins.
    pub(crate) fn cancel(&self, session: &str, id: &RequestId, age: Duration) {
        let now = Instant::now();
        let until = now + REQUEST_DELAY.saturating_sub(age);
        if until > now {
            // Added first, so that a request that begins at this moment is not missed.
            self.early_cancellations.add(session, id, until);
        }
        let Some(active) = self.find(session) else {
            return;
        };
        let before = age.saturating_sub(REQUEST_DELAY);
        let last = now.checked_sub(before);
        if last.is_some_and(|last| active.state.cancel_begun_until(id, last)) {
            self.early_cancellations.take(session, id);
        }
    }

    /// Returns `true` if a request that begins now was cancelled before.
    pub(crate) fn was_cancelled(&self, session: &str, id: &RequestId) -> bool {
        self.early_cancellations.take(session, id)
    }

    /// Ends the requests that still run with an error, because this node stops soon.
    pub(crate) fn stop_requests(&self) {
        self.stopping.cancel();
    }

    /// Raised by [`stop_requests`](Self::stop_requests).
    pub(crate) fn stopping(&self) -> &Cancellation {
        &self.stopping
    }

    /// Fails the pending requests of this node to the clients of all sessions.
    pub(crate) fn fail_client_requests(&self, error: &ErrorObject) {
        for active in self.all() {
            active.client_requests.fail_pending(error);
        }
    }

    fn all(&self) -> Vec<Arc<ActiveSession>> {
        let table = self.lock();
        table.by_id.values().filter_map(Weak::upgrade).collect()
    }

    /// Removes a session from the cache.
    fn evict(&self, id: &str) {
        let mut table = self.lock();
        let index = table
            .cached
            .iter()
            .position(|(_, active)| active.key.id == id);
        let evicted = index.and_then(|index| table.cached.remove(index));
        drop(table);
        drop(evicted);
    }

    /// Returns the number of sessions in use.
    pub(crate) fn len(&self) -> usize {
        let table = self.lock();
        let unused = table
            .cached
            .iter()
            .filter(|(_, active)| Arc::strong_count(active) == 1);
        table.by_id.len() - unused.count()
    }

    fn lock(&self) -> MutexGuard<'_, SessionTable> {
        lock(&self.table)
    }
}

impl SessionTable {
    fn find(&self, id: &str) -> Option<Arc<ActiveSession>> {
        self.by_id.get(id).and_then(Weak::upgrade)
    }

    /// Adds a session, unless the table already contains it. Returns the session in the table.
    fn enter(&mut self, active: Arc<ActiveSession>, is_cached: bool) -> Arc<ActiveSession> {
        if let Some(existing) = self.find(&active.key.id) {
            return existing;
        }
        self.by_id
            .insert(active.key.id.clone(), Arc::downgrade(&active));
        if is_cached {
            self.cached.push_back((Instant::now(), Arc::clone(&active)));
        }
        active
    }

    /// Removes cached sessions that are older than `idle`, and the oldest one if the cache is full.
    fn evict_old(&mut self, idle: Duration) -> Vec<(Instant, Arc<ActiveSession>)> {
        let old = self
            .cached
            .iter()
            .take_while(|(added, _)| added.elapsed() >= idle);
        let old = old
            .count()
            .max((self.cached.len() + 1).saturating_sub(CACHED_SESSIONS));
        self.cached.drain(..old).collect()
    }
}

/// Returns `true` if a record is too large to be cached. Serializes the record only up to the limit.
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
    /// Returns the record as it was last read from the store, and the current record. Returns `None` before
    /// `initialize`.
    ///
    /// Both are read under one lock. Otherwise a record that another request stores in between would look like a change
    /// that this request wants to undo.
    pub(crate) fn stored_and_current(&self) -> Option<(StoredSession, SessionRecord)> {
        let stored = self.lock_stored();
        let current = record::record_of(&self.state)?;
        Some((stored.clone(), current))
    }

    /// Applies the changes that another node or request has stored since. A session whose record became large is not
    /// cached any more.
    pub(crate) fn refresh(&self, stored: &StoredSession) {
        let mut current = self.lock_stored();
        if current.revision >= stored.revision {
            return;
        }
        let before = std::mem::replace(&mut *current, stored.clone());
        record::rebase(&self.state, &before.record, &stored.record);
        drop(current);
        if is_large(&stored.record)
            && let Some(registry) = self.registry.upgrade()
        {
            registry.evict(&self.key.id);
        }
    }

    /// Returns the revision of the record that was last read from the store.
    pub(crate) fn revision(&self) -> u64 {
        self.lock_stored().revision
    }

    /// Sends a request to the client and waits for its response, which may arrive at any node.
    ///
    /// A server that shuts down does not accept responses any more, so the request fails. If this node has a mailbox, it
    /// fails only when the node stops, because another node may accept the response.
    pub(crate) async fn request(
        &self,
        sink: &dyn MessageSink,
        method: &str,
        params: RawJson,
    ) -> Result<RawJson, Error> {
        let registry = self.registry.upgrade();
        let server = registry
            .as_ref()
            .and_then(|registry| registry.server.clone());
        let requesting = async {
            self.node.wait().await;
            send_request(sink, &self.client_requests, method, params).await
        };
        let (Some(registry), Some(server)) = (registry, server) else {
            return requesting.await;
        };
        let closing = async {
            server.shutdown_signal().cancelled().await;
            // A node that loses its number fails the request.
            if self.node.current().is_some() {
                tokio::select! {
                    () = registry.stopping.cancelled() => {}
                    () = tokio::time::sleep(registry.drain) => {}
                }
            }
        };
        tokio::select! {
            biased;
            response = requesting => response,
            () = closing => Err(Error::closed()),
        }
    }

    /// Registers a connection that reads a stream of the session.
    pub(crate) fn add_reader(self: &Arc<Self>) -> SessionReader {
        self.readers.fetch_add(1, Ordering::Relaxed);
        SessionReader(Arc::clone(self))
    }

    fn lock_stored(&self) -> MutexGuard<'_, StoredSession> {
        lock(&self.stored)
    }

    /// Applies a signal of another node to the session.
    fn on_signal(&self, signal: SessionSignal) {
        match signal {
            // The request may not have arrived yet, so it is the registry that cancels it.
            SessionSignal::Cancelled { .. } => {}
            SessionSignal::Updated { record, revision } => {
                self.refresh(&StoredSession::new(Arc::new(*record), revision));
            }
            SessionSignal::StreamMoved { stream } => self.transfer_stream(&stream),
            SessionSignal::Ended => self.end(),
        }
    }

    /// Applies what was signalled while the session was loaded.
    fn apply(&self, signalled: &Signalled) {
        if let Some(newest) = &signalled.newest {
            self.refresh(newest);
        }
        if signalled.has_ended {
            self.end();
        }
    }

    /// Ends the session on this node, with its requests and streams.
    pub(crate) fn end(&self) {
        self.key.ended.cancel();
        self.state.close();
        self.state.cancel_all();
        self.client_requests.close();
        if let Some(registry) = self.registry.upgrade() {
            registry.evict(&self.key.id);
            registry.session_closed(&self.key.id);
        }
    }

    /// Returns the control of the stream with this name, and creates it if this node has none.
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

    /// Registers a connection that reads pushed messages. `start` starts the push task if none is running.
    pub(crate) fn read_pushed(
        &self,
        control: &Arc<ResumableStream>,
        start: impl FnOnce() -> PushReader,
    ) -> PushReader {
        let mut push = self.push();
        if let Some(reader) = push.upgrade().and_then(|push| push.read(control)) {
            return reader;
        }
        let started = start();
        *push = Arc::downgrade(started.task());
        started
    }

    /// Returns the task that pushes messages to the GET streams of the session, if one is running on this node.
    pub(crate) fn push_task(&self) -> Option<Arc<PushTask>> {
        self.push().upgrade()
    }

    /// Hands a stream over to another node, where its client reads it now.
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
        lock(&self.push)
    }

    fn streams(&self) -> MutexGuard<'_, HashMap<String, Weak<ResumableStream>>> {
        lock(&self.streams)
    }
}

impl Drop for ActiveSession {
    fn drop(&mut self) {
        let Some(registry) = self.registry.upgrade() else {
            return;
        };
        let by_id = &mut registry.lock().by_id;
        // Another request may have added the session again in the meantime.
        if by_id
            .get(&self.key.id)
            .is_some_and(|active| active.strong_count() == 0)
        {
            by_id.remove(&self.key.id);
        }
    }
}

#[cfg(test)]
mod tests;
