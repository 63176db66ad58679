//! Single-response POSTs are served by a fast path. Clients must not see a difference to the full path.
//!
//! A connection starts on the fast path, and moves to the full path with its first GET. With
//! `HttpOptions::without_fast_path`, it starts on the full path.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;
use toolwire::transport::http::{HttpLimits, HttpOptions};
use toolwire_tests::http::connection_paths::ConnectionPaths;
use toolwire_tests::http::endpoint::Endpoint;
use toolwire_tests::http::fixture::{Fixture, HandlerEvent, count_call, with_token};
use toolwire_tests::http::request::Request;
use toolwire_tests::http::socket::Connection;
use toolwire_tests::peer::{call, legacy, modern};

use crate::listener::RunningListener;
use crate::mutations::mutated;
use crate::rejecting_authorizer::RejectingAuthorizer;

/// Returns a connection that is on the full path.
async fn connect_on_full_path(endpoint: &Endpoint) -> Connection {
    let mut connection = endpoint.connect().await;
    let get = Request::new("GET").with_target("/nowhere");
    connection.send(get.bytes()).await;
    assert_eq!(connection.response().await.status(), 404);
    connection
}

/// Returns a connection whose first request waits for steps of the fixture.
async fn start_wait(fixture: &mut Fixture, endpoint: &Endpoint) -> Connection {
    let mut connection = endpoint.connect().await;
    let wait = Request::modern(&call(1, "wait", json!({})));
    connection.send(wait.bytes()).await;
    fixture.expect(HandlerEvent::Started).await;
    connection
}

/// Returns the status, headers and body of a response, without the values that always differ.
async fn receive_comparable(
    connection: &mut Connection,
) -> Option<(u16, Vec<(String, String)>, Vec<u8>)> {
    let headers = connection.headers_unless_closed().await?;
    let response = connection.read_body(headers).await;
    assert!(response.header("date").is_some() || response.status() < 200);
    let mut headers = response.headers.without("date");
    headers.sort();
    for (name, value) in &mut headers {
        if name == "mcp-session-id" {
            value.clear();
        }
    }
    Some((response.status(), headers, response.body))
}

/// Returns requests of every kind, valid and invalid.
fn requests() -> Vec<Request> {
    let valid = Request::modern(&count_call(1));
    let initialize = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "peer", "version": "1"},
    });
    vec![
        valid.clone(),
        Request::modern(&call("text", "count", json!({"n": "wrong"}))),
        Request::modern(&modern(2, "tools/list", json!({}))),
        Request::modern(&modern(2, "no/such/method", json!({}))),
        Request::modern(&with_token(3, "steps", "t")),
        Request::post(&legacy(4, "tools/list", json!({}))),
        Request::post(&legacy(4, "initialize", initialize)),
        Request::post(&json!({"jsonrpc": "2.0", "method": "notifications/x"})),
        valid.clone().with_body("{"),
        valid.clone().with_body(""),
        valid.clone().with_body(vec![b' '; 1000]),
        valid.clone().without("Host"),
        valid.clone().with("Host", "localhost"),
        valid.clone().replacing("Host", "evil.test"),
        valid.clone().with("Origin", "http://evil.test"),
        valid.clone().with("Origin", "http://localhost"),
        valid.clone().replacing("Mcp-Name", "other"),
        valid.clone().with("mcp-name", "count"),
        valid.clone().replacing("Content-Type", "text/plain"),
        valid.clone().replacing("Accept", "text/html"),
        valid.clone().with("Content-Encoding", "gzip"),
        valid.clone().with("X-Latin", "caf\u{e9}"),
        valid.clone().with("Connection", "keep-alive"),
        valid.clone().with("Connection", "close"),
        valid.clone().with("Expect", "100-continue"),
        valid.clone().with("Upgrade", "h2c"),
        valid.clone().with("Content-Length", "1"),
        valid.clone().with("Transfer-Encoding", "chunked"),
        valid.clone().with("X-Filler", "x".repeat(7000)),
        valid.clone().with("X-Filler", "x".repeat(17_000)),
        (0..70).fold(valid.clone(), |request, _| request.with("X-Filler", "x")),
        valid.clone().with_target("/nowhere"),
        valid.clone().with_target("/mcp?query"),
        valid.with_target("http://localhost/mcp"),
    ]
}

