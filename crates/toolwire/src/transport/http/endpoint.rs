//! The state that all requests to one endpoint share, and their access to the stores.

use std::fmt;
use std::sync::{Arc, Once};
use std::time::Duration;

use toolwire_types::{ErrorObject, Notification, RequestId, ResponseId};

use crate::engine::Principal;
use crate::server::Server;
use crate::server::middleware::NotificationDrop;
use crate::store::{
    BusMessage, BusPayload, LoadedSession, NodeMessage, SessionRecord, SessionSignal, StoreError,
    StoredSession,
};
use crate::transport::drop_reporter::DropReporter;
use crate::transport::http::byte_budget::ByteBudget;
use crate::transport::http::cluster::ClusterNode;
use crate::transport::http::cluster::handler::ClusterHandler;
use crate::transport::http::http_sse::streams::HttpSseStreams;
use crate::transport::http::options::{HttpOptions, LegacyMode};
use crate::transport::http::permits::{Permits, RequestPermit, StreamPermit};
use crate::transport::http::published_card::PublishedCard;
use crate::transport::http::random_id::random_id;
use crate::transport::http::request::guard::Guard;
use crate::transport::http::response::event_queue::{EventQueue, SharedByQueues};
use crate::transport::http::response::event_stream::EventStream;
use crate::transport::http::response::stall_monitor::StallMonitor;
use crate::transport::http::response::stream_source::StreamSource;
use crate::transport::http::response::{self, HttpResponse};
use crate::transport::http::session::active::loading::LoadingGuard;
use crate::transport::http::session::active::{ActiveSession, ActiveSessions};
use crate::transport::http::session::expiry::SessionExpiry;
use crate::transport::http::session::key::SessionKey;
use crate::transport::http::session::reload::SessionReload;
use crate::transport::http::session::renewal::StoredSessionRenewal;
use crate::transport::http::session::stream_writer::StreamWriter;
use crate::transport::http::stores::Stores;

/// How often a request tries to store its changes to a session that other requests change at the same time.
const REPLACE_ATTEMPTS: usize = 8;

/// A server with its HTTP options, limits and sessions.
pub(crate) struct HttpEndpoint {
    pub(crate) server: Server,
    pub(crate) options: HttpOptions,
    pub(crate) guard: Guard,
    pub(crate) published_card: Option<PublishedCard>,
    pub(crate) requests: Arc<Permits>,
    pub(crate) streams: Arc<Permits>,
    queues: Arc<SharedByQueues>,
    pub(crate) stalls: Arc<StallMonitor>,
    pub(crate) active_sessions: Arc<ActiveSessions>,
    pub(crate) http_sse: Arc<HttpSseStreams>,
    pub(crate) node: ClusterNode,
    /// Whether this node has begun to continue stored tasks.
    tasks_started: Once,
    pub(crate) stores: Stores,
    expiry: SessionExpiry,
    pub(crate) renewal: StoredSessionRenewal,
    reload: SessionReload,
}

impl HttpEndpoint {
    pub(crate) fn new(server: Server, mut options: HttpOptions) -> Self {
        options.set_session_idle();
        warn_without_mailboxes(&server, &options);
        warn_of_missing_stores(&server, &options);
        let limits = &options.limits;
        let node = ClusterNode::new(options.bus.is_some(), options.mailboxes.is_some());
        let stream_bytes = ByteBudget::new(limits.stream_bytes, limits.queued_bytes);
        let drops = DropReporter::new(&server);
        Self {
            guard: Guard::new(&options),
            published_card: PublishedCard::new(&server, &options),
            requests: Permits::new(
                limits.requests_in_flight,
                ByteBudget::new(limits.bytes_in_flight, limits.body_bytes),
            ),
            queues: SharedByQueues::new(limits.outbox(), Arc::clone(&stream_bytes), drops),
            streams: Permits::new(limits.open_streams, stream_bytes),
            stalls: StallMonitor::new(limits.write_stall),
            active_sessions: Arc::new(ActiveSessions::new(node.number(), &server, limits.drain)),
            http_sse: Arc::default(),
            node,
            tasks_started: Once::new(),
            stores: Stores::new(&options),
            expiry: SessionExpiry::default(),
            renewal: StoredSessionRenewal::default(),
            reload: SessionReload::default(),
            server,
            options,
        }
    }

    /// Returns `true` if the endpoint opens sessions.
    pub(crate) fn has_sessions(&self) -> bool {
        has_sessions(&self.server, &self.options)
    }

