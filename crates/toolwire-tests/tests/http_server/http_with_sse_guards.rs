//! Requests that the two endpoints of 2024-11-05 reject: those that the newer endpoint rejects, and other principals.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::{Body, Frame};
use http_body_util::Full;
use serde_json::{Value, json};
use toolwire::transport::http::{HttpLimits, HttpOptions, HttpService, ServerBody};
use toolwire_tests::peer::{legacy, result_response, server, within};

use crate::http_sse_client::{HttpSseClient, body_of, post, request, service, token};

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// Checks that a rejection has this status and is a JSON-RPC error without an id.
async fn check_rejection(response: Response<ServerBody>, status: u16, what: &str) {
    assert_eq!(response.status().as_u16(), status, "{what}");
    assert_eq!(
        response.headers()["content-type"],
        "application/json",
        "{what}"
    );
    let body: Value =
        serde_json::from_slice(&body_of(response).await).expect("rejections are JSON");
    assert!(body["error"]["message"].is_string(), "{what}: {body}");
    assert_eq!(body.get("id"), None, "{what}: {body}");
}

#[tokio::test]
async fn http_sse_endpoints_are_disabled_by_default() {
    let service = HttpService::new(server(), HttpOptions::new());
    for (method, path) in [("GET", "/sse"), ("POST", "/message?sessionId=x")] {
        let request = request(method, path)
            .header("content-type", "application/json")
            .body(Full::<Bytes>::from(PING));
        let response = service.respond(request.unwrap()).await;
        check_rejection(response, 404, path).await;
    }
}

#[tokio::test]
async fn http_sse_endpoints_have_the_guards_of_the_mcp_endpoint() {
    let service = service(server());
    let client = HttpSseClient::connect(&service).await;
    let address = client.address.as_str();
    let huge = "x".repeat(20_000);
    let plain = ("host", "localhost");
    let cases = [
        ("GET", "/sse", ("host", "evil.test"), 403),
        ("POST", address, ("host", "evil.test"), 403),
        ("GET", "/sse", ("origin", "https://evil.test"), 403),
        ("POST", address, ("origin", "https://evil.test"), 403),
        ("GET", "/sse", ("x-padding", huge.as_str()), 431),
        ("POST", address, ("x-padding", huge.as_str()), 431),
        ("GET", "/sse", ("accept", "application/json"), 406),
        ("POST", address, ("content-type", "text/plain"), 415),
        ("POST", address, ("content-type", ""), 415),
        ("POST", address, ("content-encoding", "gzip"), 415),
        ("POST", "/sse", plain, 405),
        ("DELETE", "/sse", plain, 405),
        ("OPTIONS", "/sse", plain, 405),
        ("GET", address, plain, 405),
        ("DELETE", address, plain, 405),
        ("GET", "/sse/", plain, 404),
        ("POST", "/messages", plain, 404),
    ];
    for (method, path, (name, value), status) in cases {
        let mut request = Request::builder().method(method).uri(path);
        let all = request.headers_mut().unwrap();
        all.insert("host", "localhost".parse().unwrap());
        all.insert("content-type", "application/json".parse().unwrap());
        all.insert(name, value.parse().unwrap());
        let request = request.body(Full::<Bytes>::from(PING)).unwrap();
        let what = format!("{method} {path} {name}");
        let response = service.respond(request).await;
        if status == 405 {
            let allowed = if path == "/sse" { "GET" } else { "POST" };
            assert_eq!(response.headers()["allow"], allowed, "{what}");
        }
        check_rejection(response, status, &what).await;
    }
    assert_eq!(service.load().streams, 1, "the stream of the client");
}

#[tokio::test]
async fn message_beyond_the_limit_is_rejected_with_413() {
    let mut limits = HttpLimits::default();
    limits.body_bytes = PING.len();
    let options = HttpOptions::new().with_http_sse().with_limits(limits);
    let mut client = HttpSseClient::connect(&HttpService::new(server(), options)).await;
    client.send(PING).await;
    client.expect(result_response(1, json!({}))).await;
    let response = client.post(format!("{PING} ")).await;
    check_rejection(response, 413, "one byte more").await;
}

/// A request body that never arrives.
struct Stalled;

impl Body for Stalled {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Pending
    }
}

#[tokio::test(start_paused = true)]
async fn message_that_arrives_too_slowly_is_rejected_with_408() {
    let client = HttpSseClient::connect(&service(server())).await;
    let request = request("POST", &client.address)
        .header("content-type", "application/json")
        .body(Stalled)
        .unwrap();
    let response = within(client.service.respond(request)).await;
    check_rejection(response, 408, "a body that never arrives").await;
}

