//! The `tower` service that serves MCP over `http` types.

use std::convert::Infallible;
use std::error::Error as StdError;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::request::Parts;
use http::{Request, Response, Uri};
use http_body::Body;
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use toolwire_proto::deprecations::DeprecatedFeature;
use tracing::Level;
use tracing::level_filters::LevelFilter;

use crate::engine::{BoxFuture, TokenInfo, boxed_cold, warn_deprecated};
use crate::server::Server;
use crate::store::StoreError;
use crate::transport::http::access_log::AccessEntry;
use crate::transport::http::authorizer;
use crate::transport::http::byte_budget::Reservation;
use crate::transport::http::endpoint::HttpEndpoint;
use crate::transport::http::exchange::message;
use crate::transport::http::further_services::FurtherServices;
use crate::transport::http::http_sse::routes;
use crate::transport::http::options::HttpOptions;
use crate::transport::http::request::body::{self, BodyBytes, BodyError, BodySource};
use crate::transport::http::request::headers::{RequestHeaders, RetainedFields};
use crate::transport::http::request::incoming::IncomingRequest;
use crate::transport::http::request::peer_address::PeerAddress;
use crate::transport::http::request::route::{LegacyRoute, OtherRoute, Route};
use crate::transport::http::request::unread_body::{self, AfterResponse, TrackedBody};
use crate::transport::http::request::{cors, guard, public_routes};
use crate::transport::http::response::HttpResponse;
use crate::transport::http::response::body::ServerBody;
use crate::transport::http::session::get_delete;
use crate::transport::outgoing_queue::retain_heap;

/// The memory of a request without its headers and its body.
const REQUEST_OVERHEAD: usize = 2 * 1024;

/// A server as a `tower` service, for any HTTP stack that uses `tower` and `http`.
///
/// Clones share all state. The service serves only its own path; see [`HttpOptions::with_path`]. A layer in front that
/// has verified an access token inserts a [`TokenInfo`] into the extensions of the request. Sessions, streams and
/// request states then belong to the principal of that token.
#[derive(Debug, Clone)]
#[doc(alias = "StreamableHttpService", alias = "streamable")]
pub struct HttpService {
    endpoint: Arc<HttpEndpoint>,
    further: Arc<FurtherServices<Self>>,
    /// The local address of the connection, if the listener knows it.
    local_address: Option<SocketAddr>,
    /// The address of the client, or of a reverse proxy in front of it, if the listener knows it.
    peer_address: Option<SocketAddr>,
}

/// The current load of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct HttpLoad {
    /// The number of running requests.
    pub requests: usize,
    /// The number of open streams of changes.
    pub streams: usize,
    /// The number of sessions with a running request or an open stream on this node.
    pub sessions: usize,
    /// The bytes of the messages that are being read or served. Their limit is
    /// [`HttpLimits::bytes_in_flight`](crate::transport::http::HttpLimits::bytes_in_flight).
    pub request_bytes: usize,
    /// The bytes of open streams. Their limit is
    /// [`HttpLimits::stream_bytes`](crate::transport::http::HttpLimits::stream_bytes).
    pub stream_bytes: usize,
}

impl HttpService {
    /// Creates the service of a server. If the options contain a bus, the node subscribes to it at once inside a tokio
    /// runtime, else with its first request.
    ///
    /// # Panics
    /// Panics if a configured host, origin, public URL or server card is invalid, or if an extension needs something that the server does not
    /// offer.
    #[must_use]
    pub fn new(server: Server, options: HttpOptions) -> Self {
        if let Err(error) = server.check_start() {
            panic!("{error}");
        }
        #[cfg(feature = "input")]
        server.snapshot().options.seal.log_key_source();
        if options.http_sse {
            warn_deprecated(DeprecatedFeature::HttpWithSse);
        }
        retain_heap();
        let endpoint = Arc::new(HttpEndpoint::new(server, options));
        if Handle::try_current().is_ok() {
            endpoint.join_cluster();
        }
        Self {
            endpoint,
            further: Arc::new(FurtherServices::new()),
            local_address: None,
            peer_address: None,
        }
    }

    /// Returns the same service for one connection with this local address. The guard accepts the address as a host.
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

    /// Returns the current load.
    #[must_use]
    pub fn load(&self) -> HttpLoad {
        HttpLoad {
            requests: self.endpoint.requests.used(),
            streams: self.endpoint.streams.used(),
            sessions: self.endpoint.active_sessions.len(),
            request_bytes: self.endpoint.requests.bytes().used(),
            stream_bytes: self.endpoint.streams.bytes().used(),
        }
    }

    /// Checks that the session store, the event log and the bus can be used now, each within
    /// [`store_deadline`](crate::transport::http::HttpLimits::store_deadline).
    ///
    /// 2026-07-28 requests are served without them. So let a readiness probe depend on it only if the service has no other
    /// clients than those of the 2025 revisions, and a liveness probe never.
    ///
    /// # Errors
    /// Returns the error of the first store that cannot be used.
    pub async fn check_stores(&self) -> Result<(), StoreError> {
        self.endpoint.stores.check().await
    }

