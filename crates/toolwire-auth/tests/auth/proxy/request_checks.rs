//! Requests to the proxy pass the same checks as other requests: hosts, origins, methods, sizes and limits.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use http::request::Parts;
use http_body_util::BodyExt as _;
use toolwire::ScopeSet;
use toolwire::transport::http::{
    AuthorizationError, Authorizer, HttpLimits, HttpOptions, HttpService, PeerAddress, PublicRoute,
};
use toolwire::{BoxFuture, TokenInfo};
use toolwire_auth::{DocumentFetcher, OAuthProxyConfig};
use toolwire_tests::http::endpoint::Endpoint;
use toolwire_tests::http::request::Request;
use toolwire_tests::http::socket::Connection;
use toolwire_tests::peer::server;

use super::fixture::{HOST, ProxyFixture, RESOURCE};
use super::provider::Provider;

const ROUTES: [(&str, &str); 6] = [
    ("GET", "/authorize"),
    ("POST", "/consent"),
    ("GET", "/callback"),
    ("POST", "/token"),
    ("POST", "/register"),
    ("POST", "/revoke"),
];

const DOCUMENTS: [&str; 4] = [
    "/.well-known/oauth-authorization-server",
    "/.well-known/oauth-authorization-server/mcp",
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource/mcp",
];

fn all_requests() -> impl Iterator<Item = Request> {
    let documents = DOCUMENTS.into_iter().map(|path| ("GET", path));
    let all = ROUTES.into_iter().chain(documents);
    all.map(|(method, path)| Request::new(method).with_target(path))
}

#[tokio::test]
async fn unknown_host_or_origin_returns_403() {
    let fixture = ProxyFixture::new().await;
    for request in all_requests() {
        for host in ["evil.test", "mcp.example.com.evil.test", "127.0.0.1.nip.io"] {
            let rebound = request.clone().replacing("Host", host);
            let response = fixture.endpoint.request(&rebound).await;
            assert_eq!(response.status(), 403, "{host} {}", request.header_text());
        }
        let two_hosts = request.clone().with("Host", HOST);
        assert_eq!(fixture.endpoint.request(&two_hosts).await.status(), 400);
    }
    for (method, path) in ROUTES {
        let request = Request::new(method).with_target(path);
        let cross_origin = request.with("Origin", "https://evil.test");
        assert_eq!(fixture.endpoint.request(&cross_origin).await.status(), 403);
    }
}

#[tokio::test]
async fn every_origin_may_read_the_metadata_documents() {
    let fixture = ProxyFixture::new().await;
    for path in DOCUMENTS {
        let request = Request::new("GET").with_target(path);
        let cross_origin = request.with("Origin", "https://elsewhere.test");
        let response = fixture.endpoint.request(&cross_origin).await;
        assert_eq!(response.status(), 200, "{path}");
        assert_eq!(response.header("access-control-allow-origin"), Some("*"));
    }
}

#[tokio::test]
async fn other_methods_return_405() {
    let fixture = ProxyFixture::new().await;
    for (method, path) in ROUTES {
        for other in ["GET", "POST", "PUT", "DELETE", "OPTIONS"] {
            if other == method {
                continue;
            }
            let response = fixture
                .endpoint
                .request(&Request::new(other).with_target(path))
                .await;
            assert_eq!(response.status(), 405, "{other} {path}");
            assert_eq!(response.header("allow"), Some(method));
        }
    }
}

#[tokio::test]
async fn allowed_origin_may_use_the_endpoints_for_clients() {
    const ALLOWED_ORIGIN: &str = "https://inspector.example.com";
    let provider = Provider::start().await;
    let proxy = OAuthProxyConfig::new(RESOURCE, provider.upstream())
        .build()
        .unwrap();
    let options = HttpOptions::new()
        .with_allowed_origins([ALLOWED_ORIGIN])
        .with_authorizer(proxy);
    let endpoint = Endpoint::serve_with(&server(), options).await;
    for (method, path) in ROUTES {
        let is_for_clients = matches!(path, "/token" | "/register" | "/revoke");
        let preflight = Request::new("OPTIONS")
            .with_target(path)
            .with("Origin", ALLOWED_ORIGIN)
            .with("Access-Control-Request-Method", method);
        let response = endpoint.request(&preflight).await;
        let expected = if is_for_clients { 204 } else { 405 };
        assert_eq!(response.status(), expected, "{path}");
        let request = Request::new(method)
            .with_target(path)
            .with("Origin", ALLOWED_ORIGIN);
        let response = endpoint.request(&request).await;
        let allowed = response.header("access-control-allow-origin");
        assert_eq!(allowed, is_for_clients.then_some(ALLOWED_ORIGIN), "{path}");
        assert_eq!(response.header("access-control-allow-credentials"), None);
    }
}

#[tokio::test]
async fn oversized_form_returns_413() {
    let fixture = ProxyFixture::new().await;
    for path in ["/token", "/consent", "/revoke"] {
        let of_size = |size: usize| {
            Request::new("POST")
                .with_target(path)
                .with("Content-Type", "application/x-www-form-urlencoded")
                .with_body(format!("a={}", "b".repeat(size - 2)))
        };
        let at_limit = fixture.endpoint.request(&of_size(32 * 1024)).await;
        assert_eq!(at_limit.status(), 400, "{path}");
        let over_limit = fixture.endpoint.request(&of_size(32 * 1024 + 1)).await;
        assert_eq!(over_limit.status(), 413, "{path}");
    }
    // A route without a body does not read one.
    let with_body = Request::new("GET")
        .with_target("/authorize")
        .with("Content-Length", "1")
        .with_body("x");
    assert_eq!(fixture.endpoint.request(&with_body).await.status(), 413);
}