/// Invalid and unusual responses of an authorizer, their status, and whether the connection stays open.
const SCRIPTED_RESPONSES: [(&str, u16, bool); 16] = [
    ("200\nX-Own: a\n\nbody", 200, true),
    (
        "302\nLocation: /\nSet-Cookie: a\nSet-Cookie: b\n\n",
        302,
        true,
    ),
    ("204\n\nsurprise", 204, true),
    ("204\nContent-Length: 8\n\nsurprise", 204, true),
    ("205\n\nsurprise", 205, true),
    ("304\nETag: x\nContent-Length: 8\n\nsurprise", 304, true),
    ("100\n\n", 500, true),
    ("200\nTransfer-Encoding: chunked\n\nbody", 200, true),
    (
        "200\nTransfer-Encoding: gzip, chunked\nContent-Length: 4\n\nbody",
        200,
        true,
    ),
    ("200\nContent-Length: 2\n\nbody", 200, true),
    ("200\nContent-Length: 2000\n\nbody", 200, true),
    (
        "200\nDate: Sun, 06 Nov 1994 08:49:37 GMT\n\nbody",
        200,
        true,
    ),
    (
        "200\nConnection: upgrade, X-Hop\nUpgrade: h2c\nX-Hop: a\n\nbody",
        200,
        true,
    ),
    ("200\nConnection: close\n\nbody", 200, false),
    ("200\nConnection: Close\n\nbody", 200, false),
    ("200\nConnection: keep-alive, close\n\nbody", 200, false),
];

#[tokio::test]
async fn fast_path_and_full_path_send_equal_authorizer_responses() {
    let fixture = Fixture::new();
    let options = HttpOptions::new().with_authorizer(RejectingAuthorizer);
    let endpoint = Endpoint::serve_with(&fixture.server, options).await;
    for (script, status, stays_open) in SCRIPTED_RESPONSES {
        let request = Request::new("POST")
            .with_target("/scripted")
            .with_body(script);
        let mut fast = endpoint.connect().await;
        let mut full = connect_on_full_path(&endpoint).await;
        for connection in [&mut fast, &mut full] {
            connection.send(request.bytes()).await;
        }
        let (from_fast, from_full) = (
            receive_comparable(&mut fast).await,
            receive_comparable(&mut full).await,
        );
        assert_eq!(from_fast, from_full, "{script}");
        let (sent_status, headers, body) = from_fast.unwrap();
        assert_eq!(sent_status, status, "{script}");
        let expected = match status {
            200 => "body".as_bytes(),
            500 => &body,
            _ => b"",
        };
        assert_eq!(body, expected, "{script}");
        let sent: Vec<_> = headers.iter().map(|(name, _)| name.as_str()).collect();
        for never in ["transfer-encoding", "upgrade", "x-hop"] {
            assert!(!sent.contains(&never), "{script}: {headers:?}");
        }
        for connection in [&mut fast, &mut full] {
            connection.send_if_possible(request.bytes()).await;
            let again = receive_comparable(connection).await;
            assert_eq!(again.is_some(), stays_open, "after {script}");
        }
    }
}

#[tokio::test]
async fn fast_path_and_full_path_send_equal_responses() {
    let fixture = Fixture::new();
    let endpoint = Endpoint::serve(&fixture.server).await;
    for request in requests() {
        let mut fast = endpoint.connect().await;
        let mut full = connect_on_full_path(&endpoint).await;
        for connection in [&mut fast, &mut full] {
            connection.send(request.bytes()).await;
        }
        let (from_fast, from_full) = (
            receive_comparable(&mut fast).await,
            receive_comparable(&mut full).await,
        );
        assert_eq!(from_fast, from_full, "{}", request.header_text());
        // Both paths also agree on whether the connection stays open.
        let again = Request::modern(&count_call(2)).bytes();
        for connection in [&mut fast, &mut full] {
            connection.send_if_possible(&again).await;
        }
        let (from_fast, from_full) = (
            receive_comparable(&mut fast).await,
            receive_comparable(&mut full).await,
        );
        assert_eq!(from_fast, from_full, "after {}", request.header_text());
    }
}

#[tokio::test]
async fn listeners_with_and_without_the_fast_path_send_equal_responses() {
    let fixture = Fixture::new();
    let paths = ConnectionPaths::serve(&fixture.server, HttpOptions::new()).await;
    let valid = Request::modern(&count_call(1)).bytes();
    for request in requests() {
        let bytes = request.bytes();
        paths.expect_equal(&bytes).await;
        paths.expect_equal(&[&valid[..], &bytes].concat()).await;
    }
    let options = HttpOptions::new().with_authorizer(RejectingAuthorizer);
    let paths = ConnectionPaths::serve(&fixture.server, options).await;
    for (script, _, _) in SCRIPTED_RESPONSES {
        let request = Request::new("POST").with_target("/scripted");
        paths.expect_equal(&request.with_body(script).bytes()).await;
    }
}

#[test]
fn mutated_requests_get_equal_responses_with_and_without_the_fast_path() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let fixture = Fixture::new();
    let paths = runtime.block_on(ConnectionPaths::serve(&fixture.server, HttpOptions::new()));
    proptest!(ProptestConfig::with_cases(300), |(input in mutated(requests()))| {
        runtime.block_on(paths.expect_equal(&input));
    });
}

