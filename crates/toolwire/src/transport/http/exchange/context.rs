//! The transport's side of one request that came by POST.
//!
//! The answer starts out as a plain one. The first notice, or the first question to the client, makes it a stream of
//! events, of which the outcome is the last.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use toolwire_proto::features::VersionFeatures;
use toolwire_types::RawJson;

use crate::engine::transport::no_channel;
use crate::engine::{
    BoxFuture, ConnectionState, OutgoingNotification, TokenInfo, TransportContext,
};
use crate::error::Error;
use crate::transport::http::response::event_queue::EventQueue;
use crate::transport::http::session::active::ActiveSession;
use crate::transport::http::session::stream_reader::ResumableStream;
use crate::transport::outlet::{MessageSink as _, send_request};

/// The context of a request that came over HTTP.
#[derive(Debug)]
pub struct HttpStreamContext {
    pub(crate) queue: EventQueue,
    peer: PeerState,
    auth: Option<Arc<TokenInfo>>,
    /// The client went away, where that cancels.
    gone: AtomicBool,
    streaming: AtomicBool,
    /// The handler wants the client to hang up and come back.
    released: AtomicBool,
    /// The stream the answer became, when it can be resumed.
    control: OnceLock<Arc<ResumableStream>>,
}

/// What is known about the client beside the request.
#[derive(Debug)]
pub(crate) enum PeerState {
    /// Nothing: the request says it all.
    Stateless,
    /// A state made for this request alone.
    Transient(Arc<ConnectionState>),
    /// A session.
    Session(Arc<ActiveSession>),
}

impl HttpStreamContext {
    pub(crate) fn new(queue: EventQueue, peer: PeerState, auth: Option<Arc<TokenInfo>>) -> Self {
        Self {
            queue,
            peer,
            auth,
            gone: AtomicBool::new(false),
            streaming: AtomicBool::new(false),
            released: AtomicBool::new(false),
            control: OnceLock::new(),
        }
    }

    /// Whether the answer has become a stream of events.
    #[must_use]
    pub fn streaming(&self) -> bool {
        self.streaming.load(Ordering::Relaxed)
    }

    /// The id the next event will get, on a stream that can be resumed.
    #[must_use]
    pub fn next_event_id(&self) -> Option<String> {
        self.control.get()?.next_event_id()
    }

    pub(crate) fn set_streaming(&self) {
        self.streaming.store(true, Ordering::Relaxed);
    }

    pub(crate) fn set_control(&self, control: Arc<ResumableStream>) {
        // There is one upgrade for each context.
        let _ = self.control.set(control);
    }

    /// Whether the handler asks that the client hang up and come back.
    pub(crate) fn wants_release(&self) -> bool {
        self.released.load(Ordering::Acquire)
    }

    /// Whether the handler asked, since the last time, that the client hang up and come back.
    pub(crate) fn take_release_request(&self) -> bool {
        self.released.swap(false, Ordering::AcqRel)
    }

    /// Nobody waits for the answer any more.
    pub(crate) fn set_disconnected(&self) {
        self.gone.store(true, Ordering::Release);
    }

    fn session(&self) -> Option<&Arc<ActiveSession>> {
        match &self.peer {
            PeerState::Session(session) => Some(session),
            PeerState::Stateless | PeerState::Transient(_) => None,
        }
    }
}

impl TransportContext for HttpStreamContext {
    fn notify(&self, notice: OutgoingNotification) {
        self.queue.push(notice.kind, notice.message);
    }

    fn request(
        &self,
        method: &'static str,
        params: RawJson,
    ) -> BoxFuture<'_, Result<RawJson, Error>> {
        Box::pin(async move {
            let Some(session) = self.session() else {
                return Err(no_channel(method));
            };
            send_request(&self.queue, &session.caller, method, params).await
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

    fn is_cancelled(&self) -> bool {
        self.gone.load(Ordering::Acquire)
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
    use crate::transport::http::byte_budget::ByteBudget;

    #[test]
    fn a_context_knows_whether_and_under_which_ids_it_streams() {
        let queue = EventQueue::new(OutboxLimits::default(), ByteBudget::new(1000, 10));
        let context = HttpStreamContext::new(queue, PeerState::Stateless, None);
        assert!(!context.streaming());
        assert_eq!(context.next_event_id(), None);
        context.set_streaming();
        assert!(context.streaming());
        let name = "p".repeat(16);
        let control = ResumableStream::new(name.clone());
        context.set_control(Arc::clone(&control));
        assert_eq!(context.next_event_id(), Some(format!("{name}.1")));
        control.record_written(1, 10);
        assert_eq!(context.next_event_id(), Some(format!("{name}.2")));
    }
}
