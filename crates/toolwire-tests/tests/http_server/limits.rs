//! The limits of an endpoint, and the responses beyond them.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use toolwire::store::{MemorySessionLimits, MemorySessionStore};
use toolwire::transport::http::{HttpLimits, HttpOptions, HttpService};
use toolwire::types::LoggingLevel;
use toolwire::{RequestContext, ToolHandler};
use toolwire_tests::http::direct::InProcessClient;
use toolwire_tests::http::endpoint::Endpoint;
use toolwire_tests::http::fixture::{Fixture, HandlerEvent, count_call, with_token};
use toolwire_tests::http::request::Request;
use toolwire_tests::http::session::{Session, initialize_request, tool_call};
use toolwire_tests::http::socket::Response;
use toolwire_tests::peer::{call, complete, legacy, modern, modern_with, plain, server, text};

fn limits(change: impl FnOnce(&mut HttpLimits)) -> HttpLimits {
    let mut limits = HttpLimits::default();
    change(&mut limits);
    limits
}

#[track_caller]
fn expect_overloaded(response: &Response) {
    assert_eq!(response.status(), 503, "{}", response.text());
    let seconds = response.header("retry-after").expect("a retry delay");
    assert!(seconds.parse::<u32>().unwrap() > 0);
    let message = response.message();
    assert_eq!(message["error"]["code"], -32603, "{message}");
    assert_eq!(
        message["error"]["data"]["reason"], "overloaded",
        "{message}"
    );
}

#[tokio::test]
async fn every_timeout_may_be_unlimited() {
    let unlimited = Duration::MAX;
    let limits = limits(|limits| {
        limits.header_deadline = unlimited;
        limits.idle_connection = unlimited;
        limits.body_deadline = unlimited;
        limits.discard_deadline = unlimited;
        limits.authorization_deadline = unlimited;
        limits.write_stall = unlimited;
        limits.keep_alive = unlimited;
        limits.quiet_period = unlimited;
        limits.session_init = unlimited;
        limits.session_idle = Some(unlimited);
        limits.drain = unlimited;
    });
    let mut fixture = Fixture::new();
    let options = HttpOptions::new()
        .with_limits(limits)
        .with_sse_retry(unlimited);
    let endpoint = Endpoint::serve_with(&fixture.server, options).await;
    // Sequential requests on one connection.
    let mut connection = endpoint.connect().await;
    for id in [1, 2] {
        connection
            .send(Request::modern(&count_call(id)).bytes())
            .await;
        assert_eq!(connection.response().await.message()["id"], id);
    }
    // A stream with a silent period.
    connection
        .send(Request::modern(&with_token(3, "wait", "t")).bytes())
        .await;
    fixture.expect(HandlerEvent::Started).await;
    fixture.step();
    let headers = connection.headers().await;
    assert!(headers.is_event_stream());
    fixture.step();
    assert!(
        connection
            .read_body(headers)
            .await
            .text()
            .contains("waited")
    );
    // A message on a server stream.
    let session = Session::open(&endpoint, "2025-06-18").await;
    let mut events = session.listen().await;
    fixture.server.tools_changed();
    let pushed = events.message().await;
    assert_eq!(pushed["method"], "notifications/tools/list_changed");
    drop((connection, events));
    endpoint.end().await;
}

#[tokio::test]
async fn request_beyond_the_limit_gets_503_with_retry_after() {
    let mut fixture = Fixture::new();
    let limits = limits(|limits| {
        limits.requests_in_flight = 3;
        limits.quiet_period = Duration::ZERO;
    });
    let endpoint = Endpoint::serve_within(&fixture.server, limits).await;
    let session = Session::open(&endpoint, "2025-11-25").await;
    let waiting = Request::modern(&call(1, "wait", json!({})));
    let first = endpoint.open(&waiting).await;
    let _second = session.stream(&tool_call(1, "wait", json!({}))).await;
    // One request less than the limit runs, so exactly one more is accepted.
    assert_eq!(endpoint.call(count_call(1)).await["id"], 1);
    let third = endpoint.open(&waiting).await;
    for _ in 0..3 {
        fixture.expect(HandlerEvent::Started).await;
    }
    let runs = fixture.runs();
    for request in [
        Request::modern(&count_call(1)),
        session.post_request(&tool_call(1, "count", json!({"n": 1}))),
    ] {
        expect_overloaded(&endpoint.request(&request).await);
    }
    assert_eq!(fixture.runs(), runs);
    first.disconnect();
    fixture.expect(HandlerEvent::Dropped).await;
    assert_eq!(endpoint.call(count_call(1)).await["id"], 1);
    drop(third);
}

