//! The two endpoints of the 2024-11-05 transport: a GET opens a stream, whose first event contains the path for POST.
//!
//! A stream is a connection with the same message loop as stdio. Its input are the messages of POST requests, and all
//! its output is sent on the stream. The connection runs on the node of the stream. Its record in the session store
//! contains the principal, so that any node can check a POST. The session id starts with the number of the node, so that a
//! POST to another node is forwarded to its mailbox.
//!
//! The stream and its messages may have different tokens of the same principal. A handler sees the token of its
//! message. The stream ends when the last token expires.

mod forwarding;
pub(crate) mod routes;
pub(crate) mod streams;

use std::num::NonZeroU16;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::StatusCode;
use toolwire_proto::admit::{self, AdmissionContext};
use toolwire_proto::envelope::{Envelope, RequestEnvelope};
use toolwire_proto::features::HTTP_WITH_SSE;
use toolwire_proto::http::is_session_id;
use toolwire_proto::lifecycle::Lifecycle;
use toolwire_proto::sse::SseEvent;
use toolwire_proto::{stamp, strict_json};
use toolwire_types::{ClientCapabilities, ErrorObject, RawJson, ResponseId};

use crate::engine::{BoxFuture, Principal, TokenInfo};
use crate::store::{NodeMessage, SessionRecord, StoreError};
use crate::transport::chunk::ChunkSender;
use crate::transport::duplex::MessageLoop;
use crate::transport::http::endpoint::HttpEndpoint;
use crate::transport::http::http_sse::routes::HttpSseRoutes;
use crate::transport::http::http_sse::streams::{SendError, StreamGuard};
use crate::transport::http::limits::HttpLimits;
use crate::transport::http::options::HttpOptions;
use crate::transport::http::random_id::random_id;
use crate::transport::http::request::guard;
use crate::transport::http::request::headers::RequestHeaders;
use crate::transport::http::request::incoming::IncomingRequest;
use crate::transport::http::response::stream_source::{StreamSource, StreamState};
use crate::transport::http::response::{self, HttpResponse};
use crate::transport::http::session::renewal;
use crate::transport::http::stores::Stores;
use crate::transport::limits::Limits;
use crate::transport::outgoing_queue::OutgoingQueue;

/// The path where streams are opened.
pub(crate) const STREAM_PATH: &str = "/sse";
/// The path for the messages of clients.
pub(crate) const MESSAGE_PATH: &str = "/message";

/// The size after which a chunk of the response ends. It bounds the memory of a chunk during bursts.
const CHUNK_BYTES: usize = 64 * 1024;

impl HttpOptions {
    /// Also serves the two endpoints of the HTTP+SSE transport of 2024-11-05: `GET /sse` and `POST /message`.
    #[must_use]
    #[deprecated(
        note = "MCP deprecates this transport (SEP-2596), and a revision may remove it three months after that proposal became final. Newer clients use Streamable HTTP, which every server has"
    )]
    pub fn with_http_sse(mut self) -> Self {
        routes::install(HttpSseRoutes {
            open: |endpoint, head, token| Box::pin(open(endpoint, head, token)),
            deliver: |post, message| Box::pin(deliver(post, message)),
        });
        self.http_sse = true;
        self
    }
}

/// Opens a stream.
async fn open(
    endpoint: &Arc<HttpEndpoint>,
    head: &RequestHeaders<'_>,
    token: Arc<TokenInfo>,
) -> Result<HttpResponse, HttpResponse> {
    guard::check_accept_events(head)?;
    let permit = endpoint.stream_permit(0)?;
    let options = &endpoint.options;
    let node = endpoint.node.number().wait().await;
    let id = random_id(&node_prefix(node), 32).map_err(|error| response::store_error(&error))?;
    let lease = SessionLease {
        stores: endpoint.stores.clone(),
        key: store_key(&id),
        principal: Principal::of(&token),
        idle: options.limits.effective_session_idle(),
        interval: renewal::interval(options.limits.effective_session_idle()),
    };
    lease
        .create()
        .await
        .map_err(|error| response::store_error(&error))?;
    let out = OutgoingQueue::new(options.limits.outbox());
    let out = Arc::new(out.reporting_to(&endpoint.server));
    let streams = &endpoint.http_sse;
    let (guard, messages, latest_expiry) = streams.register(&lease.key, &token);
    // A node that loses its number later closes the registered streams.
    if node.is_some() && node != endpoint.node.number().current() {
        lease.delete().await;
        return Err(response::unavailable(
            "this node has just lost its number; open the stream again",
        ));
    }
    let connection = MessageLoop::with_token(
        Some(token),
        endpoint.server.clone(),
        Arc::clone(&out),
        connection_limits(&options.limits),
    );
    let events = HttpSseEvents {
        endpoint_event: Some(format!("{MESSAGE_PATH}?sessionId={id}")),
        next: None,
        _guard: guard,
        out: Arc::clone(&out),
    };
    let streams = Arc::clone(streams);
    tokio::spawn(async move {
        let ending = async {
            latest_expiry.wait_until_expired().await;
            streams.close(&lease.key);
        };
        serve(connection.run(messages), &out, &lease, ending).await;
    });
    Ok(endpoint.stream(Box::new(events), Some(permit)))
}

