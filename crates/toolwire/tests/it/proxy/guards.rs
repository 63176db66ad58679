//! The proxy is behind the same guards as the server: names, origins, methods, sizes, numbers.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use http::request::Parts;
use http_body_util::BodyExt as _;
use toolwire::proto::scopes::ScopeSet;
use toolwire::transport::http::{
    AuthorizationError, Authorizer, HttpLimits, HttpOptions, HttpService, PeerAddress, PublicRoute,
};
use toolwire::{BoxFuture, TokenInfo};
use toolwire_auth::{DocumentFetcher, OAuthProxyConfig};

use super::provider::Provider;
use super::stage::{HOST, RESOURCE, Stage};
use crate::http::endpoint::Endpoint;
use crate::http::request::Request;
use crate::http::socket::Wire;
use crate::peer::server;

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

fn everything() -> impl Iterator<Item = Request> {
    let documents = DOCUMENTS.into_iter().map(|path| ("GET", path));
    let all = ROUTES.into_iter().chain(documents);
    all.map(|(method, path)| Request::new(method).with_target(path))
}

#[tokio::test]
async fn names_that_are_not_ours_get_nothing() {
    let stage = Stage::new().await;
    for request in everything() {
        for host in ["evil.test", "mcp.example.com.evil.test", "127.0.0.1.nip.io"] {
            let rebound = request.clone().replacing("Host", host);
            let answer = stage.endpoint.ask(&rebound).await;
            assert_eq!(answer.status(), 403, "{host} {}", request.head());
        }
        let two = request.clone().with("Host", HOST);
        assert_eq!(stage.endpoint.ask(&two).await.status(), 400);
    }
    for (method, path) in ROUTES {
        let request = Request::new(method).with_target(path);
        let foreign = request.with("Origin", "https://evil.test");
        assert_eq!(stage.endpoint.ask(&foreign).await.status(), 403);
    }
}

#[tokio::test]
async fn pages_of_every_origin_may_read_the_documents() {
    let stage = Stage::new().await;
    for path in DOCUMENTS {
        let request = Request::new("GET").with_target(path);
        let foreign = request.with("Origin", "https://elsewhere.test");
        let answer = stage.endpoint.ask(&foreign).await;
        assert_eq!(answer.status(), 200, "{path}");
        assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    }
}

#[tokio::test]
async fn every_route_has_one_method() {
    let stage = Stage::new().await;
    for (method, path) in ROUTES {
        for other in ["GET", "POST", "PUT", "DELETE", "OPTIONS"] {
            if other == method {
                continue;
            }
            let answer = stage
                .endpoint
                .ask(&Request::new(other).with_target(path))
                .await;
            assert_eq!(answer.status(), 405, "{other} {path}");
            assert_eq!(answer.header("allow"), Some(method));
        }
    }
}

#[tokio::test]
async fn pages_of_allowed_origins_may_use_what_is_for_programs() {
    const PAGE: &str = "https://inspector.example.com";
    let provider = Provider::start().await;
    let proxy = OAuthProxyConfig::new(RESOURCE, provider.upstream())
        .build()
        .unwrap();
    let options = HttpOptions::new()
        .with_allowed_origins([PAGE])
        .with_authorizer(proxy);
    let endpoint = Endpoint::serve_with(&server(), options).await;
    for (method, path) in ROUTES {
        let for_programs = matches!(path, "/token" | "/register" | "/revoke");
        let preflight = Request::new("OPTIONS")
            .with_target(path)
            .with("Origin", PAGE)
            .with("Access-Control-Request-Method", method);
        let answer = endpoint.ask(&preflight).await;
        let expected = if for_programs { 204 } else { 405 };
        assert_eq!(answer.status(), expected, "{path}");
        let request = Request::new(method).with_target(path).with("Origin", PAGE);
        let answer = endpoint.ask(&request).await;
        let readable = answer.header("access-control-allow-origin");
        assert_eq!(readable, for_programs.then_some(PAGE), "{path}");
        assert_eq!(answer.header("access-control-allow-credentials"), None);
    }
}

#[tokio::test]
async fn forms_have_a_largest() {
    let stage = Stage::new().await;
    for path in ["/token", "/consent", "/revoke"] {
        let of_size = |size: usize| {
            Request::new("POST")
                .with_target(path)
                .with("Content-Type", "application/x-www-form-urlencoded")
                .with_body(format!("a={}", "b".repeat(size - 2)))
        };
        let longest = stage.endpoint.ask(&of_size(32 * 1024)).await;
        assert_eq!(longest.status(), 400, "{path}");
        let longer = stage.endpoint.ask(&of_size(32 * 1024 + 1)).await;
        assert_eq!(longer.status(), 413, "{path}");
    }
    // Where no body is wanted, none is read.
    let with_body = Request::new("GET")
        .with_target("/authorize")
        .with("Content-Length", "1")
        .with_body("x");
    assert_eq!(stage.endpoint.ask(&with_body).await.status(), 413);
}

