//! GET and DELETE of the 2025 revisions: opens and resumes streams, and ends sessions.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderName, StatusCode};
use tokio::time::Instant;
use toolwire_proto::event_id::EventId;
use toolwire_types::ResponseId;

use crate::store::{LogEntry, Replay, SessionSignal, StreamKey};
use crate::transport::http::endpoint::HttpEndpoint;
use crate::transport::http::exchange::token_expiry;
use crate::transport::http::permits::StreamPermit;
use crate::transport::http::random_id::random_id;
use crate::transport::http::request::guard;
use crate::transport::http::request::incoming::IncomingRequest;
use crate::transport::http::response::{self, HttpResponse};
use crate::transport::http::session::active::ActiveSession;
use crate::transport::http::session::channel::SessionChannel;
use crate::transport::http::session::log_reader::LogReader;
use crate::transport::http::session::lookup::SessionLookup;
use crate::transport::http::session::push::{PushReader, PushTask, PushedSession};
use crate::transport::http::session::response_stream::{RESPONSE_STREAM_PREFIX, priming_event};
use crate::transport::http::session::stream_reader::ResumableStream;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// The first letter of the names of streams that clients open with GET.
const PUSH_STREAM: &str = "g";

/// Opens a stream for server messages, or resumes a stream.
pub(crate) async fn get(post: &IncomingRequest<'_>) -> HttpResponse {
    if let Err(rejection) = guard::check_accept_events(post.head) {
        return rejection;
    }
    // From then on, this node learns the changes of the session that other nodes store.
    post.endpoint.node.wait_until_joined().await;
    let session = match post.session().await {
        Ok(session) => session,
        Err(rejection) => return rejection,
    };
    let token_expires_at = token_expiry::expiry_instant(post.auth.as_deref());
    let outcome = match guard::text(guard::lookup(&post.parts.headers, &LAST_EVENT_ID)) {
        Ok(None) => open(post, session, token_expires_at).await,
        Ok(Some(id)) => resume(post, session, EventId::parse(id), token_expires_at).await,
        Err(()) => Err(reject_event_id()),
    };
    outcome.unwrap_or_else(|rejection| rejection)
}

/// Ends a session. It is not loaded before, because the store deletes only sessions of the principal.
pub(crate) async fn delete(post: &IncomingRequest<'_>) -> HttpResponse {
    if let Err(rejection) = post.check_version_header() {
        return rejection;
    }
    let id = match post.session_id() {
        Ok(id) => id,
        Err(missing) => return missing.reject(ResponseId::Absent),
    };
    match post.endpoint.end_session(id, &post.principal()).await {
        Ok(true) => response::empty(StatusCode::NO_CONTENT),
        Ok(false) => SessionLookup::Unknown.reject(ResponseId::Absent),
        Err(error) => response::store_error(&error),
    }
}

/// The longest time for which changes are collected for a client that has disconnected. A client that comes back later is
/// notified of everything that may have changed.
const MAX_PUSH_IDLE: Duration = Duration::from_secs(5 * 60);

async fn open(
    get: &IncomingRequest<'_>,
    session: Arc<ActiveSession>,
    token_expires_at: Option<Instant>,
) -> Result<HttpResponse, HttpResponse> {
    let endpoint = get.endpoint;
    let permit = endpoint.stream_permit(0)?;
    let name = random_id(PUSH_STREAM, 16).map_err(|error| response::store_error(&error))?;
    let control = session.stream(&name);
    let writer = endpoint.stream_writer();
    let opened = writer.open(&session.key, &control, 1, None).await;
    opened.map_err(|error| response::store_error(&error))?;
    let priming_event = priming_event(endpoint, &session, &control);
    // A change from now on reaches the reader.
    let attachment = control.attach(endpoint.streams.bytes());
    let push = Some(read_pushed(get, &session, &control));
    let context = endpoint.reader_context(&session, attachment, push, token_expires_at);
    let events = LogReader::new(context, 0, None, priming_event);
    Ok(stream(endpoint, permit, events))
}

