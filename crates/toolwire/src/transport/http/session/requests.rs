//! Serves requests of the 2025 revisions, in a session or without one.
//!
//! A disconnect does not cancel these requests. In a session, the client can resume the response later. So a response
//! that becomes a stream is written to the session's event log, and its handler runs in its own task.

use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::Poll;

use http::HeaderValue;
use tokio::time::Instant;
use toolwire_proto::admit::Admitted;
use toolwire_proto::event_id::EventId;
use toolwire_proto::features::{Era, VersionFeatures};
use toolwire_proto::outbox::Outgoing;
use toolwire_proto::requests::{self, ExchangeKey};
use toolwire_proto::sse::SseEvent;
use toolwire_types::{ErrorObject, RequestId, ResponseId};

use crate::engine::{
    BoxFuture, Cancellation, ConnectionState, MessageSize, Outcome, TransportContext, boxed_cold,
};
use crate::server::Server;
use crate::server::dispatch::Dispatch;
use crate::store::{LogEntry, StreamKey};
use crate::transport::http::endpoint::HttpEndpoint;
use crate::transport::http::exchange::context::{HttpStreamContext, PeerState};
use crate::transport::http::exchange::running::{
    Dispatched, ExchangeFuture, FirstEvent, HandlerEvents, OnDisconnect, RunningHandler,
};
use crate::transport::http::random_id::random_id;
use crate::transport::http::request::incoming::{IncomingRequest, params_bytes};
use crate::transport::http::response::{self, FinalMessage, HttpResponse, SESSION_ID};
use crate::transport::http::session::active::ActiveSession;
use crate::transport::http::session::log_reader::{LogReader, ReaderContext};
use crate::transport::http::session::push::PushReader;
use crate::transport::http::session::record::record_of;
use crate::transport::http::session::stream_reader::ResumableStream;
use crate::transport::http::session::stream_writer::StreamWriter;

/// The maximum total size of the messages of running requests of one session.
const BYTES_IN_FLIGHT: usize = 64 * 1024 * 1024;

/// The first letter of the names of streams that are responses to a POST.
pub(crate) const RESPONSE_STREAM_PREFIX: &str = "p";

/// Serves `initialize` and opens a session. If `initialize` fails, no session is created.
pub(crate) async fn open_session(
    post: &IncomingRequest<'_>,
    admitted: &Admitted<'_>,
) -> HttpResponse {
    let endpoint = post.endpoint;
    let id = admitted.id.clone();
    let state = Arc::new(ConnectionState::new());
    let outcome = initialize(post, admitted, &state);
    let mut record = match (&outcome, record_of(&state)) {
        (Ok(_), Some(record)) => record,
        _ => return immediate(&id, outcome),
    };
    let principal = post.principal();
    if principal.as_str().is_none() {
        record.network = post.client_network();
    }
    let session = match endpoint.open_session(&principal, record).await {
        Ok(session) => session,
        Err(error) => return response::store_error(&error),
    };
    let mut response = immediate(&id, outcome);
    set_session_id(&mut response, &session);
    response
}

/// Serves `initialize` in a session. The client gets the result that was negotiated before, and nothing changes.
pub(crate) fn initialize_again(
    post: &IncomingRequest<'_>,
    session: &Arc<ActiveSession>,
    admitted: &Admitted<'_>,
) -> HttpResponse {
    let outcome = initialize(post, admitted, &session.state);
    let mut response = immediate(admitted.id, outcome);
    set_session_id(&mut response, &session.key.id);
    response
}

fn set_session_id(response: &mut HttpResponse, session: &str) {
    match HeaderValue::try_from(session) {
        Ok(session) => drop(response.fields_mut().insert(SESSION_ID, session)),
        Err(_) => tracing::error!("a session id is not a valid header value"),
    }
}

