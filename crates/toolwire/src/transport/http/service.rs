//! A server as a `tower` service over `http` types.

use std::convert::Infallible;
use std::error::Error as StdError;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::request::Parts;
use http::{Request, Response};
use http_body::Body;
use tokio::runtime::Handle;
use tracing::Level;
use tracing::level_filters::LevelFilter;

use crate::engine::{BoxFuture, TokenInfo, box_cold};
use crate::server::Server;
use crate::transport::http::authorizer;
use crate::transport::http::byte_budget::Reservation;
use crate::transport::http::endpoint::HttpEndpoint;
use crate::transport::http::exchange::message;
use crate::transport::http::http_sse;
use crate::transport::http::options::HttpOptions;
use crate::transport::http::request::body::{self, BodyBytes, BodyError, BodySource};
use crate::transport::http::request::headers::RequestHeaders;
use crate::transport::http::request::incoming::IncomingRequest;
use crate::transport::http::request::peer_address::PeerAddress;
use crate::transport::http::request::route::{LegacyRoute, OtherRoute, Route};
use crate::transport::http::request::unread_body::{self, AfterResponse, TrackedBody};
use crate::transport::http::request::{cors, guard, public_routes};
use crate::transport::http::response::HttpResponse;
use crate::transport::http::response::body::ServerBody;
use crate::transport::http::session::get_delete;
use crate::transport::spare_memory;

/// What a request takes in memory besides its headers and its body.
const REQUEST_OVERHEAD: usize = 2 * 1024;

/// A server on HTTP, to be mounted in any stack that speaks `tower` and `http`.
///
/// Clones share everything. It answers at its own path only; see [`HttpOptions::with_path`]. A layer in front that has
/// verified an access token says so by putting a [`TokenInfo`] into the extensions of the request: sessions, streams and
/// request states then belong to whom it names.
#[derive(Debug, Clone)]
pub struct HttpService {
    endpoint: Arc<HttpEndpoint>,
    /// Where the connection came in, when the listener knows.
    local_address: Option<SocketAddr>,
    /// The address of the client, or of a reverse proxy in front of it, if the listener knows it.
    peer_address: Option<SocketAddr>,
}

/// How much an endpoint has to do at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct HttpLoad {
    /// Requests whose handlers run.
    pub requests: usize,
    /// Open streams of changes.
    pub streams: usize,
    /// Sessions this node works for at the moment: those with a running request or a stream.
    pub sessions: usize,
    /// Bytes of the messages that are being read or served, of [`HttpLimits::bytes_in_flight`](crate::transport::http::HttpLimits::bytes_in_flight).
    pub request_bytes: usize,
    /// Bytes that open streams hold, of [`HttpLimits::stream_bytes`](crate::transport::http::HttpLimits::stream_bytes).
    pub stream_bytes: usize,
}

impl HttpService {
    /// Puts a server on HTTP. With a bus among the options, the node joins the others at once inside a tokio runtime,
    /// else with its first request.
    ///
    /// # Panics
    /// When the options name a host or an origin that is none.
    #[must_use]
    pub fn new(server: Server, options: HttpOptions) -> Self {
        #[cfg(feature = "input")]
        server.snapshot().options.seal.log_key_source();
        spare_memory::retain_heap();
        let endpoint = Arc::new(HttpEndpoint::new(server, options));
        if Handle::try_current().is_ok() {
            endpoint.join_cluster();
        }
        Self {
            endpoint,
            local_address: None,
            peer_address: None,
        }
    }

    /// The same service for one connection, whose local address lets the guard accept that address as a host.
    #[must_use]
    pub fn with_local_addr(&self, local_address: SocketAddr) -> Self {
        Self {
            local_address: Some(local_address),
            ..self.clone()
        }
    }

    /// Returns the same service for one connection with this peer. Requests at an authorizer's
    /// [`public_route`](crate::transport::http::Authorizer::public_route) carry the address as a [`PeerAddress`].
    #[must_use]
    pub fn with_peer_address(&self, peer_address: SocketAddr) -> Self {
        Self {
            peer_address: Some(peer_address),
            ..self.clone()
        }
    }

    /// How much there is to do at the moment.
    #[must_use]
    pub fn load(&self) -> HttpLoad {
        HttpLoad {
            requests: self.endpoint.requests.used(),
            streams: self.endpoint.streams.used(),
            sessions: self.endpoint.live.len(),
            request_bytes: self.endpoint.requests.bytes().used(),
            stream_bytes: self.endpoint.streams.bytes().used(),
        }
    }

