//! Cancellation of requests of another user: an id is looked up only among the requests of the same session.

use std::pin::Pin;

use serde_json::{Value, json};
use toolwire_tests::http::fixture;
use toolwire_tests::http::request::Request;
use toolwire_tests::http::session::{tool_call, tool_call_with_token};
use toolwire_tests::peer::{legacy, notification};

use super::entry_points::{Body, next_chunk};
use super::fixture::AttackFixture;
use super::routers::{ROUTERS, VERSION};

fn cancel(id: impl Into<Value>) -> Value {
    notification("notifications/cancelled", json!({"requestId": id.into()}))
}

/// Releases the waiting tool, and asserts that the call gets its result.
async fn expect_result(fixture: &AttackFixture, stream: &mut Pin<Box<Body>>) {
    fixture.release.send_replace(true);
    let mut text = String::new();
    while !text.contains("waited") {
        let chunk = next_chunk(stream).await;
        text += &chunk.unwrap_or_else(|| panic!("{}: no result: {text}", fixture.router.name));
    }
}

/// Opens a stream and waits until the handler runs.
async fn start(fixture: &AttackFixture, request: Request) -> Pin<Box<Body>> {
    let response = fixture.send(&fixture.with_token_of("ann", request)).await;
    assert_eq!(response.status(), 200);
    let mut stream = Box::pin(response.into_body());
    let mut text = String::new();
    while !text.contains("progress") {
        text += &next_chunk(&mut stream).await.unwrap();
    }
    stream
}

#[tokio::test]
async fn call_in_a_session_is_cancelled_only_in_that_session() {
    for router in ROUTERS {
        let fixture = AttackFixture::open(router).await;
        if !fixture.has("call in a session") {
            continue;
        }
        let bob = fixture.open_session("bob").await;
        let in_session =
            |session: &str, message: &Value| Request::post(message).in_session(session, VERSION);
        let call = in_session(&fixture.ann.session, &tool_call_with_token(9, "wait", "t"));
        let mut stream = start(&fixture, call).await;
        for (user, session, id, status) in [
            ("bob", &bob.session, json!(9), 202),
            ("bob", &fixture.ann.session, json!(9), 404),
            // The id is the number 9, not the string "9".
            ("ann", &fixture.ann.session, json!("9"), 202),
        ] {
            let request = fixture.with_token_of(user, in_session(session, &cancel(id)));
            assert_eq!(
                fixture.response_to(&request).await.status,
                status,
                "{}",
                router.name
            );
        }
        let without_session = fixture.with_token_of("ann", Request::modern(&cancel(9)));
        assert_eq!(fixture.response_to(&without_session).await.status, 202);
        expect_result(&fixture, &mut stream).await;
    }
}

#[tokio::test]
async fn call_without_a_session_is_not_cancelled_by_a_notification() {
    for router in ROUTERS {
        let fixture = AttackFixture::open(router).await;
        let call = Request::modern(&fixture::with_token(9, "wait", "t"));
        let mut stream = start(&fixture, call).await;
        for user in ["ann", "bob"] {
            let request = fixture.with_token_of(user, Request::modern(&cancel(9)));
            assert_eq!(
                fixture.response_to(&request).await.status,
                202,
                "{}",
                router.name
            );
        }
        expect_result(&fixture, &mut stream).await;
    }
}

#[tokio::test]
async fn call_on_an_http_sse_stream_is_cancelled_only_on_that_stream() {
    for router in ROUTERS {
        let fixture = AttackFixture::open(router).await;
        if !fixture.has("HTTP+SSE message") {
            continue;
        }
        let (mut stream, address) = fixture.http_sse_stream("ann").await;
        let (_other, other_address) = fixture.http_sse_stream("bob").await;
        let params = json!({
            "protocolVersion": "2024-11-05", "capabilities": {},
            "clientInfo": {"name": "old", "version": "1"},
        });
        let post = async |user, address: &str, message: &Value| {
            let request = Request::post(message).with_target(address);
            fixture
                .response_to(&fixture.with_token_of(user, request))
                .await
                .status
                .as_u16()
        };
        for address in [&address, &other_address] {
            let user = if *address == other_address {
                "bob"
            } else {
                "ann"
            };
            let initialize = legacy(0, "initialize", params.clone());
            assert_eq!(post(user, address, &initialize).await, 202);
        }
        let call = tool_call(9, "wait", json!({}));
        assert_eq!(post("ann", &address, &call).await, 202);
        assert_eq!(post("bob", &other_address, &cancel(9)).await, 202);
        assert_eq!(post("bob", &address, &cancel(9)).await, 404);
        assert_eq!(post("ann", &address, &cancel("9")).await, 202);
        expect_result(&fixture, &mut stream).await;
    }
}
