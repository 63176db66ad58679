//! Serves self-contained requests (2026-07-28): one exchange for each POST, without stored state.

use std::sync::Arc;
use std::task::{Context, Poll};

use toolwire_proto::admit::{Admitted, http_status_before_dispatch};
use toolwire_proto::features::Era;
use toolwire_proto::param_headers::{self, ParamHeader};
use toolwire_types::{ErrorObject, RequestId, ResponseId};

#[cfg(feature = "relay")]
use crate::engine::Principal;
use crate::engine::{BoxFuture, Outcome, TransportContext};
use crate::server::Server;
use crate::server::dispatch::Dispatch;
use crate::server::middleware::{Chain, is_stream};
use crate::server::visibility::{Caller, StoredCaller};
use crate::transport::http::endpoint::HttpEndpoint;
use crate::transport::http::exchange::context::PeerState;
use crate::transport::http::exchange::running::{
    Dispatched, ExchangeFuture, OnDisconnect, RunningHandler,
};
use crate::transport::http::exchange::token_expiry;
use crate::transport::http::permits::RequestPermit;
use crate::transport::http::request::guard;
use crate::transport::http::request::incoming::{IncomingRequest, params_bytes};
use crate::transport::http::response::event_queue::EventQueue;
use crate::transport::http::response::stream_source::{StreamSource, StreamState};
use crate::transport::http::response::{self, FinalMessage, HttpResponse, status};
use crate::transport::listen::{ListenEnd, ListenFilter, ListenStream, forwarded_end, listen_work};
use crate::transport::outgoing_queue::MessageSink;

/// Returns `true` if a request opens a stream of changes.
pub(crate) fn is_listen(admitted: &Admitted<'_>) -> bool {
    admitted.method.name() == "subscriptions/listen"
}

/// Starts to serve an admitted request.
pub(crate) fn begin(post: &IncomingRequest<'_>, admitted: &Admitted<'_>) -> Dispatched {
    let dispatched = if is_listen(admitted) && !post.snapshot.forwards() {
        listen(post, admitted)
    } else {
        start(post, admitted)
    };
    dispatched.unwrap_or_else(Dispatched::Finished)
}

fn start(post: &IncomingRequest<'_>, admitted: &Admitted<'_>) -> Result<Dispatched, HttpResponse> {
    let server = &post.endpoint.server;
    let (id, era) = (admitted.id.clone(), admitted.era);
    let reject = |error| reject(&id, era, error);
    check_param_headers(post, admitted).map_err(reject)?;
    let permit = permit(post, admitted)?;
    let context = post.context(PeerState::Stateless);
    let transport = Arc::clone(&context) as Arc<dyn TransportContext>;
    let has_state = admitted.request_state().is_some();
    let exchange = match Server::open_in(Arc::clone(&post.snapshot), admitted, transport, None) {
        Ok(exchange) => exchange,
        // An expired or invalid request state is an ordinary outcome: the client starts again.
        Err(error) if has_state => {
            return Ok(Dispatched::Finished(response::from_final_message(Some(
                FinalMessage::new(&id, era, Err(error)),
            ))));
        }
        Err(error) => return Err(reject(error)),
    };
    Ok(match server.dispatch(exchange) {
        Dispatch::Now(outcome) => {
            let finished = FinalMessage::new(&id, era, outcome);
            Dispatched::Finished(response::from_final_message(Some(finished)))
        }
        Dispatch::Later(future) => {
            let is_forwarded = post.snapshot.forwards();
            let future = if is_forwarded && is_stream(admitted.method.name()) {
                until_stream_end(post, admitted, future)
            } else {
                future
            };
            let future = ExchangeFuture::One { id, era, future };
            Dispatched::Running(RunningHandler::new(
                future,
                context,
                OnDisconnect::Cancel,
                permit,
            ))
        }
    })
}

/// Ends a forwarded stream when the server shuts down or the token expires.
#[cold]
fn until_stream_end(
    post: &IncomingRequest<'_>,
    admitted: &Admitted<'_>,
    future: BoxFuture<'static, Outcome>,
) -> BoxFuture<'static, Outcome> {
    let (id, version) = (admitted.id.clone(), admitted.version);
    let ended = stream_end(post);
    Box::pin(async move {
        tokio::select! {
            biased;
            outcome = future => outcome,
            () = ended => forwarded_end(&id, version),
        }
    })
}

/// Acquires a permit. Streams of events, and subscriptions that are forwarded, do not count as running requests.
fn permit(
    post: &IncomingRequest<'_>,
    admitted: &Admitted<'_>,
) -> Result<RequestPermit, HttpResponse> {
    let bytes = params_bytes(admitted);
    if is_listen(admitted) {
        return post.endpoint.stream_permit(bytes);
    }
    #[cfg(feature = "events")]
    if admitted.method.name() == "events/stream" {
        return post.endpoint.stream_permit(bytes).map_err(|_| {
            let max = post.endpoint.options.limits.open_streams as u64;
            let message = "too many or too large streams are open; close some first, or poll";
            let error = toolwire_proto::events::exhausted(message, "streams", max);
            reject(admitted.id, admitted.era, error)
        });
    }
    post.endpoint.request_permit(bytes)
}