    /// Waits until no request runs, also none whose client has gone.
    pub(crate) async fn idle(&self) {
        self.endpoint.requests.wait_idle().await;
    }

    /// Answers one request. Dropping the future, or the body of the answer, is a client that goes away.
    pub async fn respond<B>(&self, request: Request<B>) -> Response<ServerBody>
    where
        B: Body + Send + 'static,
        B::Data: Send,
        B::Error: Into<Box<dyn StdError + Send + Sync>>,
    {
        let (parts, body) = request.into_parts();
        let head = RequestHeaders::of(&parts.headers);
        let body = pin!(body);
        let mut body = TrackedBody::new(body);
        let source = BodySource::Streaming(&mut body);
        let mut answer = self.respond_to(&parts, &head, source).await;
        self.finish_request(&parts, body, &mut answer).await;
        answer.into_response()
    }

    /// Reads what is left of a request body before its response is sent; see [`unread_body`].
    pub(crate) async fn finish_request<B: Body + Unpin>(
        &self,
        parts: &Parts,
        body: TrackedBody<B>,
        answer: &mut HttpResponse,
    ) -> AfterResponse {
        let limits = &self.endpoint.options.limits;
        let reservation = self.endpoint.requests.bytes().reservation();
        unread_body::finish_request(parts, body, answer, limits, reservation).await
    }

    /// Whether somebody looks at all header fields of a request, and not only at those of a [`Head`] and at those that
    /// repeat arguments of a tool.
    pub(crate) fn needs_all_fields(&self) -> bool {
        self.endpoint.options.authorizer.is_some()
    }