#[tokio::test]
async fn requests_to_the_proxy_count_as_requests_in_flight() {
    let provider = Provider::start().await;
    let proxy = OAuthProxyConfig::new(RESOURCE, provider.upstream())
        .with_fetcher(DocumentFetcher::with_loopback_allowed())
        .build()
        .unwrap();
    let mut limits = HttpLimits::default();
    limits.requests_in_flight = 0;
    let options = HttpOptions::new()
        .with_authorizer(proxy)
        .with_limits(limits);
    let endpoint = Endpoint::serve_with(&server(), options).await;
    for (method, path) in ROUTES {
        let response = endpoint
            .request(&Request::new(method).with_target(path))
            .await;
        assert_eq!(response.status(), 503, "{path}");
        assert_eq!(response.header("retry-after"), Some("2"));
    }
}

/// An authorizer with one public route, which panics or never completes.
#[derive(Debug)]
struct FailingAuthorizer {
    panics: bool,
}

impl Authorizer for FailingAuthorizer {
    fn authorize<'a>(
        &'a self,
        _: &'a Parts,
    ) -> BoxFuture<'a, Result<TokenInfo, AuthorizationError>> {
        let error = AuthorizationError::new(StatusCode::UNAUTHORIZED, "unauthorized");
        Box::pin(std::future::ready(Err(error)))
    }

    fn insufficient_scope(&self, _: &ScopeSet, _: &TokenInfo) -> AuthorizationError {
        AuthorizationError::new(StatusCode::FORBIDDEN, "forbidden")
    }

    fn document(&self, _: &str) -> Option<Bytes> {
        None
    }

    fn public_route(&self, path: &str) -> Option<PublicRoute> {
        (path == "/faulty").then(PublicRoute::get)
    }

    fn serve_public(&self, _: http::Request<Bytes>) -> BoxFuture<'_, http::Response<Bytes>> {
        assert!(!self.panics, "a panic in an authorizer");
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn failing_authorizer_affects_only_its_request() {
    for (panics, expected) in [(true, 500), (false, 503)] {
        let mut limits = HttpLimits::default();
        limits.authorization_deadline = Duration::from_millis(10);
        let options = HttpOptions::new()
            .with_authorizer(FailingAuthorizer { panics })
            .with_limits(limits);
        let endpoint = Endpoint::serve_with(&server(), options).await;
        for _ in 0..2 {
            let request = Request::new("GET").with_target("/faulty");
            assert_eq!(endpoint.request(&request).await.status(), expected);
        }
        endpoint.wait_until_idle().await;
    }
}

/// An authorizer with one public route, which returns the peer address.
#[derive(Debug)]
struct PeerAddressAuthorizer;

impl Authorizer for PeerAddressAuthorizer {
    fn authorize<'a>(
        &'a self,
        _: &'a Parts,
    ) -> BoxFuture<'a, Result<TokenInfo, AuthorizationError>> {
        let error = AuthorizationError::new(StatusCode::UNAUTHORIZED, "unauthorized");
        Box::pin(std::future::ready(Err(error)))
    }

    fn insufficient_scope(&self, _: &ScopeSet, _: &TokenInfo) -> AuthorizationError {
        AuthorizationError::new(StatusCode::FORBIDDEN, "forbidden")
    }

    fn document(&self, _: &str) -> Option<Bytes> {
        None
    }

    fn public_route(&self, path: &str) -> Option<PublicRoute> {
        (path == "/peer").then(PublicRoute::get)
    }

    fn serve_public(&self, request: http::Request<Bytes>) -> BoxFuture<'_, http::Response<Bytes>> {
        let peer = request.extensions().get::<PeerAddress>();
        let peer = peer.map(|peer| peer.socket_address().to_string());
        let response = http::Response::new(peer.unwrap_or_default().into());
        Box::pin(std::future::ready(response))
    }
}

#[tokio::test]
async fn authorizer_gets_the_peer_address_of_the_connection() {
    let options = HttpOptions::new().with_authorizer(PeerAddressAuthorizer);
    let endpoint = Endpoint::serve_with(&server(), options).await;
    let request = Request::new("GET").with_target("/peer");
    let mut connection = Connection::connect(endpoint.address).await;
    let own = connection.local_address();
    connection.send(request.bytes()).await;
    assert_eq!(connection.response().await.text(), own.to_string());
}

#[tokio::test]
async fn outer_layer_may_set_the_peer_address() {
    let options = HttpOptions::new().with_authorizer(PeerAddressAuthorizer);
    let service = HttpService::new(server(), options);
    let named: SocketAddr = "93.184.215.14:1".parse().unwrap();
    let other: SocketAddr = "93.184.215.15:1".parse().unwrap();
    let peer_address = async |service: &HttpService, extension: Option<SocketAddr>| {
        let mut request = http::Request::get("/peer").header("Host", "localhost");
        if let Some(address) = extension {
            request = request.extension(PeerAddress::new(address));
        }
        let request = request.body(http_body_util::Empty::<Bytes>::new()).unwrap();
        let response = service.respond(request).await;
        let body = response.into_body().collect().await.unwrap();
        String::from_utf8(body.to_bytes().to_vec()).unwrap()
    };
    assert_eq!(peer_address(&service, None).await, "");
    assert_eq!(peer_address(&service, Some(named)).await, named.to_string());
    let service = service.with_peer_address(other);
    assert_eq!(peer_address(&service, None).await, other.to_string());
    assert_eq!(peer_address(&service, Some(named)).await, named.to_string());
}

#[tokio::test]
async fn server_without_a_proxy_returns_404() {
    let endpoint = Endpoint::serve(&server()).await;
    for request in all_requests() {
        assert_eq!(endpoint.request(&request).await.status(), 404);
    }
}
