//! A legacy session: its id, its requests with resumable streams, and its server stream.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
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
use crate::client::pending_sends::PendingSends;
use crate::client::send::SendMessage;
use crate::client::transport::{OutgoingRequest, ServerResponse};
use crate::engine::{BoxFuture, Cancellation};
use crate::error::Error;
use crate::sync::lock;
use crate::transport::http_client::endpoint::{RemoteEndpoint, headers_of};
use crate::transport::http_client::renewal;
use crate::transport::http_client::response::{self, PostResponse};
use crate::transport::http_client::resumable_stream::ResumableEvents;
use crate::transport::http_client::server_stream;
use crate::transport::http_client::trace_headers::insert_trace_headers;

/// How long requests wait for the server stream to open.
const STREAM_OPEN_TIMEOUT: Duration = Duration::from_secs(1);

/// A session of the legacy protocol versions.
#[derive(Debug)]
pub(super) struct LegacySession {
    pub(super) endpoint: RemoteEndpoint,
    pub(super) limits: ClientLimits,
    pub(super) incoming: Arc<IncomingMessages>,
    state: Mutex<SessionState>,
    /// Locked by the running renewal.
    pub(super) renewing: tokio::sync::Mutex<()>,
    ended: Cancellation,
    /// `false` until the server stream is open, or the server is known to have none.
    server_stream_ready: watch::Sender<bool>,
    /// The cancellations of dropped requests.
    cancellations: PendingSends,
}

#[derive(Debug, Default)]
pub(super) struct SessionState {
    pub(super) id: Option<HeaderValue>,
    /// The negotiated version, or the version of the probe request before that.
    pub(super) version: Option<ProtocolVersion>,
    /// The parameters of `initialize`, for a renewal.
    pub(super) initialize: Option<RawJson>,
    /// The parameters of the last `logging/setLevel`, for a renewal.
    pub(super) log_level: Option<RawJson>,
    /// The number of times that the session was opened.
    pub(super) generation: u64,
    /// The requests in flight, for responses that arrive on the server stream.
    pending: HashMap<RequestId, oneshot::Sender<ServerResponse>>,
    /// The task that reads the server stream.
    server_stream: Option<AbortHandle>,
}

impl LegacySession {
    pub(super) fn new(
        endpoint: RemoteEndpoint,
        incoming: Arc<IncomingMessages>,
        limits: ClientLimits,
    ) -> Arc<Self> {
        Arc::new(Self {
            endpoint,
            limits,
            incoming,
            state: Mutex::default(),
            renewing: tokio::sync::Mutex::default(),
            ended: Cancellation::new(),
            server_stream_ready: watch::Sender::new(true),
            cancellations: PendingSends::default(),
        })
    }

    pub(super) fn is_closed(&self) -> bool {
        self.ended.is_cancelled()
    }

    /// Returns the number of requests in flight.
    pub(super) fn open_entries(&self) -> usize {
        self.state().pending.len()
    }

    /// Waits until the session is closed.
    pub(super) async fn closed(&self) {
        self.ended.cancelled().await;
    }

    /// Sets the negotiated version.
    pub(super) fn set_version(&self, version: ProtocolVersion) {
        self.state().version = Some(version);
    }

    /// Sends a request and waits for its response. If the server has lost the session, opens a new one and sends the
    /// request again. That is safe, because a server that responds with 404 has not processed the request.
    pub(super) async fn exchange(
        self: &Arc<Self>,
        request: &OutgoingRequest,
        router: &MessageRouter,
    ) -> Result<ServerResponse, Error> {
        let generation = self.state().generation;
        if request.method == "logging/setLevel" {
            self.state().log_level.clone_from(&request.params);
        }
        let handlers = &self.incoming.handlers;
        if handlers.handles_input() || handlers.is_relay() && request.method != "initialize" {
            // Many servers send input requests on the server stream. Those sent before it is open are lost.
            self.server_stream_ready().await;
        }
        let error = match self.attempt(request, router).await {
            Err(error) if self.is_lost(&error, request) => error,
            outcome => return outcome,
        };
        if let Err(renewal) = renewal::renew(self, generation, router).await {
            tracing::warn!(%renewal, "a lost session could not be opened again");
            return Err(error);
        }
        self.attempt(request, router).await
    }