    /// Returns the session with this id, or `None` if the principal has no such session.
    pub(crate) async fn session(
        &self,
        id: &str,
        principal: &Principal,
    ) -> Result<Option<Arc<ActiveSession>>, StoreError> {
        let idle = self.options.limits.effective_session_idle();
        let (active, _loading) = self.active_or_loading(id, principal);
        let known = active.as_ref().map(|active| active.revision());
        let loaded = self.stores.load_session(id, principal, idle, known).await?;
        Ok(self.enter(id, principal, loaded, active))
    }

    /// Returns the session with this id like [`session`](Self::session), after its client has sent `notifications/initialized`.
    ///
    /// Most stores do not record that in the same step. Then the session is still to be initialized.
    pub(crate) async fn initialized_session(
        &self,
        id: &str,
        principal: &Principal,
    ) -> Result<Option<Arc<ActiveSession>>, StoreError> {
        let idle = self.options.limits.effective_session_idle();
        let (active, _loading) = self.active_or_loading(id, principal);
        let loaded = self.stores.load_initialized_session(id, principal, idle);
        let loaded = loaded.await?;
        Ok(self.enter(id, principal, loaded, active))
    }

    /// Returns the active session that a request is about to load again, or the guard of a request that loads it anew. Only
    /// a bus has signals that the guard is for.
    fn active_or_loading<'a>(
        &'a self,
        id: &'a str,
        principal: &Principal,
    ) -> (Option<Arc<ActiveSession>>, Option<LoadingGuard<'a>>) {
        let active = self.active_sessions.find(id);
        let active = active.filter(|active| active.key.principal == *principal);
        let is_signalled = active.is_none() && self.stores.has_bus();
        let loading = is_signalled.then(|| self.active_sessions.loading.start(id));
        (active, loading)
    }

    /// Returns the active session of a session that was loaded. Ends it if the session does not exist any more.
    fn enter(
        &self,
        id: &str,
        principal: &Principal,
        loaded: Option<LoadedSession>,
        active: Option<Arc<ActiveSession>>,
    ) -> Option<Arc<ActiveSession>> {
        match loaded {
            Some(LoadedSession::Newer(stored)) => {
                let idle = self.options.limits.effective_session_idle();
                let timeout = || self.server.snapshot().options.client_response_timeout;
                let active = self
                    .active_sessions
                    .enter(id, principal, &stored, idle, timeout);
                Some(active)
            }
            Some(LoadedSession::Same) => active,
            None => {
                if let Some(active) = active {
                    active.end();
                }
                None
            }
        }
    }

    /// Opens a session and returns its id.
    pub(crate) async fn open_session(
        &self,
        principal: &Principal,
        record: SessionRecord,
    ) -> Result<String, StoreError> {
        let id = random_id("", 32)?;
        let ttl = self.options.limits.session_init;
        let version = record.version;
        let created = self.stores.create_session(&id, principal, record, ttl);
        created.await?;
        self.server.snapshot().session_opened(&id, version);
        self.expiry
            .start(&self.stores, &self.options.limits, &self.active_sessions);
        Ok(id)
    }

    /// Stores the changes that a request made to its session.
    ///
    /// # Errors
    /// Returns an error if the store fails, or if other requests change the session again and again.
    pub(crate) async fn save(&self, session: &ActiveSession) -> Result<(), StoreError> {
        let SessionKey { id, principal, .. } = &session.key;
        let stores = &self.stores;
        let idle = self.options.limits.effective_session_idle();
        let Some((before, current)) = session.stored_and_current() else {
            return Ok(());
        };
        // The state of a session on this node does not contain all fields of the record.
        let mut record = before.record.with_changes(&before.record, &current);
        let mut revision = before.revision;
        // Before that, no other node has a stream of the session.
        let is_published = before.record.initialized;
        for _ in 0..REPLACE_ATTEMPTS {
            let replaced = self.replace(&session.key, revision, &record, is_published);
            if let Some(revision) = replaced.await? {
                session.refresh(&StoredSession::new(Arc::new(record), revision));
                return Ok(());
            }
            // Another request stored a newer record. The changes of this request are applied to that record.
            let loaded = stores.load_session(id, principal, idle, None).await?;
            let Some(LoadedSession::Newer(now)) = loaded else {
                return Ok(());
            };
            record = now.record.with_changes(&before.record, &current);
            revision = now.revision;
        }
        Err(StoreError::unavailable(
            "other requests change the session at the same time",
        ))
    }

    /// Replaces the record of a session, and publishes it to the other nodes if `is_published`. Returns the new revision, or
    /// `None` if the session has another revision or does not exist.
    async fn replace(
        &self,
        key: &SessionKey,
        revision: u64,
        record: &SessionRecord,
        is_published: bool,
    ) -> Result<Option<u64>, StoreError> {
        let SessionKey { id, principal, .. } = key;
        let (stores, node) = (&self.stores, self.node.name());
        if !is_published || !stores.has_bus() {
            let replaced = stores.replace_session(id, principal, revision, record.clone());
            return replaced.await;
        }
        if let Some(replacing) =
            stores.replace_and_publish_session(id, principal, revision, record, node)
        {
            return replacing.await;
        }
        let (stores, key, node) = (stores.clone(), key.clone(), node.to_owned());
        let record = record.clone();
        uninterrupted(async move {
            let SessionKey { id, principal, .. } = &key;
            let replaced = stores.replace_session(id, principal, revision, record.clone());
            let replaced = replaced.await?;
            if let Some(revision) = replaced {
                let updated = BusMessage::session_updated(&node, id, record, revision);
                stores.publish_all(&[updated]).await?;
            }
            Ok(replaced)
        })
        .await
    }

    /// Ends a session on all nodes. Returns `false` if the principal has no session with this id.
    pub(crate) async fn end_session(
        self: &Arc<Self>,
        id: &str,
        principal: &Principal,
    ) -> Result<bool, StoreError> {
        let (endpoint, id, principal) = (Arc::clone(self), id.to_owned(), principal.clone());
        uninterrupted(async move { endpoint.delete_session(&id, &principal).await }).await
    }

    /// Deletes the record of a session, and then ends what belongs to it.
    async fn delete_session(&self, id: &str, principal: &Principal) -> Result<bool, StoreError> {
        let is_deleted = self.stores.delete_session(id, principal).await?;
        if !is_deleted {
            // A session that another node deleted ends, too.
            self.active_sessions.end(id, principal);
            return Ok(false);
        }
        self.active_sessions.end_deleted(id);
        // The events are removed even if the other nodes were not notified, because no client can resume the session.
        let (signalled, removed) = tokio::join!(
            self.signal(id, SessionSignal::Ended),
            self.stores.remove_streams(principal, id)
        );
        if let Err(error) = signalled {
            tracing::warn!(%error, "the end of a session cannot be published; it is published later");
            // A client that repeats its request would get the response that there is no such session.
            self.node.publish_end_later(id);
        }
        removed.map(|()| true)
    }

    /// Publishes a signal about a session to the other nodes. Does nothing without a bus.
    pub(crate) async fn signal(
        &self,
        session: &str,
        signal: SessionSignal,
    ) -> Result<(), StoreError> {
        if !self.stores.has_bus() {
            return Ok(());
        }
        let payload = BusPayload::Session {
            session: session.to_owned(),
            signal,
        };
        let message = BusMessage::new(self.node.name(), payload);
        self.stores.publish_all(&[message]).await
    }

    /// Publishes that a client has cancelled a request, which another node may run.
    pub(crate) async fn publish_cancellation(
        &self,
        session: &str,
        id: RequestId,
    ) -> Result<(), StoreError> {
        // Recorded before it is published, because a node that loses the message asks for it at once.
        self.node.record_cancellation(session, &id);
        let age = Duration::ZERO;
        self.signal(session, SessionSignal::Cancelled { id, age })
            .await
    }

    /// Subscribes to the bus, opens the mailbox of this node and continues stored tasks, if there are any. Later calls
    /// have no effect.
    pub(crate) fn start(self: &Arc<Self>) {
        self.node.join(&self.stores, self.server.hub(), self);
        self.tasks_started.call_once(|| self.server.start_tasks());
    }

    /// Creates the queue of messages for one stream.
    pub(crate) fn queue(&self) -> EventQueue {
        EventQueue::new(&self.queues)
    }

    /// Returns a response whose body is an event stream.
    pub(crate) fn stream(
        &self,
        source: Box<dyn StreamSource>,
        permit: Option<StreamPermit>,
    ) -> HttpResponse {
        let keep_alive = self.options.limits.keep_alive;
        response::event_stream(EventStream::new(&self.stalls, keep_alive, source, permit))
    }

    /// Acquires a permit for a running request whose handler uses `bytes` of its message.
    pub(crate) fn request_permit(&self, bytes: usize) -> Result<RequestPermit, HttpResponse> {
        let permit = self.requests.try_acquire(bytes);
        permit.ok_or_else(|| response::unavailable("too many or too large requests are running"))
    }

    /// Acquires a permit for an open stream whose filter takes `bytes`.
    pub(crate) fn stream_permit(&self, bytes: usize) -> Result<StreamPermit, HttpResponse> {
        let permit = self.streams.try_acquire(bytes);
        permit.ok_or_else(|| response::unavailable("too many or too large streams are open"))
    }

    /// Returns a writer of session streams.
    pub(crate) fn stream_writer(&self) -> StreamWriter {
        let limits = &self.options.limits;
        StreamWriter::new(
            self.stores.clone(),
            limits.outbox(),
            limits.effective_session_idle(),
        )
    }
}

