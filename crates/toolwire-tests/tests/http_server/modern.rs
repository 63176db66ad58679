//! Requests of 2026-07-28: one POST and one response, without state between requests.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc::unbounded_channel;
use toolwire::transport::http::{HttpLimits, HttpLoad};
use toolwire::{RequestContext, ToolHandler};
use toolwire_tests::http::endpoint::Endpoint;
use toolwire_tests::http::fixture::{Fixture, HandlerEvent, count_call, with_token};
use toolwire_tests::http::request::Request;
use toolwire_tests::peer::{call, complete, modern, notification, plain, server, text, within};

fn progress(token: Value, mut members: Value) -> Value {
    members["progressToken"] = token;
    notification("notifications/progress", members)
}

fn load(requests: usize) -> HttpLoad {
    let mut load = HttpLoad::default();
    load.requests = requests;
    load
}

/// Returns an endpoint whose responses become streams immediately.
async fn endpoint_without_quiet_period(fixture: &Fixture) -> Endpoint {
    let mut limits = HttpLimits::default();
    limits.quiet_period = Duration::ZERO;
    Endpoint::serve_within(&fixture.server, limits).await
}

#[tokio::test]
async fn response_without_notifications_is_json() {
    let fixture = Fixture::new();
    let endpoint = Endpoint::serve(&fixture.server).await;
    for request in [count_call(1), call(1, "steps", json!({}))] {
        let response = endpoint.request(&Request::modern(&request)).await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.header("content-type"), Some("application/json"));
        assert_eq!(response.header("mcp-session-id"), None);
        assert_eq!(response.header("transfer-encoding"), None);
    }
}

#[tokio::test]
async fn response_with_notifications_is_an_event_stream() {
    let fixture = Fixture::new();
    let endpoint = Endpoint::serve(&fixture.server).await;
    let request = Request::modern(&with_token("x", "steps", "t"));
    let mut events = endpoint.open(&request).await;
    assert_eq!(events.headers.header("x-accel-buffering"), Some("no"));
    assert_eq!(events.headers.header("cache-control"), Some("no-cache"));
    assert_eq!(events.headers.header("mcp-session-id"), None);
    events
        .expect(progress(
            json!("t"),
            json!({"progress": 1, "total": 2, "message": "half"}),
        ))
        .await;
    events
        .expect(progress(json!("t"), json!({"progress": 2, "total": 2})))
        .await;
    events.expect(complete("x", text("stepped"))).await;
    assert_eq!(events.last_id, None, "modern streams cannot be resumed");
    let mut connection = events.expect_end().await;

    // The connection serves the next request.
    connection
        .send(Request::modern(&count_call(2)).bytes())
        .await;
    assert_eq!(
        connection.response().await.message(),
        complete(2, text("counted"))
    );
    endpoint.wait_until_idle().await;
}

#[tokio::test]
async fn notifications_are_sent_immediately() {
    let mut fixture = Fixture::new();
    let endpoint = endpoint_without_quiet_period(&fixture).await;
    let request = Request::modern(&with_token(1, "wait", 7));
    let mut events = endpoint.open(&request).await;
    fixture.expect(HandlerEvent::Started).await;
    assert_eq!(endpoint.counts(), load(1));
    fixture.step();
    events
        .expect(progress(json!(7), json!({"progress": 1})))
        .await;
    fixture.step();
    events
        .expect(progress(json!(7), json!({"progress": 2})))
        .await;
    events.expect(complete(1, text("waited"))).await;
    events.expect_end().await;
    fixture.expect(HandlerEvent::Finished).await;
    endpoint.wait_until_idle().await;
}

#[tokio::test]
async fn closing_the_stream_cancels_the_handler_immediately() {
    let mut fixture = Fixture::new();
    let endpoint = endpoint_without_quiet_period(&fixture).await;
    for disconnect in [Disconnect::Reset, Disconnect::Close] {
        let mut fastest = Duration::MAX;
        for _ in 0..ATTEMPTS {
            let request = Request::modern(&with_token(1, "wait", 7));
            let events = endpoint.open(&request).await;
            fixture.expect(HandlerEvent::Started).await;
            let disconnected_at = std::time::Instant::now();
            match disconnect {
                Disconnect::Reset => events.disconnect(),
                Disconnect::Close => drop(events),
            }
            fixture.expect(HandlerEvent::Dropped).await;
            fastest = fastest.min(disconnected_at.elapsed());
            endpoint.wait_until_idle().await;
        }
        assert!(fastest < CANCELLATION_LIMIT, "{fastest:?}");
    }
    fixture.step();
    fixture.expect_nothing();
}

/// The time limit for a cancellation after a disconnect. Only the fastest of several attempts must meet it, because a
/// busy machine may delay any of them.
const CANCELLATION_LIMIT: Duration = Duration::from_millis(100);
const ATTEMPTS: usize = 5;

enum Disconnect {
    Reset,
    Close,
}

#[tokio::test]
async fn disconnect_before_the_response_cancels_the_handler_immediately() {
    let mut fixture = Fixture::new();
    let endpoint = Endpoint::serve(&fixture.server).await;
    for disconnect in [Disconnect::Reset, Disconnect::Close] {
        let mut fastest = Duration::MAX;
        for _ in 0..ATTEMPTS {
            let mut connection = endpoint.connect().await;
            let request = Request::modern(&call(1, "wait", json!({})));
            connection.send(request.bytes()).await;
            fixture.expect(HandlerEvent::Started).await;
            let disconnected_at = std::time::Instant::now();
            match disconnect {
                Disconnect::Reset => connection.reset(),
                Disconnect::Close => drop(connection),
            }
            fixture.expect(HandlerEvent::Dropped).await;
            fastest = fastest.min(disconnected_at.elapsed());
            endpoint.wait_until_idle().await;
        }
        assert!(fastest < CANCELLATION_LIMIT, "{fastest:?}");
    }
}