#[tokio::test]
async fn requests_to_the_proxy_count_among_all_that_run() {
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
        let answer = endpoint.ask(&Request::new(method).with_target(path)).await;
        assert_eq!(answer.status(), 503, "{path}");
        assert_eq!(answer.header("retry-after"), Some("2"));
    }
}

/// An authorizer with one route, which never answers or panics.
#[derive(Debug)]
struct Faulty {
    panics: bool,
}

impl Authorizer for Faulty {
    fn authorize<'a>(
        &'a self,
        _: &'a Parts,
    ) -> BoxFuture<'a, Result<TokenInfo, AuthorizationError>> {
        let refusal = AuthorizationError::new(StatusCode::UNAUTHORIZED, "nobody");
        Box::pin(std::future::ready(Err(refusal)))
    }

    fn insufficient_scope(&self, _: &ScopeSet, _: &TokenInfo) -> AuthorizationError {
        AuthorizationError::new(StatusCode::FORBIDDEN, "nobody")
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
async fn an_authorizer_that_fails_costs_one_request() {
    for (panics, expected) in [(true, 500), (false, 503)] {
        let mut limits = HttpLimits::default();
        limits.authorization_deadline = Duration::from_millis(10);
        let options = HttpOptions::new()
            .with_authorizer(Faulty { panics })
            .with_limits(limits);
        let endpoint = Endpoint::serve_with(&server(), options).await;
        for _ in 0..2 {
            let request = Request::new("GET").with_target("/faulty");
            assert_eq!(endpoint.ask(&request).await.status(), expected);
        }
        endpoint.idle().await;
    }
}

/// An authorizer that says where a request comes from.
#[derive(Debug)]
struct Mirror;

impl Authorizer for Mirror {
    fn authorize<'a>(
        &'a self,
        _: &'a Parts,
    ) -> BoxFuture<'a, Result<TokenInfo, AuthorizationError>> {
        let refusal = AuthorizationError::new(StatusCode::UNAUTHORIZED, "nobody");
        Box::pin(std::future::ready(Err(refusal)))
    }

    fn insufficient_scope(&self, _: &ScopeSet, _: &TokenInfo) -> AuthorizationError {
        AuthorizationError::new(StatusCode::FORBIDDEN, "nobody")
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
async fn an_authorizer_gets_the_peer_address_of_the_connection() {
    let options = HttpOptions::new().with_authorizer(Mirror);
    let endpoint = Endpoint::serve_with(&server(), options).await;
    let request = Request::new("GET").with_target("/peer");
    let mut wire = Wire::connect(endpoint.address).await;
    let own = wire.local_address();
    wire.send(request.bytes()).await;
    assert_eq!(wire.answer().await.text(), own.to_string());
}

#[tokio::test]
async fn a_layer_in_front_may_name_the_peer_address() {
    let options = HttpOptions::new().with_authorizer(Mirror);
    let service = HttpService::new(server(), options);
    let named: SocketAddr = "93.184.215.14:1".parse().unwrap();
    let other: SocketAddr = "93.184.215.15:1".parse().unwrap();
    let ask = async |service: &HttpService, extension: Option<SocketAddr>| {
        let mut request = http::Request::get("/peer").header("Host", "localhost");
        if let Some(address) = extension {
            request = request.extension(PeerAddress::new(address));
        }
        let request = request.body(http_body_util::Empty::<Bytes>::new()).unwrap();
        let response = service.respond(request).await;
        let body = response.into_body().collect().await.unwrap();
        String::from_utf8(body.to_bytes().to_vec()).unwrap()
    };
    assert_eq!(ask(&service, None).await, "");
    assert_eq!(ask(&service, Some(named)).await, named.to_string());
    let service = service.with_peer_address(other);
    assert_eq!(ask(&service, None).await, other.to_string());
    assert_eq!(ask(&service, Some(named)).await, named.to_string());
}

#[tokio::test]
async fn a_server_without_a_proxy_has_none_of_this() {
    let endpoint = Endpoint::serve(&server()).await;
    for request in everything() {
        assert_eq!(endpoint.ask(&request).await.status(), 404);
    }
}