/// Delivers the message of a POST to its stream, on this node or through the mailbox of the node of the stream.
async fn deliver(post: &IncomingRequest<'_>, message: &[u8]) -> Result<HttpResponse, HttpResponse> {
    let endpoint = post.endpoint;
    let (key, node) = match session_of(post.parts.uri.query()) {
        SessionParam::Session(id) => (store_key(id), node_of(id)),
        SessionParam::Missing => return Err(missing_session()),
        SessionParam::Invalid => return Err(unknown_session()),
    };
    // Requests that wait for a full queue count as running requests.
    let _permit = endpoint.request_permit(0)?;
    let idle = endpoint.options.limits.effective_session_idle();
    let principal = post.principal();
    let touched = endpoint.stores.touch_session(&key, &principal, idle);
    match touched.await {
        Ok(true) => {}
        Ok(false) => return Err(unknown_session()),
        Err(error) => return Err(response::store_error(&error)),
    }
    check_message(post, message)?;
    let token = post.auth.clone().unwrap_or_default();
    if let Some(stream) = endpoint.http_sse.find(&key) {
        let permit = streams::message_permit(endpoint.requests.bytes(), message);
        let permit = permit.ok_or_else(|| {
            response::unavailable("the messages that are being served are too large in total")
        })?;
        let sender = ChunkSender {
            token,
            permit: Some(permit),
        };
        return match stream.send(message, sender).await {
            Ok(()) => Ok(response::empty(StatusCode::ACCEPTED)),
            Err(SendError::Disconnected) => Err(unknown_session()),
            Err(SendError::Full) => Err(response::unavailable(
                "the client sends faster than it reads its stream",
            )),
        };
    }
    let is_here = node == endpoint.node.number().current();
    let node = node.filter(|_| !is_here).ok_or_else(unknown_session)?;
    let text = String::from_utf8_lossy(message).into_owned();
    let message = RawJson::from_string(text).map_err(|_| {
        response::reject(StatusCode::BAD_REQUEST, "the message cannot be forwarded")
    })?;
    let message = NodeMessage::StreamMessage {
        session: key,
        message,
        token,
    };
    match endpoint.stores.send_to_node(node, &message).await {
        Ok(true) => Ok(response::empty(StatusCode::ACCEPTED)),
        // The node of the stream has stopped, and the stream with it.
        Ok(false) => Err(unknown_session()),
        // A client that gets 503 sends the message again, and its call would run twice.
        Err(error @ StoreError::Unknown(_)) => {
            tracing::warn!(%error, "a message to a stream of another node may be lost");
            Err(response::reject(
                StatusCode::GATEWAY_TIMEOUT,
                "the message may have been delivered; do not send it again",
            ))
        }
        Err(error) => Err(response::store_error(&error)),
    }
}

/// Returns the start of the session ids of a node.
fn node_prefix(node: Option<NonZeroU16>) -> String {
    format!("{:04x}", node.map_or(0, NonZeroU16::get))
}

/// Returns the number of the node that has created a session id.
fn node_of(id: &str) -> Option<NonZeroU16> {
    let node = u16::from_str_radix(id.get(..4)?, 16).ok()?;
    NonZeroU16::new(node)
}

/// The session id in the query of a POST.
enum SessionParam<'q> {
    Session(&'q str),
    Missing,
    Invalid,
}

fn session_of(query: Option<&str>) -> SessionParam<'_> {
    let pairs = query.unwrap_or_default().split('&');
    let mut named = pairs.filter_map(|pair| pair.strip_prefix("sessionId="));
    match (named.next(), named.next()) {
        (None, _) => SessionParam::Missing,
        // Session ids of this server need no percent-encoding, so an id with percent-encoding is invalid.
        (Some(id), None) if is_session_id(id) => SessionParam::Session(id),
        _ => SessionParam::Invalid,
    }
}

/// Returns the key of a session in the store. The space separates the keys from session ids of the 2025 revisions: neither
/// their header nor the query can contain a space.
fn store_key(id: &str) -> String {
    format!("http+sse {id}")
}

fn missing_session() -> HttpResponse {
    response::reject(
        StatusCode::BAD_REQUEST,
        "the request has no session id: POST to the address in the `endpoint` event of the stream",
    )
}

/// Returns the same response for ended, unknown and other principals' sessions, so that ids cannot be probed.
fn unknown_session() -> HttpResponse {
    response::reject(
        StatusCode::NOT_FOUND,
        "there is no such session; open a stream with GET first",
    )
}

/// Rejects data that is not a single message, and requests whose token lacks scopes.
fn check_message(post: &IncomingRequest<'_>, message: &[u8]) -> Result<(), HttpResponse> {
    let (id, error) = match strict_json::read(message, &strict_json::Limits::default()) {
        Ok(Envelope::Request(request)) => return check_scopes(post, &request),
        Ok(Envelope::Batch(_)) => (
            None,
            ErrorObject::invalid_request("batches are not supported by this protocol version"),
        ),
        Ok(_) => return Ok(()),
        Err(unreadable) => (unreadable.id, unreadable.error),
    };
    let id = id.map_or_else(|| stamp::unreadable_id(Some(HTTP_WITH_SSE)), ResponseId::Id);
    Err(response::error(StatusCode::BAD_REQUEST, id, error))
}

