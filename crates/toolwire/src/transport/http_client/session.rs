//! A legacy session: its id, and its requests with streams that resume.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::{HeaderMap, HeaderValue, Response};
use tokio::sync::{oneshot, watch};
use tokio::task::AbortHandle;
use toolwire_proto::envelope::ResponseEnvelope;
use toolwire_proto::features::VersionFeatures;
use toolwire_proto::header_value;
use toolwire_proto::http::{is_session_id, is_session_lost};
use toolwire_proto::requests::spellings;
use toolwire_types::{ProtocolVersion, RawJson, RequestId, ResponseId};

use crate::client::config::ClientLimits;
use crate::client::http::ClientBody;
use crate::client::incoming::IncomingMessages;
use crate::client::message_router::MessageRouter;
use crate::client::send::SendMessage;
use crate::client::transport::{OutgoingRequest, ServerResponse};
use crate::engine::{BoxFuture, Cancellation};
use crate::error::Error;
use crate::transport::http_client::endpoint::{RemoteEndpoint, headers_of};
use crate::transport::http_client::renewal;
use crate::transport::http_client::response::{self, ResponseBody};
use crate::transport::http_client::resumable_stream::ResumableEvents;
use crate::transport::http_client::server_stream;

/// How long the stream for the server's own messages may take to open before requests no longer wait for it.
const STREAM_OPEN_TIMEOUT: Duration = Duration::from_secs(1);

/// What the legacy revisions keep between requests.
#[derive(Debug)]
pub(super) struct LegacySession {
    pub(super) endpoint: RemoteEndpoint,
    pub(super) limits: ClientLimits,
    pub(super) inbox: Arc<IncomingMessages>,
    state: Mutex<SessionState>,
    /// One renewal at a time.
    pub(super) renewing: tokio::sync::Mutex<()>,
    ended: Cancellation,
    /// False while it is not known whether there is a stream for the server's own messages.
    settled: watch::Sender<bool>,
}

#[derive(Debug, Default)]
pub(super) struct SessionState {
    pub(super) id: Option<HeaderValue>,
    /// What is spoken, or asked in while that is not known.
    pub(super) version: Option<ProtocolVersion>,
    /// The parameters of `initialize`, to be sent again.
    pub(super) initialize: Option<RawJson>,
    /// The parameters of the last `logging/setLevel`, likewise.
    pub(super) log_level: Option<RawJson>,
    /// How often the session was opened.
    pub(super) generation: u64,
    /// The requests that wait, for answers that come on another stream than their own.
    waiting: HashMap<RequestId, oneshot::Sender<ServerResponse>>,
    standing: Option<AbortHandle>,
}

impl LegacySession {
    pub(super) fn new(
        endpoint: RemoteEndpoint,
        inbox: Arc<IncomingMessages>,
        limits: ClientLimits,
    ) -> Arc<Self> {
        Arc::new(Self {
            endpoint,
            limits,
            inbox,
            state: Mutex::default(),
            renewing: tokio::sync::Mutex::default(),
            ended: Cancellation::new(),
            settled: watch::Sender::new(true),
        })
    }

    pub(super) fn is_closed(&self) -> bool {
        self.ended.is_cancelled()
    }

    /// How many requests wait.
    pub(super) fn open_entries(&self) -> usize {
        self.state().waiting.len()
    }

    /// Ends when the session is closed.
    pub(super) async fn closed(&self) {
        self.ended.cancelled().await;
    }

    pub(super) fn speaks(&self, version: ProtocolVersion) {
        self.state().version = Some(version);
    }