#[tokio::test]
async fn stream_beyond_the_limit_gets_503_with_retry_after() {
    let fixture = Fixture::new();
    let limits = limits(|limits| limits.open_streams = 2);
    let endpoint = Endpoint::serve_within(&fixture.server, limits).await;
    let session = Session::open(&endpoint, "2025-11-25").await;
    let filter = json!({"toolsListChanged": true});
    let listen = modern(1, "subscriptions/listen", json!({"notifications": filter}));
    let listen = Request::modern(&listen);
    let first = endpoint.open(&listen).await;
    let _second = session.listen().await;
    let get = Request::get(&session.id, session.version);
    for request in [&listen, &get] {
        expect_overloaded(&endpoint.request(request).await);
    }
    // Requests are counted separately.
    assert_eq!(endpoint.call(count_call(1)).await["id"], 1);
    first.disconnect();
    let mut load = toolwire::transport::http::HttpLoad::default();
    (load.streams, load.sessions) = (1, 1);
    endpoint.wait_for_load(load).await;
    endpoint.open(&listen).await;
}

#[tokio::test]
async fn session_beyond_the_limit_gets_503_with_retry_after() {
    let fixture = Fixture::new();
    let store = MemorySessionLimits::default().with_sessions(3);
    let store = Arc::new(MemorySessionStore::new(store));
    let options = HttpOptions::new().with_session_store(store.clone());
    let endpoint = Endpoint::serve_with(&fixture.server, options).await;
    for _ in 0..2 {
        Session::open(&endpoint, "2025-11-25").await;
    }
    let last = Session::open(&endpoint, "2025-11-25").await;
    for _ in 0..2 {
        let rejected = endpoint.request(&initialize_request("2025-11-25")).await;
        expect_overloaded(&rejected);
        assert_eq!(rejected.header("mcp-session-id"), None);
    }
    assert_eq!(store.len(), 3);
    // Requests in existing sessions and modern requests are served.
    last.call(legacy(1, "ping", json!({}))).await;
    endpoint.call(count_call(1)).await;
    last.end().await;
    Session::open(&endpoint, "2025-11-25").await;
}

#[tokio::test]
async fn sessions_per_principal_are_limited() {
    let fixture = Fixture::new();
    let store = MemorySessionLimits::default().with_sessions_per_principal(2);
    let options = HttpOptions::new().with_session_store(Arc::new(MemorySessionStore::new(store)));
    let service = HttpService::new(fixture.server.clone(), options);
    let first = InProcessClient::with_token(&service, "https://issuer", "first");
    for _ in 0..2 {
        first.open_session().await;
    }
    assert_eq!(
        first.request(initialize_request("2025-11-25")).await.status,
        503
    );
    let other = InProcessClient::with_token(&service, "https://issuer", "other");
    other.open_session().await;
}

/// Returns a tool that sends many notifications without yielding.
fn notifying_tool() -> ToolHandler {
    plain("talk", |ctx: RequestContext| async move {
        let meta = serde_json::to_value(ctx.meta()).expect("metadata is JSON");
        let count = meta["count"].as_u64().unwrap_or_default();
        for number in 1..=count {
            ctx.log(LoggingLevel::Info, number);
        }
        for number in 1..=i64::try_from(count).unwrap_or(i64::MAX) {
            ctx.report_steps(number, 10_000, None);
        }
        "talked"
    })
}

#[tokio::test]
async fn queued_progress_for_a_slow_reader_is_limited() {
    let limits = limits(|limits| limits.queued_messages = 4);
    let server = server().tool(notifying_tool());
    let endpoint = Endpoint::serve_within(&server, limits).await;
    for (count, expected) in [
        (3, &[1, 2, 3][..]),
        (4, &[1, 2, 3, 4]),
        (5, &[1, 2, 3, 5]),
        (10_000, &[1, 2, 3, 10_000]),
    ] {
        let params = json!({"name": "talk", "_meta": {"progressToken": "t", "count": count}});
        let request = Request::modern(&modern(1, "tools/call", params));
        let mut events = endpoint.open(&request).await;
        for number in expected {
            let message = events.message().await;
            assert_eq!(
                message["params"]["progress"], *number,
                "of {count}: {message}"
            );
        }
        events.expect(complete(1, text("talked"))).await;
        events.expect_end().await;
    }
}

#[tokio::test]
async fn oldest_queued_log_messages_are_dropped() {
    let limits = limits(|limits| limits.queued_messages = 4);
    let server = server().with_logging().tool(notifying_tool());
    let endpoint = Endpoint::serve_within(&server, limits).await;
    let meta = json!({"io.modelcontextprotocol/logLevel": "debug", "count": 100});
    let params = json!({"name": "talk", "_meta": meta});
    let request = Request::modern(&modern_with(1, "tools/call", params, json!({})));
    let mut events = endpoint.open(&request).await;
    for number in 97..=100 {
        let message = events.message().await;
        assert_eq!(message["params"]["data"], number, "{message}");
    }
    events.expect(complete(1, text("talked"))).await;
    events.expect_end().await;
}

