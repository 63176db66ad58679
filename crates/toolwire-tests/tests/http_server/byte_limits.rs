//! Limits in bytes: messages of one client do not exclude other clients, and their memory is released.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::net::TcpSocket;
use toolwire::store::{MemorySessionLimits, MemorySessionStore};
use toolwire::transport::http::{HttpLimits, HttpOptions};
use toolwire_tests::http::endpoint::Endpoint;
use toolwire_tests::http::fixture::{Fixture, HandlerEvent, count_call};
use toolwire_tests::http::request::Request;
use toolwire_tests::http::session::{Session, initialize_request, tool_call};
use toolwire_tests::http::socket::{Connection, Response};
use toolwire_tests::peer::{call, legacy, modern};

const KIB: usize = 1024;

/// Returns an endpoint whose messages may have 64 KiB each and 2 MiB together.
async fn endpoint(fixture: &Fixture) -> Endpoint {
    let mut limits = HttpLimits::default();
    limits.body_bytes = 64 * KIB;
    limits.bytes_in_flight = 2 * 1024 * KIB;
    limits.stream_bytes = 1024 * KIB;
    limits.queued_bytes = 8 * KIB;
    Endpoint::serve_with(&fixture.server, HttpOptions::new().with_limits(limits)).await
}

#[track_caller]
fn assert_overloaded(response: &Response) {
    assert_eq!(response.status(), 503, "{}", response.text());
    assert!(response.header("retry-after").is_some());
    let message = response.message();
    assert_eq!(message["error"]["data"]["reason"], "overloaded");
}

/// Returns a call with this many bytes of text in its metadata.
fn large_call(tool: &str, bytes: usize) -> Value {
    let mut message = call(1, tool, json!({}));
    message["params"]["_meta"]["text"] = "x".repeat(bytes).into();
    message
}

/// Sends all of a request except its last byte.
async fn send_unfinished(endpoint: &Endpoint, request: &Request) -> Connection {
    let mut connection = endpoint.connect().await;
    let bytes = request.bytes();
    connection.send(bytes[..bytes.len() - 1].to_vec()).await;
    connection
}

/// Waits until the buffered message bytes satisfy the condition.
async fn wait_for_bytes(endpoint: &Endpoint, is_reached: impl Fn(usize) -> bool) {
    let reached = async {
        while !is_reached(endpoint.service.load().request_bytes) {
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
    };
    toolwire_tests::peer::within(reached).await;
}

#[tokio::test]
async fn unfinished_bodies_have_a_total_limit_and_small_requests_are_served() {
    let fixture = Fixture::new();
    let endpoint = endpoint(&fixture).await;
    let large = Request::modern(&large_call("count", 60 * KIB));
    let mut unfinished = Vec::new();
    // Requests are sent until one is rejected while it arrives.
    let rejected = loop {
        let before = endpoint.service.load().request_bytes;
        let mut connection = send_unfinished(&endpoint, &large).await;
        tokio::select! {
            response = connection.response() => break response,
            () = wait_for_bytes(&endpoint, |now| now > before + 60 * KIB) => unfinished.push(connection),
        }
    };
    assert_overloaded(&rejected);
    assert_eq!(rejected.header("connection"), Some("close"));
    assert!(unfinished.len() > 8, "{}", unfinished.len());
    // Small requests are served.
    for id in 1..=20 {
        assert_eq!(endpoint.call(count_call(id)).await["id"], id);
    }
    assert!(endpoint.service.load().request_bytes <= 2 * 1024 * KIB);
    // Closed connections release their memory.
    drop(unfinished);
    endpoint.wait_until_idle().await;
    let response = endpoint.request(&large).await;
    assert_ne!(response.status(), 503, "{}", response.text());
}

#[tokio::test]
async fn running_requests_have_a_total_limit_in_bytes() {
    let mut fixture = Fixture::new();
    let endpoint = endpoint(&fixture).await;
    let large = Request::modern(&large_call("wait", 60 * KIB));
    let mut running = Vec::new();
    let rejected = loop {
        let mut connection = endpoint.connect().await;
        connection.send(large.bytes()).await;
        let started = async {
            fixture.expect(HandlerEvent::Started).await;
        };
        tokio::select! {
            () = started => running.push(connection),
            response = connection.response() => break response,
        }
    };
    assert_overloaded(&rejected);
    assert!(running.len() > 4, "{}", running.len());
    assert_eq!(endpoint.call(count_call(1)).await["id"], 1);
    // The limit also applies to requests in sessions.
    let session = Session::open(&endpoint, "2025-11-25").await;
    let mut message = tool_call(1, "wait", json!({}));
    message["params"]["_meta"] = json!({"text": "x".repeat(60 * KIB)});
    assert_overloaded(&endpoint.request(&session.post_request(&message)).await);
    drop(running);
    endpoint.wait_for_requests(0).await;
    endpoint.wait_until_idle().await;
}

#[tokio::test]
async fn session_record_may_have_64_kib() {
    let fixture = Fixture::new();
    let endpoint = Endpoint::serve(&fixture.server).await;
    let initialize = |bytes: usize| {
        Request::post(&legacy(
            1,
            "initialize",
            json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {"experimental": {"text": {"x": "x".repeat(bytes)}}},
                "clientInfo": {"name": "test", "version": "1"},
            }),
        ))
    };
    let opened = endpoint.request(&initialize(60 * KIB)).await;
    assert!(opened.header("mcp-session-id").is_some());
    for bytes in [66 * KIB, 200 * KIB, 3900 * KIB] {
        let rejected = endpoint.request(&initialize(bytes)).await;
        assert!(rejected.header("mcp-session-id").is_none());
        let message = rejected.message();
        assert_eq!(message["error"]["code"], -32602, "{message}");
    }
}