    /// Sends a request once and waits for its response.
    pub(super) async fn attempt(
        self: &Arc<Self>,
        request: &OutgoingRequest,
        router: &MessageRouter,
    ) -> Result<ServerResponse, Error> {
        let (sender, on_server_stream) = oneshot::channel();
        self.state().pending.insert(request.id.clone(), sender);
        let mut guard = CancelGuard {
            session: self,
            request,
            armed: request.is_cancellable(),
        };
        let outcome = tokio::select! {
            biased;
            outcome = self.post_and_wait(request, router) => outcome,
            Ok(response) = on_server_stream => Ok(response),
        };
        guard.armed = false;
        outcome
    }

    /// Sends a notification.
    pub(super) fn notify(
        self: &Arc<Self>,
        method: impl AsRef<str> + Send + 'static,
        message: Vec<u8>,
    ) -> BoxFuture<'static, Result<(), Error>> {
        let session = Arc::clone(self);
        Box::pin(async move {
            let headers = session.headers();
            let endpoint = &session.endpoint;
            let sending = endpoint.post_method(method.as_ref(), message, headers);
            response::check_accepted(sending.await?).await
        })
    }

    /// Delivers a response that arrived on the server stream. Some servers send it there if the stream of the request
    /// was lost.
    pub(super) fn deliver(&self, response: ResponseEnvelope<'_>) {
        let sender = match &response.id {
            ResponseId::Id(id) => {
                let pending = &mut self.state().pending;
                spellings(id).find_map(|id| pending.remove(&id))
            }
            ResponseId::Null | ResponseId::Absent => None,
        };
        match sender {
            Some(sender) => drop(sender.send(response.outcome.map(RawJson::from))),
            None => self
                .incoming
                .count_skipped("a response without a pending call"),
        }
    }

    async fn post_and_wait(
        self: &Arc<Self>,
        request: &OutgoingRequest,
        router: &MessageRouter,
    ) -> Result<ServerResponse, Error> {
        let initializes = request.method == "initialize";
        let mut headers = if initializes {
            HeaderMap::new()
        } else {
            self.headers()
        };
        let is_set = |name: &str| self.endpoint.has_user_header(name);
        insert_trace_headers(&mut headers, request.params.as_ref(), is_set);
        let sending = self
            .endpoint
            .post_method(&request.method, request.encode(), headers);
        let response = sending.await?;
        if initializes && response.status().is_success() {
            self.start(&response, request)?;
        }
        let limit = self.endpoint.message_bytes;
        match response::classify(response)? {
            PostResponse::Rejected(response) => {
                Err(Box::pin(response::rejection(response, router, &request.id)).await)
            }
            PostResponse::Json(body) => response::read_json(body, limit, router, &request.id).await,
            PostResponse::Events(body) => {
                let mut stream = ResumableEvents::new(self, &request.id, body);
                while let Some(event) = stream.next().await? {
                    response::check_transport(&event)?;
                    let response = response::route(router, event.data.as_bytes(), &request.id)?;
                    if let Some(response) = response {
                        stream.drain();
                        return Ok(response);
                    }
                }
                Err(response::truncated_error())
            }
        }
    }

    /// Stores the session id of a response to `initialize`.
    fn start(
        &self,
        response: &Response<ClientBody>,
        request: &OutgoingRequest,
    ) -> Result<(), Error> {
        let mut id = response.headers().get(header_value::SESSION_ID).cloned();
        if let Some(id) = &mut id {
            if !id.to_str().is_ok_and(is_session_id) {
                return Err(Error::protocol(
                    "the server sent a session id that is not visible ASCII",
                ));
            }
            // The id is a secret: it gives access to the session.
            id.set_sensitive(true);
        }
        let mut state = self.state();
        state.id = id;
        state.initialize.clone_from(&request.params);
        state.generation += 1;
        Ok(())
    }

    /// Returns the headers of all requests after `initialize`.
    pub(super) fn headers(&self) -> HeaderMap {
        let state = self.state();
        let version = state.version.filter(|version| version.has_version_header());
        let mut headers = version.map_or_else(HeaderMap::new, headers_of);
        if let Some(id) = &state.id {
            headers.insert("mcp-session-id", id.clone());
        }
        headers
    }

    /// Returns `true` if an error means that the server has lost the session.
    fn is_lost(&self, error: &Error, request: &OutgoingRequest) -> bool {
        request.method != "initialize"
            && self.state().id.is_some()
            && error.http_status().is_some_and(is_session_lost)
    }

    /// Starts a task that reads the server stream. Aborts the task of an earlier session.
    pub(super) fn open_server_stream(self: &Arc<Self>, router: &MessageRouter) {
        let mut state = self.state();
        if self.is_closed() {
            return;
        }
        self.server_stream_ready.send_replace(false);
        let task = tokio::spawn(server_stream::run_server_stream(
            Arc::downgrade(self),
            router.clone(),
        ));
        if let Some(older) = state.server_stream.replace(task.abort_handle()) {
            older.abort();
        }
    }

    /// Records that the server stream is open, or that the server has none.
    pub(super) fn set_server_stream_ready(&self) {
        self.server_stream_ready.send_replace(true);
    }

    /// Waits until the server stream is open, or until the server is known to have none. Waits at most
    /// [`STREAM_OPEN_TIMEOUT`].
    pub(super) async fn server_stream_ready(&self) {
        if *self.server_stream_ready.borrow() {
            return;
        }
        let mut receiver = self.server_stream_ready.subscribe();
        let ready = receiver.wait_for(|ready| *ready);
        // Some servers send the response headers together with the first message. Later requests do not wait again.
        if tokio::time::timeout(STREAM_OPEN_TIMEOUT, ready)
            .await
            .is_err()
        {
            tracing::debug!(
                "the server did not respond in time to the request for a server stream"
            );
            self.set_server_stream_ready();
        }
    }

    /// Closes the session. Waits for the delivery of cancellations, then sends a `DELETE`. Waits at most the exit grace
    /// period for each of both.
    pub(super) async fn close(self: &Arc<Self>) {
        if !self.is_closed() {
            self.cancellations.sent(self.limits.exit_grace).await;
        }
        let Some(headers) = self.end() else { return };
        let deleting = self.endpoint.delete(headers);
        match tokio::time::timeout(self.limits.exit_grace, deleting).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::debug!(%error, "a session could not be deleted"),
            Err(_) => tracing::debug!("the server did not respond to the deletion of a session"),
        }
    }

    /// Closes the session like [`close`](Self::close), but in a separate task.
    pub(super) fn abandon(self: &Arc<Self>) {
        if self.is_closed() {
            return;
        }
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => {
                let session = Arc::clone(self);
                runtime.spawn(async move { session.close().await });
            }
            Err(_) => drop(self.end()),
        }
    }

    /// Cancels the tasks of the session. Returns the headers of the `DELETE`, or `None` if there is no session id.
    fn end(&self) -> Option<HeaderMap> {
        let headers = self.headers();
        self.ended.cancel();
        let mut state = self.state();
        if let Some(task) = state.server_stream.take() {
            task.abort();
        }
        state.id.take().map(|_| headers)
    }

    pub(super) fn state(&self) -> MutexGuard<'_, SessionState> {
        lock(&self.state)
    }
}

impl SendMessage for Arc<LegacySession> {
    fn send(&self, message: Vec<u8>) -> BoxFuture<'static, Result<(), Error>> {
        let session = Self::clone(self);
        Box::pin(async move {
            let headers = session.headers();
            let response = session.endpoint.post(message, headers).await?;
            response::check_accepted(response).await
        })
    }
}

/// Sends a cancellation if the future of a request is dropped. In legacy versions closing the stream does not cancel.
struct CancelGuard<'a> {
    session: &'a Arc<LegacySession>,
    request: &'a OutgoingRequest,
    armed: bool,
}

impl Drop for CancelGuard<'_> {
    fn drop(&mut self) {
        self.session.state().pending.remove(&self.request.id);
        if !self.armed || self.session.is_closed() {
            return;
        }
        let message = self.request.encode_cancellation();
        let sending = self.session.notify("notifications/cancelled", message);
        let grace = self.session.limits.exit_grace;
        self.session.cancellations.spawn(async move {
            match tokio::time::timeout(grace, sending).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::debug!(%error, "a cancellation could not be sent"),
                Err(_) => tracing::debug!("the server did not accept a cancellation in time"),
            }
        });
    }
}