    /// Serves another service through this one, at the path of its own options, as long as both exist. A service that
    /// was added before at that path is replaced.
    ///
    /// One listener can so serve several servers. The limits of connections are those of this service, and each service
    /// has limits of its own for requests. If this service has an authorizer, the other one should have the same. A listener
    /// that shuts down also shuts down the servers of the services that were added.
    ///
    /// ```
    /// use toolwire::Server;
    /// use toolwire::transport::http::{HttpOptions, HttpService};
    ///
    /// let service = HttpService::new(Server::new("all", "1.0.0"), HttpOptions::new());
    /// let notes = HttpOptions::new().with_path("/mcp/notes");
    /// service.add_service(HttpService::new(Server::new("notes", "1.0.0"), notes));
    /// assert!(service.remove_service("/mcp/notes"));
    /// ```
    pub fn add_service(&self, service: Self) {
        let path = service.endpoint.options.path.clone();
        self.further.add(path, service);
    }

    /// Ends the service at a path that [`add_service`](Self::add_service) added. Its running requests continue. Returns
    /// `true` if there was one.
    pub fn remove_service(&self, path: &str) -> bool {
        self.further.remove(path)
    }

    /// Shuts down the servers of the further services.
    pub(crate) fn shut_down_further(&self) {
        for service in self.further.all() {
            service.endpoint.server.shutdown();
        }
    }

    /// Stops the tasks of the server and of the further services. They get this time to end.
    pub(crate) async fn stop_tasks(&self, grace: Duration) {
        let mut stopping = JoinSet::new();
        for service in self.further.all() {
            stopping.spawn(async move { service.endpoint.server.stop_tasks(grace).await });
        }
        self.endpoint.server.stop_tasks(grace).await;
        while stopping.join_next().await.is_some() {}
    }

    /// Waits until no request is running, including requests whose client has disconnected.
    pub(crate) async fn wait_until_idle(&self) {
        self.endpoint.requests.wait_idle().await;
        for service in self.further.all() {
            service.endpoint.requests.wait_idle().await;
        }
    }