/// Serves a request without a session. The server has no state of its client and stores none.
pub(crate) async fn serve_stateless(
    post: &IncomingRequest<'_>,
    admitted: &Admitted<'_>,
) -> HttpResponse {
    let endpoint = post.endpoint;
    if admitted.method.name() == "initialize" {
        let (id, state) = (admitted.id.clone(), Arc::default());
        return immediate(&id, initialize(post, admitted, &state));
    }
    let permit = match endpoint.request_permit(params_bytes(admitted)) {
        Ok(permit) => permit,
        Err(rejection) => return rejection,
    };
    let context = post.context(PeerState::Stateless);
    let future = match start_alone(post, &context, admitted) {
        StartedRequest::Finished(finished) => return response::from_final_message(Some(finished)),
        StartedRequest::Running(future) => future,
    };
    let running = RunningHandler::new(future, context, OnDisconnect::Finish, permit);
    finish(endpoint, running, None).await
}

/// Starts to serve a request of a session.
pub(crate) fn begin_in_session(
    post: &IncomingRequest<'_>,
    session: &Arc<ActiveSession>,
    admitted: &Admitted<'_>,
) -> Dispatched {
    let permit = match post.endpoint.request_permit(params_bytes(admitted)) {
        Ok(permit) => permit,
        Err(rejection) => return Dispatched::Finished(rejection),
    };
    let context = post.context(PeerState::Session(Arc::clone(session)));
    match start_in_session(post, session, &context, admitted) {
        Err(overloaded) => {
            let id = ResponseId::Id(admitted.id.clone());
            Dispatched::Finished(response::overloaded(id, overloaded))
        }
        Ok(StartedRequest::Finished(finished)) => {
            Dispatched::Finished(response::from_final_message(Some(finished)))
        }
        Ok(StartedRequest::Running(future)) => Dispatched::Running(RunningHandler::new(
            future,
            context,
            OnDisconnect::Finish,
            permit,
        )),
    }
}

/// Serves a request that changes the record of its session, and stores the record.
pub(crate) async fn change_session(
    post: &IncomingRequest<'_>,
    session: &Arc<ActiveSession>,
    admitted: &Admitted<'_>,
) -> HttpResponse {
    match begin_in_session(post, session, admitted) {
        Dispatched::Running(running) => {
            let session = Some(Arc::clone(session));
            finish(post.endpoint, running, session).await
        }
        Dispatched::Finished(response) => match post.endpoint.save(session).await {
            Ok(()) => response,
            Err(error) => response::store_error(&error),
        },
    }
}

/// A request after its start: its final message, or the future of its handler.
pub(crate) enum StartedRequest {
    Finished(FinalMessage),
    Running(ExchangeFuture),
}

/// Starts a request without a session.
pub(crate) fn start_alone(
    post: &IncomingRequest<'_>,
    context: &Arc<HttpStreamContext>,
    admitted: &Admitted<'_>,
) -> StartedRequest {
    let server = &post.endpoint.server;
    let (id, era) = (admitted.id.clone(), admitted.era);
    let transport = Arc::clone(context) as Arc<dyn TransportContext>;
    let opened = Server::open_in(Arc::clone(&post.snapshot), admitted, transport, None);
    match opened.map(|exchange| server.dispatch(exchange)) {
        Ok(Dispatch::Now(outcome)) => {
            StartedRequest::Finished(FinalMessage::new(&id, era, outcome))
        }
        Ok(Dispatch::Later(future)) => {
            StartedRequest::Running(ExchangeFuture::One { id, era, future })
        }
        Err(error) => StartedRequest::Finished(FinalMessage::new(&id, era, Err(error))),
    }
}