    /// Makes a request. When the server has forgotten the session, it is opened anew and the request sent once more:
    /// a server that answers 404 has not looked at it.
    pub(super) async fn exchange(
        self: &Arc<Self>,
        request: &OutgoingRequest,
        intake: &MessageRouter,
    ) -> Result<ServerResponse, Error> {
        let generation = self.state().generation;
        if request.method == "logging/setLevel" {
            self.state().log_level.clone_from(&request.params);
        }
        if self.inbox.handlers.handles_input() {
            // Many servers ask on the session's own stream whatever they ask, and a question before it is open is lost.
            self.settled().await;
        }
        let error = match self.attempt(request, intake).await {
            Err(error) if self.is_lost(&error, request) => error,
            outcome => return outcome,
        };
        if let Err(renewal) = renewal::renew(self, generation, intake).await {
            tracing::warn!(%renewal, "a lost session could not be opened anew");
            return Err(error);
        }
        self.attempt(request, intake).await
    }

    /// Makes a request, once.
    pub(super) async fn attempt(
        self: &Arc<Self>,
        request: &OutgoingRequest,
        intake: &MessageRouter,
    ) -> Result<ServerResponse, Error> {
        let (slot, elsewhere) = oneshot::channel();
        self.state().waiting.insert(request.id.clone(), slot);
        let mut guard = CancelGuard {
            session: self,
            request,
            armed: request.is_cancellable(),
        };
        let outcome = tokio::select! {
            biased;
            outcome = self.post_and_wait(request, intake) => outcome,
            Ok(answer) = elsewhere => Ok(answer),
        };
        guard.armed = false;
        outcome
    }

    /// Takes an answer from the stream of the session: some servers send it there when the request's own was lost.
    pub(super) fn responded(&self, response: ResponseEnvelope<'_>) {
        let slot = match &response.id {
            ResponseId::Id(id) => {
                let waiting = &mut self.state().waiting;
                spellings(id).find_map(|id| waiting.remove(&id))
            }
            ResponseId::Null | ResponseId::Absent => None,
        };
        match slot {
            Some(slot) => drop(slot.send(response.outcome.map(RawJson::from))),
            None => self.inbox.skipped("an answer that nobody waits for"),
        }
    }

    async fn post_and_wait(
        self: &Arc<Self>,
        request: &OutgoingRequest,
        intake: &MessageRouter,
    ) -> Result<ServerResponse, Error> {
        let initializes = request.method == "initialize";
        let headers = match initializes {
            true => HeaderMap::new(),
            false => self.headers(),
        };
        let response = self.endpoint.post(request.encode(), headers).await?;
        if initializes && response.status().is_success() {
            self.begin(&response, request)?;
        }
        let limit = self.endpoint.message_bytes;
        match response::classify(response)? {
            ResponseBody::Refused(response) => {
                Err(Box::pin(response::status_error(response)).await)
            }
            ResponseBody::Json(body) => response::read_json(body, limit, intake, &request.id).await,
            ResponseBody::Events(body) => {
                let mut stream = ResumableEvents::new(self, body);
                while let Some(event) = stream.next().await? {
                    let answer = response::take(intake, event.data.as_bytes(), &request.id)?;
                    if let Some(answer) = answer {
                        stream.drain();
                        return Ok(answer);
                    }
                }
                Err(response::truncated())
            }
        }
    }

    /// Notes the session that an answer to `initialize` opens.
    fn begin(
        &self,
        response: &Response<ClientBody>,
        request: &OutgoingRequest,
    ) -> Result<(), Error> {
        let mut id = response.headers().get(header_value::SESSION_ID).cloned();
        if let Some(id) = &mut id {
            if !id.to_str().is_ok_and(is_session_id) {
                return Err(Error::protocol(
                    "the server gave the session an id that is not visible ASCII",
                ));
            }
            // Whoever knows it can take part in the session.
            id.set_sensitive(true);
        }
        let mut state = self.state();
        state.id = id;
        state.initialize.clone_from(&request.params);
        state.generation += 1;
        Ok(())
    }