/// Spec 2026-07-28, basic/transports/streamable-http, "Custom Headers from Tool Parameters".
fn check_param_headers(
    post: &IncomingRequest<'_>,
    admitted: &Admitted<'_>,
) -> Result<(), ErrorObject> {
    let (Some(name), "tools/call") = (&admitted.name, admitted.method.name()) else {
        return Ok(());
    };
    let check = |expected: &[ParamHeader]| {
        param_headers::check(expected, admitted.arguments(), |header| {
            guard::lookup_named(&post.parts.headers, header)
        })
        .map_err(ErrorObject::from)
    };
    #[cfg(feature = "relay")]
    if let Some(forwarder) = &post.snapshot.forwarder {
        let principal = post.auth.as_deref().map(Principal::of);
        let principal = principal.unwrap_or_else(Principal::anonymous);
        return check(&forwarder.param_headers(name, principal));
    }
    let caller = || Caller::of_request(post.auth.as_deref(), admitted);
    let viewer = post.snapshot.viewer(caller);
    let viewer = viewer.of_call("tools/call", admitted.arguments());
    let find = || post.snapshot.find_tool(name, &viewer);
    match post.snapshot.catch_rule_panic("tools/call", find)? {
        Some(tool) => check(&tool.param_headers),
        None => Ok(()),
    }
}

/// Returns the response to a request that was rejected before its handler ran.
#[cold]
fn reject(id: &RequestId, era: Era, error: ErrorObject) -> HttpResponse {
    let status = status(http_status_before_dispatch(error.code, era));
    response::error(status, ResponseId::Id(id.clone()), error)
}

/// Opens a stream of changes. It ends when the server shuts down or the token expires.
#[cold]
fn listen(post: &IncomingRequest<'_>, admitted: &Admitted<'_>) -> Result<Dispatched, HttpResponse> {
    let endpoint = post.endpoint;
    let filter = ListenFilter::read(&endpoint.server, admitted)
        .map_err(|error| reject(admitted.id, admitted.era, error))?;
    let permit = endpoint.stream_permit(filter.memory_bytes())?;
    if let Some(chain) = &post.snapshot.middleware {
        return listen_in(chain, post, admitted, filter, permit);
    }
    let queue = Arc::new(endpoint.queue());
    let sink = Arc::clone(&queue) as Arc<dyn MessageSink>;
    let caller = StoredCaller::new(&endpoint.server, post.auth.clone(), true, admitted);
    let request = (admitted.id.clone(), admitted.version);
    let stream = ListenStream::open(&endpoint.server, request, filter, sink, caller)
        .map_err(|error| reject(admitted.id, admitted.era, error))?;
    let source = ListenEvents {
        queue,
        stream: Some(stream),
        endpoint: Arc::clone(endpoint),
        ended: stream_end(post),
    };
    let response = endpoint.stream(Box::new(source), Some(permit));
    Ok(Dispatched::Finished(response))
}

/// Opens a stream of changes inside the middleware of the server.
fn listen_in(
    chain: &Chain,
    post: &IncomingRequest<'_>,
    admitted: &Admitted<'_>,
    filter: ListenFilter,
    permit: RequestPermit,
) -> Result<Dispatched, HttpResponse> {
    let (id, era) = (admitted.id.clone(), admitted.era);
    let context = post.context(PeerState::Stateless);
    let transport = Arc::clone(&context) as Arc<dyn TransportContext>;
    let exchange = Server::open_in(Arc::clone(&post.snapshot), admitted, transport, None)
        .map_err(|error| reject(&id, era, error))?;
    let server = post.endpoint.server.clone();
    let work = listen_work(server, filter, ListenEnd::Closed, stream_end(post));
    let future = chain.run(exchange, work);
    let future = ExchangeFuture::One { id, era, future };
    Ok(Dispatched::Running(RunningHandler::new(
        future,
        context,
        OnDisconnect::Cancel,
        permit,
    )))
}

/// Completes when the server shuts down or the token expires.
fn stream_end(post: &IncomingRequest<'_>) -> BoxFuture<'static, ()> {
    let shutdown = post.endpoint.server.shutdown_signal().clone();
    let token_expires_at = token_expiry::expiry_instant(post.auth.as_deref());
    Box::pin(async move {
        tokio::select! {
            () = shutdown.cancelled() => {}
            () = token_expiry::sleep_until_expiry(token_expires_at) => {}
        }
    })
}

/// The events of one `subscriptions/listen`.
struct ListenEvents {
    queue: Arc<EventQueue>,
    /// `None` after the final message was sent.
    stream: Option<ListenStream>,
    endpoint: Arc<HttpEndpoint>,
    /// Completes when the server shuts down or the token expires.
    ended: BoxFuture<'static, ()>,
}

impl StreamSource for ListenEvents {
    fn poll_events(&mut self, cx: &mut Context<'_>, out: &mut Vec<u8>) -> Poll<StreamState> {
        if self.stream.is_some() && self.ended.as_mut().poll(cx).is_ready() {
            let stream = self.stream.take().expect("checked in the condition above");
            stream.finish(&self.endpoint.server);
        }
        let ready = self.queue.poll_ready(cx);
        self.queue.take_events(out);
        match (ready, &self.stream) {
            (_, None) => Poll::Ready(StreamState::Ended),
            (Poll::Ready(()), Some(_)) => Poll::Ready(StreamState::Open),
            (Poll::Pending, Some(_)) => Poll::Pending,
        }
    }
}