/// Runs a sequence of store calls to its end, also if its client disconnects and the request is dropped. Otherwise, the
/// store would be changed, and the steps after that would be missing.
async fn uninterrupted<T: Send + 'static>(
    calls: impl Future<Output = Result<T, StoreError>> + Send + 'static,
) -> Result<T, StoreError> {
    let finished = tokio::spawn(calls).await;
    finished.unwrap_or_else(|_| Err(StoreError::unknown("the calls of the store ended early")))
}

fn has_sessions(server: &Server, options: &HttpOptions) -> bool {
    let has_legacy = || server.snapshot().supported.legacy().next().is_some();
    options.legacy == LegacyMode::Sessions && has_legacy()
}

/// Warns if there are other nodes, but messages of clients cannot be forwarded to them.
fn warn_without_mailboxes(server: &Server, options: &HttpOptions) {
    let needs_mailboxes = options.http_sse || has_sessions(server, options);
    if options.bus.is_some() && options.mailboxes.is_none() && needs_mailboxes {
        tracing::warn!(
            "the nodes have a bus but no mailboxes, so a response of a client that reaches another node than the one that \
             waits for it is lost: set `HttpOptions::with_mailboxes` beside `with_bus`"
        );
    }
}

/// Warns if nodes share sessions, but not what belongs to them, or the other way round.
fn warn_of_missing_stores(server: &Server, options: &HttpOptions) {
    if options.lacks_stores_of_sessions() && has_sessions(server, options) {
        tracing::warn!(
            "the sessions have a store, but their streams or changes are in the memory of this process, so a client that \
             reaches another node cannot resume a stream or misses changes: set `HttpOptions::with_event_log` and `with_bus` \
             beside `with_session_store`"
        );
    }
    if options.lacks_session_store() && has_sessions(server, options) {
        tracing::warn!(
            "the nodes share an event log, a bus or mailboxes, but the sessions are in the memory of this process, so a client \
             that reaches another node gets 404 for its session: set `HttpOptions::with_session_store`, or \
             `HttpOptions::with_legacy(LegacyMode::Stateless)` for a server without sessions"
        );
    }
}

