//! The `tower` service that serves MCP over `http` types.

mod respond;

use std::convert::Infallible;
use std::error::Error as StdError;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Request, Response};
use http_body::Body;
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use toolwire_proto::deprecations::DeprecatedFeature;

use crate::engine::{BoxFuture, warn_deprecated};
use crate::server::Server;
use crate::store::StoreError;
use crate::transport::http::endpoint::HttpEndpoint;
use crate::transport::http::further_services::FurtherServices;
use crate::transport::http::options::HttpOptions;
use crate::transport::http::request::body::BodySource;
use crate::transport::http::request::headers::RequestHeaders;
use crate::transport::http::request::unread_body::TrackedBody;
use crate::transport::http::response::body::ServerBody;
use crate::transport::outgoing_queue::retain_heap;

/// A server as a `tower` service, for any HTTP stack that uses `tower` and `http`.
///
/// Clones share all state. The service serves only its own path; see [`HttpOptions::with_path`]. A layer in front that
/// has verified an access token inserts a [`TokenInfo`](crate::TokenInfo) into the extensions of the
/// request. Sessions, streams and request states then belong to the principal of that token.
#[derive(Debug, Clone)]
#[doc(alias = "StreamableHttp", alias = "StreamableHttpService")]
#[doc(alias = "streamable", alias = "streamable_http_app")]
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
    /// runtime, else with its first request. The same applies to stored tasks that this node continues.
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
            endpoint.start();
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
    /// [`public_route`](crate::transport::http::Authorizer::public_route) carry the address as a
    /// [`PeerAddress`](crate::transport::http::PeerAddress).
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

    /// Ends requests of sessions that still run with an error, because the listener stops soon.
    pub(crate) fn stop_requests(&self) {
        self.endpoint.active_sessions.stop_requests();
        for service in self.further.all() {
            service.endpoint.active_sessions.stop_requests();
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

    /// Waits until the other nodes are sent all changes that this service and the further services have made.
    pub(crate) async fn wait_until_published(&self) {
        self.endpoint.node.wait_until_published().await;
        for service in self.further.all() {
            service.endpoint.node.wait_until_published().await;
        }
    }

    /// Returns the number of requests in flight of this service and the further services.
    pub(crate) fn requests_in_flight(&self) -> usize {
        let further = self.further.all();
        let further = further
            .iter()
            .map(|service| service.endpoint.requests.used());
        self.endpoint.requests.used() + further.sum::<usize>()
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