#[tokio::test]
async fn client_that_reads_nothing_is_disconnected() {
    struct NotifyOnDrop(tokio::sync::mpsc::UnboundedSender<()>);
    impl Drop for NotifyOnDrop {
        fn drop(&mut self) {
            // Fails if the test has ended.
            let _ = self.0.send(());
        }
    }
    let (sender, mut dropped) = tokio::sync::mpsc::unbounded_channel();
    let flood = plain("flood", move |ctx: RequestContext| {
        let guard = NotifyOnDrop(sender.clone());
        async move {
            let _guard = guard;
            let message = "x".repeat(100_000);
            for number in 1.. {
                ctx.report_progress(f64::from(number), None, Some(&message));
                tokio::task::yield_now().await;
            }
        }
    });
    let limits = limits(|limits| limits.write_stall = Duration::from_millis(200));
    let endpoint = Endpoint::serve_within(&server().tool(flood), limits).await;
    let mut connection = endpoint.connect().await;
    connection
        .send(Request::modern(&with_token(1, "flood", "t")).bytes())
        .await;
    // The client reads nothing.
    toolwire_tests::peer::within(dropped.recv()).await;
    endpoint.wait_until_idle().await;
    drop(connection);
}

#[tokio::test]
async fn slow_body_is_rejected_with_408() {
    let fixture = Fixture::new();
    let limits = limits(|limits| limits.body_deadline = Duration::from_millis(150));
    let endpoint = Endpoint::serve_within(&fixture.server, limits).await;
    let request = Request::modern(&count_call(1));
    let mut connection = endpoint.connect().await;
    connection.send(request.header_text()).await;
    connection.send(&request.body()[..10]).await;
    let response = connection.response().await;
    assert_eq!(response.status(), 408);
    assert_eq!(response.message()["error"]["code"], -32600);
    connection.expect_close().await;

    // Single bytes do not extend the deadline.
    let mut connection = endpoint.connect().await;
    connection.send(request.header_text()).await;
    let began = std::time::Instant::now();
    let trickle = async {
        for byte in request.body() {
            connection.send_if_possible([*byte]).await;
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let _ = tokio::time::timeout(Duration::from_millis(400), trickle).await;
    assert!(began.elapsed() >= Duration::from_millis(150));
    assert_eq!(connection.response().await.status(), 408);
    assert_eq!(fixture.runs(), 0);
    endpoint.call(count_call(1)).await;
}

#[tokio::test]
async fn incomplete_headers_close_the_connection_after_the_deadline() {
    let fixture = Fixture::new();
    let limits = limits(|limits| limits.header_deadline = Duration::from_millis(100));
    let endpoint = Endpoint::serve_within(&fixture.server, limits).await;
    for part in [
        "",
        "POST /mcp HTT",
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-S: ",
    ] {
        let mut connection = endpoint.connect().await;
        connection.send(part).await;
        match connection.headers_unless_closed().await {
            None => {}
            Some(headers) => assert_eq!(headers.status, 408, "{part:?}"),
        }
    }
    endpoint.call(count_call(1)).await;
}

#[tokio::test]
async fn idle_connection_is_not_limited_by_the_header_deadline() {
    let fixture = Fixture::new();
    let deadline = Duration::from_millis(300);
    let limits = limits(|limits| limits.header_deadline = deadline);
    let endpoint = Endpoint::serve_within(&fixture.server, limits).await;
    let mut connection = endpoint.connect().await;
    let request = Request::modern(&count_call(1));
    for _ in 0..2 {
        connection.send(request.bytes()).await;
        assert_eq!(connection.response().await.status(), 200);
        // Real time: the connection is idle for two deadlines.
        tokio::time::sleep(deadline * 2).await;
    }
    connection.send("POST /mcp HTTP/1.1\r\nHost: loc").await;
    assert!(
        connection.headers_unless_closed().await.is_none(),
        "incomplete headers are closed after the deadline"
    );
}

#[tokio::test]
async fn idle_connection_is_closed_after_its_timeout() {
    let fixture = Fixture::new();
    let limits = limits(|limits| {
        limits.header_deadline = Duration::from_millis(300);
        limits.idle_connection = Duration::from_millis(600);
    });
    let endpoint = Endpoint::serve_within(&fixture.server, limits).await;
    let mut connection = endpoint.connect().await;
    connection
        .send(Request::modern(&count_call(1)).bytes())
        .await;
    assert_eq!(connection.response().await.status(), 200);
    let began = std::time::Instant::now();
    assert!(connection.headers_unless_closed().await.is_none());
    assert!(began.elapsed() >= Duration::from_millis(300));
}