    /// Serves one request. Dropping the future or the response body is treated as a disconnect of the client.
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
        let mut response = self.respond_to(&parts, &head, source).await;
        self.finish_request(&parts, body, &mut response).await;
        response.into_response()
    }

    /// Reads the rest of a request body before its response is sent; see [`unread_body`].
    pub(crate) async fn finish_request<B: Body + Unpin>(
        &self,
        parts: &Parts,
        body: TrackedBody<B>,
        response: &mut HttpResponse,
    ) -> AfterResponse {
        let limits = &self.endpoint.options.limits;
        let reservation = self.endpoint.requests.bytes().reservation();
        unread_body::finish_request(parts, body, response, limits, reservation).await
    }

    /// Returns `true` if other services are served through this one. Their requests may need other header fields.
    pub(crate) fn has_further_services(&self) -> bool {
        !self.further.is_empty()
    }

    /// Returns the header fields that a request needs besides those in [`RequestHeaders`].
    pub(crate) fn retained_fields(&self) -> RetainedFields {
        let options = &self.endpoint.options;
        if options.authorizer.is_some() || options.trusted_proxies > 0 {
            RetainedFields::All
        } else if self.endpoint.server.snapshot().middleware.is_some() {
            RetainedFields::ArgumentsAndTrace
        } else {
            RetainedFields::Arguments
        }
    }

    /// Serves a request whose headers are parsed. `parts` may lack the fields that are [not
    /// retained](Self::retained_fields).
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
        let further = self.further_service(&parts.uri);
        let service = further.as_ref().unwrap_or(self);
        let options = &service.endpoint.options;
        let mut access = options
            .access_log
            .as_ref()
            .map(|log| log.start(parts, head, service.peer_address, options.trusted_proxies));
        let reservation = match service.reserve(head, &body) {
            Ok(reservation) => reservation,
            Err(rejection) => return end_access(access, rejection),
        };
        let response = match service.endpoint.route(parts, head, service.local_address) {
            Ok(Route::Message) => {
                // All steps are in one future, for the reasons given at `message::serve`.
                let mut response = 'served: {
                    let token = match service.endpoint.options.authorizer {
                        None => Ok(token_from_extensions(parts)),
                        Some(_) => boxed_cold(|| service.token(parts)).await,
                    };
                    let token = match token {
                        Ok(token) => token,
                        Err(rejection) => break 'served rejection,
                    };
                    let post = IncomingRequest::new(
                        &service.endpoint,
                        parts,
                        head,
                        token,
                        service.peer_address,
                    );
                    service.endpoint.join_cluster();
                    if let Err(rejection) = guard::check_message_headers(head) {
                        break 'served rejection;
                    }
                    let limits = &service.endpoint.options.limits;
                    let message = match body {
                        BodySource::Complete(body) => body::complete(body, limits.body_bytes),
                        streaming => boxed_cold(|| service.read(streaming, reservation)).await,
                    };
                    if let (Some(access), Ok(message)) = (&mut access, &message) {
                        access.set_message(message);
                    }
                    match message {
                        Ok(message) => message::serve(&post, &message).await,
                        Err(unread) => body::reject_body_error(&unread, limits.body_bytes),
                    }
                };
                cors::expose(head.origin, &mut response);
                response
            }
            Ok(Route::Other(route)) => {
                let access = access.as_deref_mut();
                boxed_cold(|| service.respond_other(route, parts, head, body, access)).await
            }
            Err(rejection) => rejection,
        };
        if LevelFilter::current() >= Level::DEBUG {
            log_response(parts, &response);
        }
        end_access(access, response)
    }

    /// Returns the further service at the path of a URI, for the connection of this one.
    #[inline]
    fn further_service(&self, uri: &Uri) -> Option<Self> {
        if self.further.is_empty() {
            return None;
        }
        let found = self.further.find(uri.path())?;
        Some(Self {
            local_address: self.local_address,
            peer_address: self.peer_address,
            ..found
        })
    }

    /// Serves a request that is not a message to the endpoint.
    async fn respond_other<B>(
        &self,
        route: OtherRoute,
        parts: &Parts,
        head: &RequestHeaders<'_>,
        body: BodySource<'_, B>,
        access: Option<&mut AccessEntry>,
    ) -> HttpResponse
    where
        B: Body + Send,
        B::Data: Send,
        B::Error: Into<Box<dyn StdError + Send + Sync>>,
    {
        match route {
            OtherRoute::Document(document) => document,
            OtherRoute::Public(route) => {
                let peer = self.peer_address.map(PeerAddress::new);
                public_routes::serve_public_route(&self.endpoint, route, parts, peer, head, body)
                    .await
            }
            OtherRoute::Rejected(mut rejection) => {
                cors::expose(head.origin, &mut rejection);
                rejection
            }
            OtherRoute::Served(route) => {
                let served = self.serve(route, parts, head, body, access).await;
                let mut response = served.unwrap_or_else(|rejection| rejection);
                cors::expose(head.origin, &mut response);
                response
            }
        }
    }

    async fn serve<B>(
        &self,
        route: LegacyRoute,
        parts: &Parts,
        head: &RequestHeaders<'_>,
        body: BodySource<'_, B>,
        access: Option<&mut AccessEntry>,
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
                (routes::installed().open)(&self.endpoint, head, token).await
            }
            LegacyRoute::StreamMessage => {
                guard::check_content(head)?;
                let limits = &self.endpoint.options.limits;
                let message = self.read(body, None).await;
                let message = message
                    .map_err(|unread| body::reject_body_error(&unread, limits.body_bytes))?;
                if let Some(access) = access {
                    access.set_message(&message);
                }
                (routes::installed().deliver)(&post, &message).await
            }
        }
    }

    /// Counts the headers of a request that are not in the buffer of the connection.
    fn reserve<B>(
        &self,
        head: &RequestHeaders<'_>,
        body: &BodySource<'_, B>,
    ) -> Result<Option<Reservation>, HttpResponse> {
        if let BodySource::Complete(_) = body {
            return Ok(None);
        }
        let mut reservation = self.endpoint.requests.bytes().reservation();
        if reservation.try_grow(head.bytes + REQUEST_OVERHEAD) {
            Ok(Some(reservation))
        } else {
            Err(body::no_capacity())
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
        let empty = || self.endpoint.requests.bytes().reservation();
        let reservation = reservation.unwrap_or_else(empty);
        body::read(body, limits.body_bytes, limits, reservation).await
    }

    /// Returns the verified token of a request. With an authorizer, a token from a layer in front is ignored.
    async fn token(&self, parts: &Parts) -> Result<Option<Arc<TokenInfo>>, HttpResponse> {
        let Some(authorizer) = &self.endpoint.options.authorizer else {
            return Ok(token_from_extensions(parts));
        };
        let deadline = self.endpoint.options.limits.authorization_deadline;
        let token = authorizer::authorize(&**authorizer, parts, deadline).await?;
        Ok(Some(Arc::new(token)))
    }
}

/// Adds a response to the record of its request in the access log.
#[inline]
fn end_access(access: Option<Box<AccessEntry>>, response: HttpResponse) -> HttpResponse {
    match access {
        None => response,
        Some(access) => response.with_access_entry(access),
    }
}

/// Logs the response at debug level.
#[cold]
fn log_response(parts: &Parts, response: &HttpResponse) {
    tracing::debug!(
        method = %parts.method,
        path = parts.uri.path(),
        status = response.status().as_u16(),
        "responding"
    );
}

/// Returns the token that a layer in front has verified.
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
    /// Returns the server as a `tower` service with the default options. Use [`HttpService::new`] for other options.
    #[must_use]
    pub fn into_http_service(self) -> HttpService {
        HttpService::new(self, HttpOptions::new())
    }
}
