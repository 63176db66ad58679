//! The HTTP+SSE transport of 2024-11-05, with servers that violate it.

use std::sync::Arc;

use serde_json::json;
use tokio::sync::Notify;
use toolwire::{ClientBuilder, DetectedEra, LegacyTransport, ProtocolVersion, TraceContext};
use toolwire_tests::peer::within;

use super::double::Double;
use super::fake::{Fake, builder};
use super::script::{Reply, event};

const HTTP_WITH_SSE: DetectedEra = DetectedEra::Legacy {
    version: ProtocolVersion::V2024_11_05,
    transport: LegacyTransport::HttpWithSse,
};

fn http_with_sse_builder() -> ClientBuilder {
    builder().with_detected_era(HTTP_WITH_SSE)
}

fn endpoint(address: &str) -> String {
    format!("event: endpoint\ndata: {address}\n\n")
}

/// Returns the response to `initialize`, which is the first request.
fn initialize_response() -> String {
    event(
        json!({"jsonrpc": "2.0", "id": 1, "result": {
            "protocolVersion": "2024-11-05",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "old", "version": "1"},
        }})
        .to_string(),
    )
}

#[tokio::test]
async fn endpoint_of_another_origin_is_rejected_and_gets_no_request() {
    let other_server = Fake::start(|_| Reply::status(202)).await;
    let address = other_server.address;
    for target in [
        format!("http://{address}/m"),
        format!("//{address}/m"),
        format!("http:\\\\{address}/m"),
    ] {
        let server = Fake::start(move |request| match &*request.http_method {
            "GET" => Reply::events(endpoint(&target)).left_open(),
            _ => Reply::status(404),
        });
        let server = server.await;
        let builder = http_with_sse_builder().with_bearer_token("secret").unwrap();
        let error = server.connect_with(builder).await.unwrap_err();
        assert!(
            error.is_protocol_violation() || error.http_status() == Some(404),
            "{error:?}"
        );
        assert!(other_server.record.all().is_empty());
    }
}

#[tokio::test]
async fn relative_endpoint_is_resolved() {
    let check = async |endpoint_url: &'static str, expected: &str| {
        let server = Double::new(move |request| match &*request.http_method {
            "GET" => Reply::events(endpoint(endpoint_url) + &initialize_response()).left_open(),
            _ => Reply::status(202),
        });
        let client = ClientBuilder::new("test", "1").with_detected_era(HTTP_WITH_SSE);
        let client = client.with_http_client(server.clone());
        within(client.connect("http://made.up/api/sse?key=1"))
            .await
            .unwrap();
        let post = server.record.nth("POST", "initialize", 0).await;
        assert_eq!(post.target, expected, "{endpoint_url}");
    };
    check("/messages?session=1", "http://made.up/messages?session=1").await;
    check("messages", "http://made.up/api/messages").await;
    check("?session=1", "http://made.up/api/sse?session=1").await;
    check("http://made.up/m", "http://made.up/m").await;
    check("http://made.up:80/m", "http://made.up:80/m").await;
    check("../m", "http://made.up/m").await;
    check("m?next=http://x/y", "http://made.up/api/m?next=http://x/y").await;
}

#[tokio::test]
async fn trace_context_is_in_the_headers() {
    let server = Double::new(|request| match &*request.http_method {
        "GET" => Reply::events(endpoint("/m") + &initialize_response()).left_open(),
        _ => Reply::status(202),
    });
    let client = ClientBuilder::new("test", "1").with_detected_era(HTTP_WITH_SSE);
    let client = client.with_http_client(server.clone());
    let client = within(client.connect("http://made.up/sse")).await.unwrap();
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let trace = TraceContext::new(parent).unwrap();
    let call = client.call_tool("act", json!({"a": "traceparent"}));
    let calls = [
        call.with_trace_context(trace),
        client.call_tool("act", json!({})),
    ];
    let calls = calls.map(|call| tokio::spawn(call.into_future()));
    for (nth, expected) in [Some(parent), None].into_iter().enumerate() {
        let post = server.record.nth("POST", "tools/call", nth).await;
        assert_eq!(post.header("traceparent"), expected);
    }
    for call in calls {
        call.abort();
    }
}