#[tokio::test]
async fn filters_of_open_streams_have_a_total_limit() {
    let fixture = Fixture::new();
    let endpoint = endpoint(&fixture).await;
    let listen = |count: usize, bytes: usize| {
        let uris: Vec<_> = (0..count)
            .map(|number| format!("notes://{number:04}/{}", "x".repeat(bytes)))
            .collect();
        let filter = json!({"resourceSubscriptions": uris});
        Request::modern(&modern(
            1,
            "subscriptions/listen",
            json!({"notifications": filter}),
        ))
    };
    let response = endpoint.request(&listen(5, 9 * KIB)).await;
    assert_eq!(response.message()["error"]["code"], -32602);
    let mut streams = Vec::new();
    let rejected = loop {
        let mut connection = endpoint.connect().await;
        connection.send(listen(10, 3 * KIB).bytes()).await;
        let headers = connection.headers().await;
        if !headers.is_event_stream() {
            break connection.read_body(headers).await;
        }
        streams.push(connection);
    };
    assert_overloaded(&rejected);
    assert!((4..16).contains(&streams.len()), "{}", streams.len());
    assert!(endpoint.service.load().stream_bytes <= 1024 * KIB);
    // A small filter fits.
    let mut connection = endpoint.connect().await;
    connection.send(listen(10, 10).bytes()).await;
    assert!(connection.headers().await.is_event_stream());
    drop((streams, connection));
    endpoint.wait_until_idle().await;
}

#[tokio::test]
async fn connection_beyond_the_limit_is_served_when_another_closes() {
    let fixture = Fixture::new();
    let mut limits = HttpLimits::default();
    limits.connections = 2;
    let endpoint = Endpoint::serve_within(&fixture.server, limits).await;
    let request = Request::modern(&count_call(1));
    let mut open = Vec::new();
    for _ in 0..2 {
        let mut connection = endpoint.connect().await;
        connection.send(request.bytes()).await;
        assert_eq!(connection.response().await.status(), 200);
        open.push(connection);
    }
    // The system accepts the third connection; the server does not.
    let mut third = endpoint.connect().await;
    third.send(request.bytes()).await;
    for connection in &mut open {
        connection.send(request.bytes()).await;
        assert_eq!(connection.response().await.status(), 200);
    }
    assert_eq!(fixture.runs(), 4);
    drop(open.pop());
    assert_eq!(third.response().await.status(), 200);
}

#[tokio::test]
async fn anonymous_sessions_per_address_can_be_limited() {
    let fixture = Fixture::new();
    let sessions = MemorySessionLimits::default().with_sessions_per_address(2);
    let options =
        HttpOptions::new().with_session_store(Arc::new(MemorySessionStore::new(sessions)));
    let endpoint = Endpoint::serve_with(&fixture.server, options).await;
    let _first = Session::open(&endpoint, "2025-11-25").await;
    let _second = Session::open(&endpoint, "2025-11-25").await;
    let initialize = initialize_request("2025-11-25");
    assert_overloaded(&endpoint.request(&initialize).await);
    let mut other = connect_from("127.0.0.2:0", &endpoint).await;
    other.send(initialize.bytes()).await;
    assert_eq!(other.response().await.status(), 200);
}

#[tokio::test]
async fn connections_per_address_can_be_limited() {
    let fixture = Fixture::new();
    let mut limits = HttpLimits::default();
    limits.connections_per_address = Some(2);
    let endpoint = Endpoint::serve_within(&fixture.server, limits).await;
    let request = Request::modern(&count_call(1));
    let mut open = Vec::new();
    for _ in 0..2 {
        let mut connection = endpoint.connect().await;
        connection.send(request.bytes()).await;
        assert_eq!(connection.response().await.status(), 200);
        open.push(connection);
    }
    endpoint.connect().await.expect_close().await;
    let mut other = connect_from("127.0.0.2:0", &endpoint).await;
    other.send(request.bytes()).await;
    assert_eq!(other.response().await.status(), 200);
    // Closing a connection permits another one.
    drop(open.pop());
    loop {
        let mut connection = endpoint.connect().await;
        connection.send_if_possible(request.bytes()).await;
        if let Some(headers) = connection.headers_unless_closed().await {
            assert_eq!(connection.read_body(headers).await.status(), 200);
            break;
        }
    }
}

/// Connects from another address of this machine.
async fn connect_from(address: &str, endpoint: &Endpoint) -> Connection {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(address.parse().unwrap()).unwrap();
    Connection::new(socket.connect(endpoint.address).await.unwrap())
}