impl ClusterHandler for HttpEndpoint {
    fn on_notification_dropped(&self) {
        let snapshot = self.server.snapshot();
        snapshot.notification_dropped(NotificationDrop::ForOtherNodes);
    }

    fn on_bus_message(&self, payload: BusPayload) {
        match payload {
            BusPayload::Everything => self.server.hub().resync(),
            BusPayload::Change(change) => drop(self.server.hub().publish_local(&change)),
            BusPayload::Notification { method, params } => {
                let notification = Notification::new(method, params);
                self.server.hub().publish_notification_local(&notification);
            }
            BusPayload::MessagesLost => self.node.repeat_cancellations(),
            BusPayload::Session {
                session,
                signal: SessionSignal::Cancelled { id, age },
            } => self.active_sessions.cancel(&session, &id, age),
            BusPayload::Session { session, signal } => {
                self.active_sessions.on_signal(&session, signal);
            }
        }
    }

    fn resync(&self) {
        self.server.hub().resync();
        self.reload
            .request(&self.stores, &self.options.limits, &self.active_sessions);
        // Other nodes may have lost messages of this node at the same time, and may have asked for them before.
        self.node.repeat_cancellations();
        if self.active_sessions.has_requests() {
            self.node.ask_for_cancellations();
        }
    }

    fn on_node_message(&self, message: NodeMessage) {
        match message {
            NodeMessage::Response {
                session,
                id,
                outcome,
            } => match self.active_sessions.find(&session) {
                Some(active) => active.client_requests.resolve(&ResponseId::Id(id), outcome),
                None => tracing::debug!(%id, "ignored a response for a session without requests"),
            },
            NodeMessage::StreamMessage {
                session,
                message,
                token,
            } => {
                let bytes = self.requests.bytes();
                self.http_sse.deliver(&session, &message, token, bytes);
            }
        }
    }

    fn on_number_lost(&self) {
        let reason = "the server node lost its number, so the response of the client cannot arrive";
        self.active_sessions
            .fail_client_requests(&ErrorObject::internal(reason));
        // The addresses of the streams contain the number.
        self.http_sse.close_all();
    }
}

impl fmt::Debug for HttpEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpEndpoint")
            .field("server", &self.server)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