    /// The same for a request whose head was read already. Unless [all](Self::needs_all_fields) are needed, the parts may
    /// lack the fields that nobody looks at.
    pub(crate) async fn respond_to<B>(
        &self,
        parts: &Parts,
        head: &RequestHeaders<'_>,
        body: BodySource<'_, B>,
    ) -> HttpResponse
    where
        B: Body + Send,
        B::Data: Send,
        B::Error: Into<Box<dyn StdError + Send + Sync>>,
    {
        let reservation = match self.reserve(head, &body) {
            Ok(reservation) => reservation,
            Err(rejection) => return rejection,
        };
        let answer = match self.endpoint.route(parts, head, self.local_address) {
            Ok(Route::Message) => {
                // Step by step, and not in a future for each, for the reasons told at `message::serve`.
                let mut answer = 'answered: {
                    let token = match self.endpoint.options.authorizer {
                        None => Ok(token_from_extensions(parts)),
                        Some(_) => box_cold(|| self.token(parts)).await,
                    };
                    let token = match token {
                        Ok(token) => token,
                        Err(refusal) => break 'answered refusal,
                    };
                    let post =
                        IncomingRequest::new(&self.endpoint, parts, head, token, self.peer_address);
                    self.endpoint.join_cluster();
                    if let Err(refusal) = guard::check_message_headers(head) {
                        break 'answered refusal;
                    }
                    let limits = &self.endpoint.options.limits;
                    let message = match body {
                        BodySource::Whole(body) => body::whole(body, limits.body_bytes),
                        coming => box_cold(|| self.read(coming, reservation)).await,
                    };
                    match message {
                        Ok(message) => message::serve(&post, &message).await,
                        Err(unread) => body::reject_body_error(&unread, limits.body_bytes),
                    }
                };
                cors::expose(head.origin, &mut answer);
                answer
            }
            Ok(Route::Other(place)) => {
                box_cold(|| self.respond_other(place, parts, head, body)).await
            }
            Err(refusal) => refusal,
        };
        if LevelFilter::current() >= Level::DEBUG {
            log_response(parts, &answer);
        }
        answer
    }

    /// Answers whatever is no message to the endpoint.
    async fn respond_other<B>(
        &self,
        place: OtherRoute,
        parts: &Parts,
        head: &RequestHeaders<'_>,
        body: BodySource<'_, B>,
    ) -> HttpResponse
    where
        B: Body + Send,
        B::Data: Send,
        B::Error: Into<Box<dyn StdError + Send + Sync>>,
    {
        match place {
            OtherRoute::Document(document) => document,
            OtherRoute::Public(route) => {
                let peer = self.peer_address.map(PeerAddress::new);
                public_routes::serve_public_route(&self.endpoint, route, parts, peer, head, body)
                    .await
            }
            OtherRoute::Nowhere(mut refusal) => {
                cors::expose(head.origin, &mut refusal);
                refusal
            }
            OtherRoute::Served(route) => {
                let served = self.serve(route, parts, head, body).await;
                let mut answer = served.unwrap_or_else(|refusal| refusal);
                cors::expose(head.origin, &mut answer);
                answer
            }
        }
    }

    async fn serve<B>(
        &self,
        route: LegacyRoute,
        parts: &Parts,
        head: &RequestHeaders<'_>,
        body: BodySource<'_, B>,
    ) -> Result<HttpResponse, HttpResponse>
    where
        B: Body + Send,
        B::Data: Send,
        B::Error: Into<Box<dyn StdError + Send + Sync>>,
    {
        let token = self.token(parts).await?;
        let post = IncomingRequest::new(&self.endpoint, parts, head, token, self.peer_address);
        self.endpoint.join_cluster();
        match route {
            LegacyRoute::Get => Ok(get_delete::get(&post).await),
            LegacyRoute::Delete => Ok(get_delete::delete(&post).await),
            LegacyRoute::OpenStream => {
                let token = post.auth.clone().unwrap_or_default();
                box_cold(|| http_sse::open(&self.endpoint, head, token)).await
            }
            LegacyRoute::StreamMessage => {
                guard::check_content(head)?;
                let limits = &self.endpoint.options.limits;
                let message = self.read(body, None).await;
                let message = message
                    .map_err(|unread| body::reject_body_error(&unread, limits.body_bytes))?;
                box_cold(|| http_sse::take(&post, &message)).await
            }
        }
    }

    /// Counts the headers of a request that the connection does not hold in its own buffer.
    fn reserve<B>(
        &self,
        head: &RequestHeaders<'_>,
        body: &BodySource<'_, B>,
    ) -> Result<Option<Reservation>, HttpResponse> {
        if let BodySource::Whole(_) = body {
            return Ok(None);
        }
        let mut reservation = self.endpoint.requests.bytes().reservation();
        match reservation.try_grow(head.bytes + REQUEST_OVERHEAD) {
            true => Ok(Some(reservation)),
            false => Err(body::no_capacity()),
        }
    }

    /// Reads the message of a POST.
    async fn read<'b, B>(
        &self,
        body: BodySource<'b, B>,
        reservation: Option<Reservation>,
    ) -> Result<BodyBytes<'b>, BodyError>
    where
        B: Body,
        B::Error: Into<Box<dyn StdError + Send + Sync>>,
    {
        let limits = &self.endpoint.options.limits;
        let none = || self.endpoint.requests.bytes().reservation();
        let reservation = reservation.unwrap_or_else(none);
        body::read(body, limits.body_bytes, limits, reservation).await
    }

    /// Finds out who is calling. What a layer in front says does not count when tokens are verified here.
    async fn token(&self, parts: &Parts) -> Result<Option<Arc<TokenInfo>>, HttpResponse> {
        let Some(authorizer) = &self.endpoint.options.authorizer else {
            return Ok(token_from_extensions(parts));
        };
        let deadline = self.endpoint.options.limits.authorization_deadline;
        let token = authorizer::ask(&**authorizer, parts, deadline).await?;
        Ok(Some(Arc::new(token)))
    }
}

/// Writes an answer down, for whoever wants to know.
#[cold]
fn log_response(parts: &Parts, answer: &HttpResponse) {
    tracing::debug!(
        method = %parts.method,
        path = parts.uri.path(),
        status = answer.status().as_u16(),
        "answered"
    );
}

/// The token that a layer in front has verified.
fn token_from_extensions(parts: &Parts) -> Option<Arc<TokenInfo>> {
    parts.extensions.get::<TokenInfo>().cloned().map(Arc::new)
}

impl<B> tower_service::Service<Request<B>> for HttpService
where
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    type Response = Response<ServerBody>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<ServerBody>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move { Ok(service.respond(request).await) })
    }
}

impl Server {
    /// The server as a `tower` service, with the default options; for others, use [`HttpService::new`].
    #[must_use]
    pub fn into_http_service(self) -> HttpService {
        HttpService::new(self, HttpOptions::new())
    }
}
