//! The transport context of one request that was sent with POST.
//!
//! A response is a single message by default. The first notification or request to the client turns it into an event
//! stream, whose last event is the outcome.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use toolwire_proto::features::VersionFeatures;
use toolwire_types::RawJson;

use crate::engine::transport::no_channel;
use crate::engine::{
    BoxFuture, Cancellation, ConnectionInfo, ConnectionState, OutgoingNotification, TokenInfo,
    TransportContext,
};
use crate::error::Error;
use crate::sync::lock;
use crate::transport::http::request::connection_facts::ConnectionFacts;
use crate::transport::http::response::event_queue::EventQueue;
use crate::transport::http::session::active::ActiveSession;
use crate::transport::http::session::channel::SessionChannel;
use crate::transport::http::session::stream_reader::ResumableStream;
use crate::transport::outgoing_queue::MessageSink as _;

/// The transport context of a request over HTTP.
#[derive(Debug)]
pub struct HttpStreamContext {
    pub(crate) queue: EventQueue,
    peer: PeerState,
    auth: Option<Arc<TokenInfo>>,
    /// What is known about the connection, for the middleware of the server.
    facts: Option<ConnectionFacts>,
    /// The same in the form for middleware, created at first use.
    info: OnceLock<Box<ConnectionInfo>>,
    /// The client disconnected, and that cancels the request.
    disconnected: AtomicBool,
    /// The flag for the work of a handler that waits for the disconnect. Most handlers do not request it.
    cancellation: Mutex<Option<Cancellation>>,
    streaming: AtomicBool,
    /// The handler requested that the client disconnect and resume the stream later.
    released: AtomicBool,
    /// The resumable stream of the response, if there is one.
    control: OnceLock<Arc<ResumableStream>>,
}

/// The state of the client outside of the request.
#[derive(Debug)]
pub(crate) enum PeerState {
    /// No state. The request contains everything.
    Stateless,
    /// A state that exists only for this request.
    Transient(Arc<ConnectionState>),
    /// The state of a session.
    Session(Arc<ActiveSession>),
}

impl HttpStreamContext {
    pub(crate) fn new(
        queue: EventQueue,
        peer: PeerState,
        auth: Option<Arc<TokenInfo>>,
        facts: Option<ConnectionFacts>,
    ) -> Self {
        Self {
            queue,
            peer,
            auth,
            facts,
            info: OnceLock::new(),
            disconnected: AtomicBool::new(false),
            cancellation: Mutex::new(None),
            streaming: AtomicBool::new(false),
            released: AtomicBool::new(false),
            control: OnceLock::new(),
        }
    }

    /// Returns `true` if the response has become an event stream.
    #[must_use]
    pub fn streaming(&self) -> bool {
        self.streaming.load(Ordering::Relaxed)
    }

    /// Returns the id of the next event, or `None` if the stream cannot be resumed.
    #[must_use]
    pub fn next_event_id(&self) -> Option<String> {
        self.control.get()?.next_event_id()
    }

    pub(crate) fn set_streaming(&self) {
        self.streaming.store(true, Ordering::Relaxed);
    }

    pub(crate) fn set_control(&self, control: Arc<ResumableStream>) {
        // A response becomes a stream at most once, so the control is not set yet.
        let _ = self.control.set(control);
    }

    /// Returns `true` if the handler requested that the client disconnect and resume the stream later.
    pub(crate) fn is_release_requested(&self) -> bool {
        self.released.load(Ordering::Acquire)
    }

    /// Returns the same as [`is_release_requested`](Self::is_release_requested), and clears the request.
    pub(crate) fn take_release_request(&self) -> bool {
        self.released.swap(false, Ordering::AcqRel)
    }

    /// Records that the client no longer waits for the response.
    pub(crate) fn set_disconnected(&self) {
        self.disconnected.store(true, Ordering::Release);
        if let Some(flag) = &*lock(&self.cancellation) {
            flag.cancel();
        }
    }

    fn session(&self) -> Option<&Arc<ActiveSession>> {
        match &self.peer {
            PeerState::Session(session) => Some(session),
            PeerState::Stateless | PeerState::Transient(_) => None,
        }
    }
}

impl TransportContext for HttpStreamContext {
    fn notify(&self, notification: OutgoingNotification) {
        self.queue.push(notification.kind, notification.message);
    }

