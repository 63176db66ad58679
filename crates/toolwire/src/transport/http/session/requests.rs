//! Serves requests of the 2025 revisions, in a session or without one.
//!
//! A disconnect does not cancel these requests. In a session, the client can resume the response later. So a response
//! that becomes a stream is written to the session's event log ([`response_stream`]).

use std::sync::Arc;

use http::HeaderValue;
use toolwire_proto::admit::Admitted;
use toolwire_proto::features::Era;
use toolwire_proto::requests::{self, ExchangeKey};
use toolwire_types::{ErrorObject, RequestId, ResponseId};

use crate::engine::encoding::encode_error;
use crate::engine::{
    Cancellation, ConnectionState, MessageSize, Outcome, TransportContext, boxed_cold,
};
use crate::server::Server;
use crate::server::dispatch::Dispatch;
use crate::store::LogEntry;
use crate::transport::batch_responses::array;
use crate::transport::http::endpoint::HttpEndpoint;
use crate::transport::http::exchange::context::{HttpStreamContext, PeerState};
use crate::transport::http::exchange::running::{
    Dispatched, ExchangeFuture, FirstEvent, HandlerEvents, OnDisconnect, RunningHandler,
};
use crate::transport::http::request::incoming::{IncomingRequest, params_bytes};
use crate::transport::http::response::{self, FinalMessage, HttpResponse, SESSION_ID};
use crate::transport::http::session::active::ActiveSession;
use crate::transport::http::session::record::record_of;
use crate::transport::http::session::response_stream;

/// The maximum total size of the messages of running requests of one session.
const BYTES_IN_FLIGHT: usize = 64 * 1024 * 1024;

/// Serves `initialize` and opens a session. If `initialize` fails, no session is created.
pub(crate) async fn open_session(
    post: &IncomingRequest<'_>,
    admitted: &Admitted<'_>,
) -> HttpResponse {
    let endpoint = post.endpoint;
    let id = admitted.id.clone();
    let state = Arc::new(ConnectionState::new());
    let peer = PeerState::Transient(Arc::clone(&state));
    let outcome = initialize(post, admitted, peer).await;
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
    #[cfg(feature = "relay")]
    if let Some(forwarder) = &post.snapshot.forwarder {
        forwarder.session_opened(&state, &session);
    }
    let mut response = immediate(&id, outcome);
    set_session_id(&mut response, &session);
    response
}

/// Serves `initialize` in a session. The client gets the result that was negotiated before, and nothing changes.
pub(crate) async fn initialize_again(
    post: &IncomingRequest<'_>,
    session: &Arc<ActiveSession>,
    admitted: &Admitted<'_>,
) -> HttpResponse {
    let peer = PeerState::Session(Arc::clone(session));
    let outcome = initialize(post, admitted, peer).await;
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
        let peer = PeerState::Transient(Arc::default());
        return immediate(admitted.id, initialize(post, admitted, peer).await);
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
    finish(endpoint, running, None, RequestIds::One(admitted.id)).await
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
    let response = match begin_in_session(post, session, admitted) {
        // A middleware waits. The response is not a stream, because the record is stored before it is sent.
        Dispatched::Running(mut running) => {
            let finished = std::future::poll_fn(|cx| running.poll(cx)).await;
            response::from_final_message(finished)
        }
        Dispatched::Finished(response) => response,
    };
    match post.endpoint.save(session).await {
        Ok(()) => response,
        Err(error) => response::store_error(&error),
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
    // The handler and the middleware of a request that is rejected here have not begun, because its future was not polled. Only
    // a middleware that waits before a method that changes the session was polled once.
    let key = session.state.begin(&id, cancellable, &cancellation, size)?;
    let entry = SessionLedgerEntry {
        state: Arc::clone(&session.state),
        key: Some(key),
    };
    let sessions = &post.endpoint.active_sessions;
    if cancellable == requests::CancelPolicy::Allowed
        && sessions.was_cancelled(&session.key.id, &id)
    {
        // A client that waits for this response has used the id of another request.
        let cancelled = ErrorObject::internal("the request was cancelled before it began");
        return Ok(StartedRequest::Finished(FinalMessage::new(
            &id,
            era,
            Err(cancelled),
        )));
    }
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

/// The requests that a response belongs to.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RequestIds<'a> {
    One(&'a RequestId),
    Batch(&'a [RequestId]),
}

impl RequestIds<'_> {
    /// Returns the last entry of a response stream whose node stopped: an error for each request.
    fn lost_response(self) -> LogEntry {
        let error = |id: &RequestId| {
            let reason = "the server node that served the request was lost; the request may have had effects";
            encode_error(ResponseId::Id(id.clone()), ErrorObject::internal(reason))
        };
        let message = match self {
            Self::One(id) => error(id),
            Self::Batch(ids) => array(ids.iter().map(error).collect()),
        };
        LogEntry::Last(message.into())
    }
}

/// Runs a handler until its response is complete or becomes a stream. In a session, the stream can be resumed.
pub(crate) async fn finish(
    endpoint: &Arc<HttpEndpoint>,
    mut running: RunningHandler,
    session: Option<Arc<ActiveSession>>,
    requests: RequestIds<'_>,
) -> HttpResponse {
    match (
        running.open(endpoint.options.limits.quiet_period).await,
        session,
    ) {
        (FirstEvent::Outcome(finished), _) => response::from_final_message(finished),
        (FirstEvent::Stream, Some(session)) => {
            boxed_cold(|| {
                response_stream::open(endpoint, session, running, requests.lost_response())
            })
            .await
        }
        (FirstEvent::Stream, None) => {
            running.context.set_streaming();
            endpoint.stream(Box::new(HandlerEvents(running)), None)
        }
    }
}

async fn initialize(
    post: &IncomingRequest<'_>,
    admitted: &Admitted<'_>,
    peer: PeerState,
) -> Outcome {
    let server = &post.endpoint.server;
    let context = post.context(peer);
    let exchange = server.open(admitted, context as Arc<dyn TransportContext>, None)?;
    match server.dispatch(exchange) {
        Dispatch::Now(outcome) => outcome,
        // A middleware or a forwarder waits.
        Dispatch::Later(work) => work.await,
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn lost_response_is_an_error_for_each_request() {
        let [first, second] = [RequestId::from("a"), RequestId::from(2)];
        let error_ids = |requests: RequestIds<'_>| {
            let LogEntry::Last(message) = requests.lost_response() else {
                panic!("a lost response ends the stream");
            };
            let response: Value = serde_json::from_slice(&message).unwrap();
            let id = |response: &Value| {
                assert_eq!(response["error"]["code"], -32603, "{response}");
                response["id"].clone()
            };
            match response.as_array() {
                Some(batch) => batch.iter().map(id).collect(),
                None => id(&response),
            }
        };
        assert_eq!(error_ids(RequestIds::One(&first)), json!("a"));
        let batch = [first, second];
        assert_eq!(error_ids(RequestIds::Batch(&batch)), json!(["a", 2]));
    }
}