/// Starts a request of a session, so that the client can cancel it.
///
/// # Errors
/// Returns an error if too many or too large requests of the session are running.
pub(crate) fn start_in_session(
    post: &IncomingRequest<'_>,
    session: &Arc<ActiveSession>,
    context: &Arc<HttpStreamContext>,
    admitted: &Admitted<'_>,
) -> Result<StartedRequest, ErrorObject> {
    let server = &post.endpoint.server;
    let (id, era) = (admitted.id.clone(), admitted.era);
    let cancellable = requests::CancelPolicy::of(admitted.method.name());
    let size = MessageSize {
        bytes: params_bytes(admitted),
        limit: BYTES_IN_FLIGHT,
    };
    let cancellation = Cancellation::new();
    let transport = Arc::clone(context) as Arc<dyn TransportContext>;
    let opened = Server::open_in(
        Arc::clone(&post.snapshot),
        admitted,
        transport,
        Some(cancellation.clone()),
    );
    let future = match opened.map(|exchange| server.dispatch(exchange)) {
        Ok(Dispatch::Now(outcome)) => {
            return Ok(StartedRequest::Finished(FinalMessage::new(
                &id, era, outcome,
            )));
        }
        Err(error) => {
            return Ok(StartedRequest::Finished(FinalMessage::new(
                &id,
                era,
                Err(error),
            )));
        }
        Ok(Dispatch::Later(future)) => future,
    };
    let key = session.state.begin(&id, cancellable, &cancellation, size)?;
    let entry = SessionLedgerEntry {
        state: Arc::clone(&session.state),
        key: Some(key),
    };
    Ok(StartedRequest::Running(ExchangeFuture::Other(Box::pin(
        async move {
            let outcome = cancellation.unless_cancelled(future).await;
            let may_send = entry.finish();
            outcome
                .filter(|_| may_send)
                .map(|outcome| FinalMessage::new(&id, era, outcome))
        },
    ))))
}

/// The entry of a request in its session's ledger. It is removed on drop.
struct SessionLedgerEntry {
    state: Arc<ConnectionState>,
    key: Option<ExchangeKey>,
}

impl SessionLedgerEntry {
    /// Removes the entry. Returns `true` if the response may still be sent.
    fn finish(mut self) -> bool {
        self.key.take().is_some_and(|key| self.state.finish(key))
    }
}

impl Drop for SessionLedgerEntry {
    fn drop(&mut self) {
        if let Some(key) = self.key.take() {
            self.state.finish(key);
        }
    }
}

/// Runs a handler until its response is complete or becomes a stream. In a session, the stream can be resumed.
pub(crate) async fn finish(
    endpoint: &Arc<HttpEndpoint>,
    mut running: RunningHandler,
    session: Option<Arc<ActiveSession>>,
) -> HttpResponse {
    match (
        running.open(endpoint.options.limits.quiet_period).await,
        session,
    ) {
        (FirstEvent::Outcome(finished), _) => response::from_final_message(finished),
        (FirstEvent::Stream, Some(session)) => {
            boxed_cold(|| stream(endpoint, session, running)).await
        }
        (FirstEvent::Stream, None) => {
            running.context.set_streaming();
            endpoint.stream(Box::new(HandlerEvents(running)), None)
        }
    }
}

/// Turns the response into a resumable stream and spawns its handler as a task.
async fn stream(
    endpoint: &Arc<HttpEndpoint>,
    session: Arc<ActiveSession>,
    running: RunningHandler,
) -> HttpResponse {
    running.context.set_streaming();
    let name = match random_id(RESPONSE_STREAM_PREFIX, 16) {
        Ok(name) => name,
        Err(error) => return response::store_error(&error),
    };
    let key = StreamKey::new(&session.key.id, &name);
    let opened = endpoint.stores.open_stream(&session.key.principal, &key);
    if let Err(error) = opened.await {
        return response::store_error(&error);
    }
    let control = session.stream(&name);
    running.context.set_control(Arc::clone(&control));
    let context = endpoint.reader_context(&session, &control, None, None);
    let priming_event = priming_event(endpoint, &session, &control);
    let writing: BoxFuture<'_, ()> = Box::pin(write_to_log(
        endpoint.stream_writer(),
        Arc::clone(&session),
        control,
        running,
    ));
    tokio::spawn(writing);
    let source = LogReader::new(context, 0, None, priming_event);
    endpoint.stream(Box::new(source), None)
}