    #[cfg(any(feature = "events", feature = "relay"))]
    fn is_full(&self) -> bool {
        self.queue.is_full()
    }

    #[cfg(feature = "relay")]
    fn report_drop(&self) {
        self.queue.drops().report(1);
    }

    fn request<'a>(
        &'a self,
        method: &'a str,
        params: RawJson,
    ) -> BoxFuture<'a, Result<RawJson, Error>> {
        Box::pin(async move {
            let Some(session) = self.session() else {
                return Err(no_channel(method));
            };
            session.request(&self.queue, method, params).await
        })
    }

    fn can_request(&self) -> bool {
        self.session().is_some()
    }

    fn connection_state(&self) -> Option<&Arc<ConnectionState>> {
        match &self.peer {
            PeerState::Stateless => None,
            PeerState::Transient(state) => Some(state),
            PeerState::Session(session) => Some(&session.state),
        }
    }

    fn connection_token(&self) -> Option<&str> {
        self.session().map(|session| session.key.id.as_str())
    }

    fn connection_info(&self) -> Option<&ConnectionInfo> {
        let facts = self.facts.as_ref()?;
        Some(self.info.get_or_init(|| Box::new(facts.to_info())))
    }

    fn ended(&self) -> Option<Cancellation> {
        self.session().map(|session| session.key.ended.clone())
    }

    fn client_channel(&self) -> Option<Arc<dyn TransportContext>> {
        let session = Arc::clone(self.session()?);
        Some(Arc::new(SessionChannel::new(session, self.auth.clone())))
    }

    fn streaming(&self) -> bool {
        Self::streaming(self)
    }

    fn next_event_id(&self) -> Option<String> {
        Self::next_event_id(self)
    }

    fn is_cancelled(&self) -> bool {
        self.disconnected.load(Ordering::Acquire)
    }

    fn cancellation(&self) -> Option<Cancellation> {
        let mut created = lock(&self.cancellation);
        let flag = created.get_or_insert_with(Cancellation::new);
        // The flag is read under the lock. A later disconnect finds the flag that was created here.
        if self.is_cancelled() {
            flag.cancel();
        }
        Some(flag.clone())
    }

    fn uses_tokens(&self) -> bool {
        true
    }

    fn auth(&self) -> &TokenInfo {
        self.auth.as_deref().unwrap_or(TokenInfo::none())
    }

    fn release_stream(&self) -> bool {
        let can_poll = self
            .session()
            .and_then(|session| session.state.version())
            .is_some_and(VersionFeatures::has_priming_event);
        if can_poll {
            self.released.store(true, Ordering::Release);
            self.queue.wake();
        }
        can_poll
    }
}

#[cfg(test)]
mod tests {
    use toolwire_proto::outbox::OutboxLimits;

    use super::*;
    use crate::store::{LogEntry, LogWriter};
    use crate::transport::drop_reporter::DropReporter;
    use crate::transport::http::byte_budget::ByteBudget;
    use crate::transport::http::response::event_queue::SharedByQueues;

    fn queue() -> EventQueue {
        let budget = ByteBudget::new(1000, 10);
        let shared = SharedByQueues::new(OutboxLimits::default(), budget, DropReporter::default());
        EventQueue::new(&shared)
    }

    #[tokio::test]
    async fn disconnect_sets_flags_created_before_and_after_it() {
        let queue = queue();
        let context = HttpStreamContext::new(queue, PeerState::Stateless, None, None);
        let before = context.cancellation().unwrap();
        assert!(!before.is_cancelled() && !context.is_cancelled());
        context.set_disconnected();
        before.cancelled().await;
        let after = context.cancellation().unwrap();
        assert!(after.is_cancelled() && context.is_cancelled());
    }

    #[test]
    fn context_reports_streaming_and_the_next_event_id() {
        let queue = queue();
        let context = HttpStreamContext::new(queue, PeerState::Stateless, None, None);
        assert!(!context.streaming());
        assert_eq!(context.next_event_id(), None);
        context.set_streaming();
        assert!(context.streaming());
        let name = "p".repeat(16);
        let control = ResumableStream::new(name.clone());
        context.set_control(Arc::clone(&control));
        assert_eq!(context.next_event_id(), Some(format!("{name}.1")));
        control.set_writer(LogWriter::new(1, 1), None);
        control.record_written(&[LogEntry::End]);
        assert_eq!(context.next_event_id(), Some(format!("{name}.2")));
    }
}