/// Spec 2026-07-28, basic/authorization, "Scope Challenge Handling": missing scopes are reported in the response to
/// the POST. The connection, which may be on another node, checks its own state and the scopes again.
fn check_scopes(
    post: &IncomingRequest<'_>,
    request: &RequestEnvelope<'_>,
) -> Result<(), HttpResponse> {
    let snapshot = &post.snapshot;
    let admitted = admit::admit(
        request,
        &AdmissionContext {
            supported: &snapshot.supported,
            lifecycle: Lifecycle::Initialized {
                version: HTTP_WITH_SSE,
            },
            headers: None,
            is_custom_method: &|name| snapshot.is_custom_method(name),
            is_custom_notification: &|name| snapshot.is_custom_notification(name),
            require_initialized: false,
        },
    );
    match admitted
        .ok()
        .and_then(|admitted| post.missing_scopes(&admitted))
    {
        Some(rejection) => Err(rejection.into_response(ResponseId::Id(request.id.clone()))),
        None => Ok(()),
    }
}

fn connection_limits(http: &HttpLimits) -> Limits {
    let defaults = Limits::default();
    Limits {
        message_bytes: http.body_bytes,
        queued_messages: http.queued_messages,
        queued_bytes: http.queued_bytes,
        requests_in_flight: defaults.requests_in_flight.min(http.requests_in_flight),
        drain: http.drain,
        ..defaults
    }
}

/// Runs a connection to its end and renews its session record in the meantime.
///
/// `ending` completes when the client may no longer be served. No more messages are then read, and running requests
/// finish within the drain time of a closed connection.
async fn serve(
    running: impl Future<Output = ()>,
    out: &OutgoingQueue,
    lease: &SessionLease,
    ending: impl Future<Output = ()>,
) {
    tokio::pin!(running);
    tokio::select! {
        () = &mut running => {}
        () = ending => {
            lease.delete().await;
            return running.await;
        }
        () = lease.wait_deleted() => {
            tracing::warn!("a stream ends because its session was deleted");
            out.fail();
            running.await;
        }
    }
    lease.delete().await;
}

/// The record of a stream in the session store.
struct SessionLease {
    stores: Stores,
    key: String,
    principal: Principal,
    idle: Duration,
    /// How often the record is renewed.
    interval: Duration,
}

impl SessionLease {
    async fn create(&self) -> Result<(), StoreError> {
        let record = SessionRecord::new(HTTP_WITH_SSE, ClientCapabilities::default(), None);
        let created = self
            .stores
            .create_session(&self.key, &self.principal, record, self.idle);
        created.await.map(drop)
    }

    /// Renews the record at intervals. Returns when it has been deleted.
    async fn wait_deleted(&self) {
        loop {
            tokio::time::sleep(self.interval).await;
            let touched = self
                .stores
                .touch_session(&self.key, &self.principal, self.idle);
            match touched.await {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => {
                    tracing::warn!(%error, "a session cannot be renewed");
                }
            }
        }
    }

    async fn delete(&self) {
        let deleted = self.stores.delete_session(&self.key, &self.principal).await;
        if let Err(error) = deleted {
            tracing::warn!(%error, "the session of an ended stream cannot be deleted");
        }
    }
}

/// The events of a connection. Dropping it ends the connection.
struct HttpSseEvents {
    /// The address for POST, until its event is sent.
    endpoint_event: Option<String>,
    next: Option<BoxFuture<'static, Option<Vec<u8>>>>,
    out: Arc<OutgoingQueue>,
    _guard: StreamGuard,
}

impl StreamSource for HttpSseEvents {
    fn poll_events(&mut self, cx: &mut Context<'_>, out: &mut Vec<u8>) -> Poll<StreamState> {
        let written = out.len();
        if let Some(address) = self.endpoint_event.take() {
            write_event(out, "endpoint", address);
        }
        while out.len() - written < CHUNK_BYTES {
            let queue = &self.out;
            let next = self.next.get_or_insert_with(|| {
                let queue = Arc::clone(queue);
                Box::pin(async move { queue.next().await })
            });
            let Poll::Ready(message) = next.as_mut().poll(cx) else {
                break;
            };
            self.next = None;
            let Some(message) = message else {
                return Poll::Ready(StreamState::Ended);
            };
            let text = String::from_utf8(message).expect("the server writes JSON text");
            write_event(out, "message", text);
        }
        if out.len() == written {
            return Poll::Pending;
        }
        Poll::Ready(StreamState::Open)
    }
}

impl Drop for HttpSseEvents {
    fn drop(&mut self) {
        self.out.fail();
    }
}

fn write_event(out: &mut Vec<u8>, event: &str, data: String) {
    SseEvent::new(data)
        .with_event(event)
        .encode_into(out)
        .expect("the event types of this module are plain words");
}