    /// The headers of everything after `initialize`.
    pub(super) fn headers(&self) -> HeaderMap {
        let state = self.state();
        let version = state.version.filter(|version| version.has_version_header());
        let mut headers = version.map_or_else(HeaderMap::new, headers_of);
        if let Some(id) = &state.id {
            headers.insert("mcp-session-id", id.clone());
        }
        headers
    }

    /// Whether a failure means that the server does not know the session any more.
    fn is_lost(&self, error: &Error, request: &OutgoingRequest) -> bool {
        request.method != "initialize"
            && self.state().id.is_some()
            && error.http_status().is_some_and(is_session_lost)
    }

    /// Opens the stream for the server's own messages, in place of an older one.
    pub(super) fn open_server_stream(self: &Arc<Self>, intake: &MessageRouter) {
        let mut state = self.state();
        if self.is_closed() {
            return;
        }
        self.settled.send_replace(false);
        let task = tokio::spawn(server_stream::run_server_stream(
            Arc::downgrade(self),
            intake.clone(),
        ));
        if let Some(older) = state.standing.replace(task.abort_handle()) {
            older.abort();
        }
    }

    /// The stream for the server's own messages is open, or there will be none.
    pub(super) fn settle(&self) {
        self.settled.send_replace(true);
    }

    /// Waits until that is so, for a while.
    pub(super) async fn settled(&self) {
        if *self.settled.borrow() {
            return;
        }
        let mut settled = self.settled.subscribe();
        let settled = settled.wait_for(|settled| *settled);
        // Some servers send no head before they have something to say; nobody waits for that twice.
        if tokio::time::timeout(STREAM_OPEN_TIMEOUT, settled)
            .await
            .is_err()
        {
            tracing::debug!(
                "the stream for the server's own messages does not say that it is open"
            );
            self.settle();
        }
    }

    /// Ends the session: tells the server, and waits for it a little.
    pub(super) async fn close(self: &Arc<Self>) {
        let Some(headers) = self.end() else { return };
        let deleting = self.endpoint.delete(headers);
        match tokio::time::timeout(self.limits.exit_grace, deleting).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::debug!(%error, "a session could not be deleted"),
            Err(_) => tracing::debug!("the server did not answer the end of its session"),
        }
    }

    /// As [`close`](Self::close), from a task of its own.
    pub(super) fn abandon(self: &Arc<Self>) {
        let Some(headers) = self.end() else { return };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let session = Arc::clone(self);
            runtime.spawn(async move {
                let deleting = session.endpoint.delete(headers);
                drop(tokio::time::timeout(session.limits.exit_grace, deleting).await);
            });
        }
    }

    /// Ends everything on this side; the headers are those of the `DELETE` that is due.
    fn end(&self) -> Option<HeaderMap> {
        let headers = self.headers();
        self.ended.cancel();
        let mut state = self.state();
        if let Some(standing) = state.standing.take() {
            standing.abort();
        }
        state.id.take().map(|_| headers)
    }

    pub(super) fn state(&self) -> MutexGuard<'_, SessionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SendMessage for Arc<LegacySession> {
    fn send(&self, message: Vec<u8>) -> BoxFuture<'static, Result<(), Error>> {
        let session = Self::clone(self);
        Box::pin(async move {
            let headers = session.headers();
            let response = session.endpoint.post(message, headers).await?;
            response::accepted(response).await
        })
    }
}

/// Tells the server when nobody waits for an answer any more: in these revisions a closed stream does not say so.
struct CancelGuard<'a> {
    session: &'a Arc<LegacySession>,
    request: &'a OutgoingRequest,
    armed: bool,
}

impl Drop for CancelGuard<'_> {
    fn drop(&mut self) {
        self.session.state().waiting.remove(&self.request.id);
        if !self.armed || self.session.is_closed() {
            return;
        }
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let sending = SendMessage::send(self.session, self.request.cancelled());
            let grace = self.session.limits.exit_grace;
            runtime.spawn(tokio::time::timeout(grace, sending));
        }
    }
}