#[tokio::test]
async fn pipelined_and_partial_requests_are_served() {
    let fixture = Fixture::new();
    let endpoint = Endpoint::serve(&fixture.server).await;
    let mut connection = endpoint.connect().await;
    let [first, second, third] = [1, 2, 3].map(|id| Request::modern(&count_call(id)).bytes());
    let (beginning, rest) = third.split_at(third.len() - 5);
    connection
        .send([&first[..], &second, beginning].concat())
        .await;
    for id in [1, 2] {
        assert_eq!(connection.response().await.message()["id"], id);
    }
    connection.send(rest).await;
    assert_eq!(connection.response().await.message()["id"], 3);
    assert_eq!(fixture.runs(), 3);
}

#[tokio::test]
async fn pipelined_requests_get_responses_in_order() {
    let mut fixture = Fixture::new();
    let endpoint = Endpoint::serve(&fixture.server).await;
    let mut connection = start_wait(&mut fixture, &endpoint).await;
    connection
        .send(Request::modern(&count_call(2)).bytes())
        .await;
    connection
        .send(Request::modern(&count_call(3)).bytes())
        .await;
    fixture.step();
    fixture.step();
    fixture.expect(HandlerEvent::Finished).await;
    for id in [1, 2, 3] {
        assert_eq!(connection.response().await.message()["id"], id);
    }
}

#[tokio::test]
async fn disconnect_cancels_the_request_before_pipelined_ones() {
    let mut fixture = Fixture::new();
    let endpoint = Endpoint::serve(&fixture.server).await;
    let mut connection = start_wait(&mut fixture, &endpoint).await;
    connection
        .send(Request::modern(&count_call(2)).bytes())
        .await;
    drop(connection);
    fixture.expect(HandlerEvent::Dropped).await;
    assert_eq!(fixture.runs(), 0);
}

#[tokio::test]
async fn connection_serves_requests_after_a_stream() {
    let fixture = Fixture::new();
    let endpoint = Endpoint::serve(&fixture.server).await;
    let mut connection = endpoint.connect().await;
    let steps = Request::modern(&with_token(1, "steps", "t"));
    connection.send(steps.bytes()).await;
    let streamed = connection.response().await;
    assert!(streamed.headers.is_event_stream());
    assert_eq!(streamed.text().matches("notifications/progress").count(), 2);
    assert_eq!(streamed.text().matches("stepped").count(), 1);
    connection
        .send(Request::modern(&count_call(2)).bytes())
        .await;
    assert_eq!(connection.response().await.message()["id"], 2);
}

#[tokio::test]
async fn shutdown_finishes_a_running_request_with_connection_close() {
    let mut fixture = Fixture::new();
    let endpoint = Endpoint::serve(&fixture.server).await;
    let mut connection = start_wait(&mut fixture, &endpoint).await;
    fixture.server.shutdown();
    fixture.step();
    fixture.step();
    let response = connection.response().await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.header("connection"), Some("close"));
    connection.expect_close().await;
}

#[tokio::test]
async fn shutdown_finishes_a_response_that_becomes_a_stream() {
    // Regression: simultaneously ready events were once selected at random.
    for _ in 0..10 {
        let mut fixture = Fixture::new();
        let endpoint = Endpoint::serve(&fixture.server).await;
        let mut connection = endpoint.connect().await;
        let wait = Request::modern(&with_token(1, "wait", "t"));
        connection.send(wait.bytes()).await;
        fixture.expect(HandlerEvent::Started).await;
        fixture.server.shutdown();
        endpoint.expect_no_more_connections().await;
        fixture.step();
        let headers = connection.headers().await;
        assert!(headers.is_event_stream(), "{headers:?}");
        fixture.step();
        fixture.expect(HandlerEvent::Finished).await;
        let streamed = connection.read_body(headers).await;
        assert_eq!(streamed.text().matches("notifications/progress").count(), 2);
        assert!(streamed.text().contains("\"result\""));
        connection.expect_close().await;
    }
}

#[tokio::test]
async fn http_2_preface_after_the_first_request_closes_the_connection() {
    let fixture = Fixture::new();
    let endpoint = Endpoint::serve(&fixture.server).await;
    let mut connection = endpoint.connect().await;
    connection
        .send(Request::modern(&count_call(1)).bytes())
        .await;
    assert_eq!(connection.response().await.status(), 200);
    connection.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
    connection.expect_close().await;
}

#[tokio::test]
async fn shutdown_closes_an_idle_connection() {
    let mut limits = HttpLimits::default();
    limits.drain = Duration::from_secs(3600);
    let options = HttpOptions::new().with_limits(limits);
    let running = RunningListener::start(options).await;
    let mut connection = Connection::connect(running.address).await;
    let request = Request::modern(&modern(1, "server/discover", json!({})));
    connection.send(request.bytes()).await;
    assert_eq!(connection.response().await.status(), 200);
    running.end().await;
    connection.expect_close().await;
}