#[tokio::test]
async fn end_of_the_stream_fails_every_pending_call() {
    let gate = Arc::new(Notify::new());
    let end = Arc::clone(&gate);
    let server = Fake::start(move |request| match &*request.http_method {
        "GET" => Reply::events(endpoint("/m") + &initialize_response())
            .wait(&gate)
            .cut(),
        _ => Reply::status(202),
    });
    let server = server.await;
    let client = server.connect_with(http_with_sse_builder()).await.unwrap();
    let calls: Vec<_> = (0..10)
        .map(|_| tokio::spawn(client.call_tool("act", json!({})).into_future()))
        .collect();
    server.record.nth("POST", "tools/call", 9).await;
    end.notify_one();
    for call in calls {
        assert!(within(call).await.unwrap().unwrap_err().is_closed());
    }
    let error = within(client.call_tool("act", json!({})).into_future())
        .await
        .unwrap_err();
    assert!(error.is_closed());
    assert_eq!(server.record.of("POST", "tools/call").len(), 10);
}

#[tokio::test]
async fn stream_without_an_endpoint_event_fails_the_connection() {
    let check = async |reply: Reply| {
        let server = Double::new(move |request| match &*request.http_method {
            "GET" => reply.clone(),
            _ => Reply::status(404),
        });
        within(server.connect_with(http_with_sse_builder()))
            .await
            .unwrap_err();
    };
    check(Reply::events("")).await;
    check(Reply::events(event("{}")).cut()).await;
    check(
        Reply::status(200)
            .with_header("content-type", "text/html")
            .with("<p>"),
    )
    .await;
    check(Reply::events(endpoint("http://[")).left_open()).await;
}

#[tokio::test(start_paused = true)]
async fn waiting_for_the_endpoint_event_times_out() {
    let server = Double::new(|request| match &*request.http_method {
        "GET" => Reply::events(": still here\n\n").left_open(),
        _ => Reply::status(404),
    });
    assert!(server.connect().await.is_err());
}

#[tokio::test]
async fn closing_the_client_closes_the_stream() {
    let server = Fake::start(|request| match &*request.http_method {
        "GET" => Reply::events(endpoint("/m") + &initialize_response()).left_open(),
        _ => Reply::status(202),
    });
    let server = server.await;
    let client = server.connect_with(http_with_sse_builder()).await.unwrap();
    client.close().await;
    server.wait_for_disconnects(1).await;
}

#[tokio::test]
async fn closing_delivers_the_cancellation_of_a_dropped_call_first() {
    let gate = Arc::new(Notify::new());
    let accepted = Arc::clone(&gate);
    let server = Fake::start(
        move |request| match (&*request.http_method, request.method()) {
            ("GET", _) => Reply::events(endpoint("/m") + &initialize_response()).left_open(),
            (_, "notifications/cancelled") => Reply::status(202).gated_by(&accepted),
            _ => Reply::status(202),
        },
    );
    let server = server.await;
    let client = server.connect_with(http_with_sse_builder()).await.unwrap();
    server
        .close_after_dropped_call(&client, &gate, |_| {})
        .await;
    server.wait_for_disconnects(1).await;
}

#[tokio::test]
async fn rejected_message_fails_only_its_call() {
    let server = Double::new(|request| match (&*request.http_method, request.method()) {
        ("GET", _) => Reply::events(endpoint("/m") + &initialize_response()).left_open(),
        ("POST", "tools/call") if request.nth == 0 => Reply::status(500),
        _ => Reply::status(202),
    });
    let client = within(server.connect_with(http_with_sse_builder()))
        .await
        .unwrap();
    let error = client.call_tool("act", json!({})).await.unwrap_err();
    assert_eq!(error.http_status(), Some(500), "{error:?}");
    let call = tokio::spawn(client.call_tool("act", json!({})).into_future());
    server.record.nth("POST", "tools/call", 1).await;
    call.abort();
    server
        .record
        .nth("POST", "notifications/cancelled", 0)
        .await;
}