#[derive(serde::Deserialize, toolwire::JsonSchema)]
struct Nothing {}

#[tokio::test]
async fn blocking_handler_and_detached_work_see_the_disconnect() {
    let (sender, mut events) = unbounded_channel();
    let detached = sender.clone();
    let blocking = ToolHandler::blocking("block", move |ctx: RequestContext, _: Nothing| {
        sender.send("started").expect("the test receives events");
        while !ctx.is_cancelled() && !sender.is_closed() {
            std::thread::yield_now();
        }
        // The receiver is gone only if the test has failed.
        let _ = sender.send("cancelled");
        "stopped"
    });
    let spawning = plain("spawn", move |ctx: RequestContext| {
        let sender = detached.clone();
        async move {
            let cancellation = ctx.cancellation().expect("a disconnect cancels");
            sender.send("started").expect("the test receives events");
            tokio::spawn(async move {
                cancellation.cancelled().await;
                let _ = sender.send("cancelled");
            });
            std::future::pending::<String>().await
        }
    });
    let endpoint = Endpoint::serve(&server().tool(blocking).tool(spawning)).await;
    for tool in ["block", "spawn"] {
        let mut connection = endpoint.connect().await;
        let request = Request::modern(&call(1, tool, json!({})));
        connection.send(request.bytes()).await;
        assert_eq!(within(events.recv()).await, Some("started"), "{tool}");
        assert!(events.try_recv().is_err(), "{tool}");
        drop(connection);
        assert_eq!(within(events.recv()).await, Some("cancelled"), "{tool}");
    }
}

#[tokio::test]
async fn cancelled_notification_has_no_effect_on_modern_requests() {
    let mut fixture = Fixture::new();
    let endpoint = endpoint_without_quiet_period(&fixture).await;
    let request = Request::modern(&with_token(1, "wait", 7));
    let mut events = endpoint.open(&request).await;
    fixture.expect(HandlerEvent::Started).await;
    let cancel = notification("notifications/cancelled", json!({"requestId": 1}));
    let response = endpoint.request(&Request::modern(&cancel)).await;
    assert_eq!((response.status(), response.text()), (202, ""));
    fixture.step();
    events.message().await;
    fixture.step();
    events.message().await;
    events.expect(complete(1, text("waited"))).await;
}

#[tokio::test]
async fn equal_request_ids_of_two_clients_do_not_collide() {
    let mut fixture = Fixture::new();
    let endpoint = endpoint_without_quiet_period(&fixture).await;
    let mut first = endpoint
        .open(&Request::modern(&with_token(1, "wait", "a")))
        .await;
    let mut second = endpoint
        .open(&Request::modern(&with_token(1, "wait", "b")))
        .await;
    let third = endpoint
        .open(&Request::modern(&with_token(1, "wait", "c")))
        .await;
    for _ in 0..3 {
        fixture.expect(HandlerEvent::Started).await;
    }
    assert_eq!(endpoint.counts(), load(3));
    third.disconnect();
    fixture.expect(HandlerEvent::Dropped).await;
    fixture.step();
    fixture.step();
    for (events, token) in [(&mut first, "a"), (&mut second, "b")] {
        // Both steps may have been released before the handler was polled.
        let mut message = events.message().await;
        while message.get("result").is_none() {
            assert_eq!(message["params"]["progressToken"], token);
            message = events.message().await;
        }
        assert_eq!(message, complete(1, text("waited")));
    }
    endpoint.wait_until_idle().await;
}

#[tokio::test]
async fn response_becomes_a_stream_after_the_quiet_period() {
    let mut fixture = Fixture::new();
    let mut limits = HttpLimits::default();
    limits.quiet_period = Duration::from_millis(30);
    limits.keep_alive = Duration::from_millis(20);
    let endpoint = Endpoint::serve_within(&fixture.server, limits).await;
    let request = Request::modern(&call(1, "wait", json!({})));
    let mut events = endpoint.open(&request).await;
    fixture.expect(HandlerEvent::Started).await;
    // The comment that opens the stream, and two keep-alive comments.
    for _ in 0..3 {
        events.comment().await;
    }
    fixture.step();
    fixture.step();
    events.expect(complete(1, text("waited"))).await;
    events.expect_end().await;
}

#[tokio::test]
async fn responses_on_one_connection_are_in_order() {
    let fixture = Fixture::new();
    let endpoint = Endpoint::serve(&fixture.server).await;
    let mut connection = endpoint.connect().await;
    let several: Vec<u8> = (0..10)
        .flat_map(|id| Request::modern(&count_call(id)).bytes())
        .collect();
    connection.send(several).await;
    for id in 0..10 {
        assert_eq!(
            connection.response().await.message(),
            complete(id, text("counted"))
        );
    }
    assert_eq!(fixture.runs(), 10);
}

#[tokio::test]
async fn undeclared_extension_is_rejected_with_400() {
    let tasks = "io.modelcontextprotocol/tasks";
    let server = server().with_extension(tasks, json!({}));
    let endpoint = Endpoint::serve(&server).await;
    let get = Request::modern(&modern(1, "tasks/get", json!({"taskId": "t"})));
    let listen = json!({"notifications": {"taskIds": ["t"]}});
    let listen = Request::modern(&modern(1, "subscriptions/listen", listen));
    for request in [get, listen] {
        let response = endpoint.request(&request).await;
        assert_eq!(response.status(), 400);
        let error = &response.message()["error"];
        assert_eq!(error["code"], -32021, "{error}");
        let missing = json!({"requiredCapabilities": {"extensions": {tasks: {}}}});
        assert_eq!(error["data"], missing);
    }
}