async fn resume(
    get: &IncomingRequest<'_>,
    session: Arc<ActiveSession>,
    last: Option<EventId<'_>>,
    token_expires_at: Option<Instant>,
) -> Result<HttpResponse, HttpResponse> {
    let endpoint = get.endpoint;
    let last = last.ok_or_else(reject_event_id)?;
    // Acquired before the current reader of the stream is detached.
    let permit = endpoint.stream_permit(0)?;
    let key = StreamKey::new(&session.key.id, last.stream());
    let read = endpoint.stores.read_after(
        &session.key.principal,
        &key,
        last.sequence(),
        Duration::ZERO,
    );
    let replay = read.await.map_err(|error| response::store_error(&error))?;
    match &replay {
        Replay::Entries(entries) if matches!(entries[..], [(_, LogEntry::End)]) => {
            return Ok(no_content());
        }
        Replay::Ended => return Ok(no_content()),
        Replay::Entries(_) => {}
        Replay::Gap { .. } | Replay::Unknown => return Err(reject_event_id()),
    }
    let control = session.stream(last.stream());
    let mut missed_changes = None;
    let (attachment, push, token_expires_at) = if last.stream().starts_with(RESPONSE_STREAM_PREFIX)
    {
        (control.attach(endpoint.streams.bytes()), None, None)
    } else {
        // The node that pushed to this stream stops, because this node pushes to it now.
        let signal = SessionSignal::StreamMoved {
            stream: last.stream().to_owned(),
        };
        let signalled = endpoint.signal(&session.key.id, signal).await;
        signalled.map_err(|error| response::store_error(&error))?;
        let is_written_here = control.writer().is_some();
        if !is_written_here {
            let writer = endpoint.stream_writer();
            let first = last.sequence() + 1;
            let opened = writer.open(&session.key, &control, first, None).await;
            opened.map_err(|error| response::store_error(&error))?;
        }
        let continued = session.push_task().filter(|_| is_written_here);
        // A change from now on reaches the reader.
        let attachment = control.attach(endpoint.streams.bytes());
        let push = read_pushed(get, &session, &control);
        if continued.is_none_or(|push| push.has_changes()) {
            missed_changes = session.push_task();
        }
        (attachment, Some(push), token_expires_at)
    };
    let context = endpoint.reader_context(&session, attachment, push, token_expires_at);
    if let Some(push) = missed_changes {
        push.resync();
    }
    let events = LogReader::new(context, last.sequence(), Some(replay), None);
    Ok(stream(endpoint, permit, events))
}

fn read_pushed(
    get: &IncomingRequest<'_>,
    session: &Arc<ActiveSession>,
    control: &Arc<ResumableStream>,
) -> PushReader {
    session.read_pushed(control, || start_push(get, session, control))
}

fn start_push(
    get: &IncomingRequest<'_>,
    session: &Arc<ActiveSession>,
    control: &Arc<ResumableStream>,
) -> PushReader {
    let endpoint = get.endpoint;
    let server = &endpoint.server;
    let pushed = PushedSession {
        key: session.key.clone(),
        state: Arc::clone(&session.state),
        idle: endpoint
            .options
            .limits
            .effective_session_idle()
            .min(MAX_PUSH_IDLE),
        shutdown: server.shutdown_signal().clone(),
        channel: Arc::new(SessionChannel::new(Arc::clone(session), None)),
        token: get.auth.clone(),
    };
    PushTask::start(
        pushed,
        server,
        endpoint.queue(),
        endpoint.stream_writer(),
        control,
    )
}

fn stream(endpoint: &HttpEndpoint, permit: StreamPermit, events: LogReader) -> HttpResponse {
    endpoint.stream(Box::new(events), Some(permit))
}

/// Returns 204, which tells a client not to reconnect (WHATWG HTML, "Server-sent events"). A client that cancelled its
/// request gets no response on the stream, and would otherwise reconnect forever.
fn no_content() -> HttpResponse {
    response::empty(StatusCode::NO_CONTENT)
}

/// Returns the same error for expired, unknown and other principals' event ids, so that ids cannot be probed.
fn reject_event_id() -> HttpResponse {
    response::reject(
        StatusCode::BAD_REQUEST,
        "the event of Last-Event-ID is not stored; open a new stream without it",
    )
}
