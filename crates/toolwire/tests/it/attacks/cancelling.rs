//! Cancelling what somebody else does: an id is looked up only among the requests of the same session.

use std::pin::Pin;

use serde_json::{Value, json};

use super::house::House;
use super::routers::{ROUTERS, VERSION};
use super::ways::{Body, next_chunk};
use crate::http::request::Request;
use crate::http::session::{tool_call, tool_call_with_token};
use crate::http::stage;
use crate::peer::{legacy, notification};

fn cancel(id: impl Into<Value>) -> Value {
    notification("notifications/cancelled", json!({"requestId": id.into()}))
}

/// Lets the calls end; this one was not disturbed.
async fn expect_answer(house: &House, stream: &mut Pin<Box<Body>>) {
    house.release.send_replace(true);
    let mut text = String::new();
    while !text.contains("waited") {
        let chunk = next_chunk(stream).await;
        text += &chunk.unwrap_or_else(|| panic!("{}: no answer: {text}", house.router.name));
    }
}

/// Opens a stream and waits until the handler runs.
async fn start(house: &House, request: Request) -> Pin<Box<Body>> {
    let answer = house.send(&house.by("ann", request)).await;
    assert_eq!(answer.status(), 200);
    let mut stream = Box::pin(answer.into_body());
    let mut text = String::new();
    while !text.contains("progress") {
        text += &next_chunk(&mut stream).await.unwrap();
    }
    stream
}

#[tokio::test]
async fn a_call_in_a_session_is_cancelled_by_that_session_only() {
    for router in ROUTERS {
        let house = House::open(router).await;
        if !house.has("call in a session") {
            continue;
        }
        let bob = house.settle("bob").await;
        let in_session =
            |session: &str, message: &Value| Request::post(message).in_session(session, VERSION);
        let call = in_session(&house.ann.session, &tool_call_with_token(9, "wait", "t"));
        let mut stream = start(&house, call).await;
        for (who, session, id, status) in [
            ("bob", &bob.session, json!(9), 202),
            ("bob", &house.ann.session, json!(9), 404),
            // The number is not the text.
            ("ann", &house.ann.session, json!("9"), 202),
        ] {
            let request = house.by(who, in_session(session, &cancel(id)));
            assert_eq!(house.ask(&request).await.status, status, "{}", router.name);
        }
        let lone = house.by("ann", Request::modern(&cancel(9)));
        assert_eq!(house.ask(&lone).await.status, 202);
        expect_answer(&house, &mut stream).await;
    }
}

#[tokio::test]
async fn a_call_without_a_session_is_cancelled_by_nobody_else() {
    for router in ROUTERS {
        let house = House::open(router).await;
        let call = Request::modern(&stage::with_token(9, "wait", "t"));
        let mut stream = start(&house, call).await;
        for who in ["ann", "bob"] {
            let request = house.by(who, Request::modern(&cancel(9)));
            assert_eq!(house.ask(&request).await.status, 202, "{}", router.name);
        }
        expect_answer(&house, &mut stream).await;
    }
}

#[tokio::test]
async fn a_call_on_an_old_stream_is_cancelled_on_that_stream_only() {
    for router in ROUTERS {
        let house = House::open(router).await;
        if !house.has("old message") {
            continue;
        }
        let (mut stream, address) = house.old_stream("ann").await;
        let (_other, elsewhere) = house.old_stream("bob").await;
        let hello = json!({
            "protocolVersion": "2024-11-05", "capabilities": {},
            "clientInfo": {"name": "old", "version": "1"},
        });
        let post = async |who, address: &str, message: &Value| {
            let request = Request::post(message).with_target(address);
            house.ask(&house.by(who, request)).await.status.as_u16()
        };
        for address in [&address, &elsewhere] {
            let who = if *address == elsewhere { "bob" } else { "ann" };
            let hello = legacy(0, "initialize", hello.clone());
            assert_eq!(post(who, address, &hello).await, 202);
        }
        let call = tool_call(9, "wait", json!({}));
        assert_eq!(post("ann", &address, &call).await, 202);
        assert_eq!(post("bob", &elsewhere, &cancel(9)).await, 202);
        assert_eq!(post("bob", &address, &cancel(9)).await, 404);
        assert_eq!(post("ann", &address, &cancel("9")).await, 202);
        expect_answer(&house, &mut stream).await;
    }
}