/// Returns the first event of a stream, with an event id and the retry delay. Spec 2025-11-25, basic/transports.
pub(crate) fn priming_event(
    endpoint: &HttpEndpoint,
    session: &ActiveSession,
    control: &ResumableStream,
) -> Option<SseEvent> {
    let version = session.state.version()?;
    let id = EventId::new(control.stream(), 0).filter(|_| version.has_priming_event())?;
    Some(
        SseEvent::new("")
            .with_id(id.to_string())
            .with_retry(endpoint.options.retry),
    )
}

/// Polls a handler and writes its messages to the log, its outcome last.
async fn write_to_log(
    writer: StreamWriter,
    session: Arc<ActiveSession>,
    control: Arc<ResumableStream>,
    mut running: RunningHandler,
) {
    loop {
        let (messages, finished) = poll_fn(|cx| {
            loop {
                let finished = running.poll(cx);
                let context = &running.context;
                let messages: Vec<Outgoing> = context.queue.take();
                match finished {
                    Poll::Ready(finished) => return Poll::Ready((messages, Some(finished))),
                    Poll::Pending if !messages.is_empty() || context.is_release_requested() => {
                        return Poll::Ready((messages, None));
                    }
                    // A message was queued since the queue was read.
                    Poll::Pending if context.queue.poll_ready(cx).is_ready() => {}
                    Poll::Pending => return Poll::Pending,
                }
            }
        })
        .await;
        if matches!(finished, Some(None)) {
            // The request was cancelled, so the remaining messages are not sent.
            writer.append(&session.key, &control, LogEntry::End).await;
            return;
        }
        for message in messages {
            let entry = LogEntry::Message(message.bytes.into());
            if !writer.append(&session.key, &control, entry).await {
                return;
            }
        }
        if running.context.take_release_request() {
            control.release();
        }
        let Some(Some(finished)) = finished else {
            continue;
        };
        let entry = LogEntry::Last(finished.message.into_bytes().into());
        writer.append(&session.key, &control, entry).await;
        return;
    }
}

fn initialize(
    post: &IncomingRequest<'_>,
    admitted: &Admitted<'_>,
    state: &Arc<ConnectionState>,
) -> Outcome {
    let server = &post.endpoint.server;
    let context = post.context(PeerState::Transient(Arc::clone(state)));
    let exchange = server.open(admitted, context as Arc<dyn TransportContext>, None)?;
    match server.dispatch(exchange) {
        Dispatch::Now(outcome) => outcome,
        Dispatch::Later(_) => Err(ErrorObject::internal("`initialize` did not finish at once")),
    }
}

fn immediate(id: &RequestId, outcome: Outcome) -> HttpResponse {
    response::from_final_message(Some(FinalMessage::new(id, Era::Legacy, outcome)))
}

/// Returns `true` if a method changes the record of the session.
pub(crate) fn changes_record(method: &str) -> bool {
    matches!(
        method,
        "initialize" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe"
    )
}

impl HttpEndpoint {
    /// Makes a connection the reader of a stream.
    pub(crate) fn reader_context(
        &self,
        session: &Arc<ActiveSession>,
        control: &Arc<ResumableStream>,
        push: Option<PushReader>,
        token_expires_at: Option<Instant>,
    ) -> ReaderContext {
        let options = &self.options;
        ReaderContext {
            stores: self.stores.clone(),
            session: Arc::clone(session),
            key: StreamKey::new(&session.key.id, control.stream()),
            attachment: control.attach(),
            interval: options.limits.keep_alive,
            last_touched: Mutex::new(Instant::now()),
            session_idle: options.limits.session_idle,
            // The response to a request ends with the request. A stream of pushed messages has no end of its own.
            shutdown: push.as_ref().map(|_| self.server.shutdown_signal().clone()),
            token_expires_at,
            _push: push,
        }
    }
}