#[tokio::test]
async fn http_sse_endpoints_return_503_after_shutdown() {
    let server = server();
    let service = service(server.clone());
    let client = HttpSseClient::connect(&service).await;
    server.shutdown();
    check_rejection(client.post(PING).await, 503, "POST").await;
    let get = request("GET", "/sse").body(Full::<Bytes>::default());
    check_rejection(service.respond(get.unwrap()).await, 503, "GET").await;
}

#[tokio::test]
async fn stream_beyond_the_limit_is_rejected_with_503() {
    let mut limits = HttpLimits::default();
    limits.open_streams = 1;
    let options = HttpOptions::new().with_http_sse().with_limits(limits);
    let service = HttpService::new(server(), options);
    let first = HttpSseClient::connect(&service).await;
    let get = || {
        request("GET", "/sse")
            .body(Full::<Bytes>::default())
            .unwrap()
    };
    check_rejection(service.respond(get()).await, 503, "a second stream").await;
    drop(first);
    assert_eq!(service.respond(get()).await.status(), StatusCode::OK);
}

#[tokio::test]
async fn session_of_another_principal_looks_like_an_unknown_session() {
    let service = service(server());
    let mut ann = HttpSseClient::connect_as(&service, Some(token("ann"))).await;
    let anns_address = ann.address.clone();
    let doubled = format!("{anns_address}&sessionId={}", ann.session());
    let long = format!("/message?sessionId={}", "a".repeat(200));
    let unknown = format!("/message?sessionId={}", "a".repeat(43));
    let mut bodies = Vec::new();
    for (address, subject) in [
        (anns_address.as_str(), Some("bob")),
        (anns_address.as_str(), None),
        (doubled.as_str(), Some("ann")),
        (long.as_str(), Some("ann")),
        (unknown.as_str(), Some("ann")),
        ("/message?sessionId=", Some("ann")),
        ("/message?sessionId=%00", Some("ann")),
    ] {
        let mut request = post(address, PING);
        if let Some(subject) = subject {
            request.extensions_mut().insert(token(subject));
        }
        let response = service.respond(request).await;
        assert_eq!(response.status(), StatusCode::NOT_FOUND, "{address}");
        bodies.push(body_of(response).await);
    }
    assert!(bodies.iter().all(|body| *body == bodies[0]), "{bodies:?}");

    for address in ["/message", "/message?", "/message?session=1"] {
        let response = service.respond(post(address, PING)).await;
        check_rejection(response, 400, address).await;
    }
    ann.send(PING).await;
    ann.expect(result_response(1, json!({}))).await;
}

#[tokio::test]
async fn sessions_of_the_two_transports_are_separate() {
    let service = service(server());
    let mut client = HttpSseClient::connect(&service).await;
    client.initialize(json!({})).await;
    let ping_in_session = |session: &str| {
        request("POST", "/mcp")
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .header("mcp-session-id", session)
            .body(Full::<Bytes>::from(PING))
            .unwrap()
    };
    let response = service.respond(ping_in_session(client.session())).await;
    assert_eq!(response.status(), StatusCode::NOT_FOUND);

    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "newer", "version": "1"},
    });
    let mut initialize = post("/mcp", legacy(1, "initialize", params));
    let accept = "application/json, text/event-stream".parse().unwrap();
    initialize.headers_mut().insert("accept", accept);
    let opened = service.respond(initialize).await;
    let session = opened.headers()["mcp-session-id"].to_str().unwrap();
    let address = format!("/message?sessionId={session}");
    let response = service.respond(post(&address, PING)).await;
    assert_eq!(response.status(), StatusCode::NOT_FOUND);
    let served = service.respond(ping_in_session(session)).await;
    assert_eq!(served.status(), StatusCode::OK);
}

#[tokio::test]
async fn preflight_of_an_allowed_origin_is_accepted() {
    let service = service(server());
    for (path, method) in [("/sse", "GET"), ("/message", "POST")] {
        let preflight = request("OPTIONS", path)
            .header("origin", "http://localhost:5173")
            .header("access-control-request-method", method)
            .body(Full::<Bytes>::default());
        let response = service.respond(preflight.unwrap()).await;
        assert_eq!(response.status(), StatusCode::NO_CONTENT, "{path}");
        let headers = response.headers();
        assert_eq!(headers["access-control-allow-methods"], method);
    }
}
