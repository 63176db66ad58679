//! Response streams of the 2025 revisions: notifications and input requests before the response, and resuming.

use std::time::Duration;

use serde_json::{Value, json};
use toolwire::transport::http::{HttpLimits, HttpLoad, HttpOptions};
use toolwire_tests::http::endpoint::Endpoint;
use toolwire_tests::http::events::{End, Events};
use toolwire_tests::http::fixture::{Fixture, HandlerEvent};
use toolwire_tests::http::session::{REVISIONS, Session, tool_call, tool_call_with_token};
use toolwire_tests::peer::{cancel, legacy, notification, result_response, text};

/// Returns an endpoint whose responses become streams immediately.
pub(crate) async fn endpoint_without_quiet_period(fixture: &Fixture) -> Endpoint {
    let mut limits = HttpLimits::default();
    limits.quiet_period = Duration::ZERO;
    let options = HttpOptions::new().with_limits(limits);
    Endpoint::serve_with(
        &fixture.server,
        options.with_sse_retry(Duration::from_millis(1500)),
    )
    .await
}

/// Expects the priming event, which has only an id, if the revision is 2025-11-25.
pub(crate) async fn expect_priming(events: &mut Events, version: &str) {
    if version == "2025-11-25" {
        let priming = events.next().await.unwrap();
        assert_eq!(priming.data, "");
        let retry: u64 = priming.retry.unwrap().parse().unwrap();
        assert!((1125..=1875).contains(&retry), "{retry}");
        assert!(priming.id.is_some());
    }
}

fn progress(token: &str, progress: i64) -> Value {
    let params = json!({"progressToken": token, "progress": progress});
    notification("notifications/progress", params)
}

/// Starts a call of `wait` in a session and returns its stream before the first message.
async fn start_wait(fixture: &mut Fixture, session: &Session) -> Events {
    let mut events = session.stream(&tool_call_with_token(1, "wait", "t")).await;
    expect_priming(&mut events, session.version).await;
    fixture.expect(HandlerEvent::Started).await;
    events
}

#[tokio::test]
async fn notifications_precede_the_response_and_have_event_ids() {
    let mut fixture = Fixture::new();
    let endpoint = endpoint_without_quiet_period(&fixture).await;
    for version in REVISIONS {
        let session = Session::open(&endpoint, version).await;
        let mut events = start_wait(&mut fixture, &session).await;
        assert_eq!(events.headers.header("x-accel-buffering"), Some("no"));
        let mut ids = Vec::new();
        for number in [1, 2] {
            fixture.step();
            let event = events.next().await.unwrap();
            assert_eq!(event.retry, None);
            ids.push(event.id.expect("every event has an id"));
            let message: Value = serde_json::from_str(&event.data).unwrap();
            assert_eq!(message, progress("t", number));
        }
        events.expect(result_response(1, text("waited"))).await;
        ids.extend(events.last_id.clone());
        events.expect_end().await;
        fixture.expect(HandlerEvent::Finished).await;
        assert_eq!(ids.len(), 3);
        assert!(ids[0] != ids[1] && ids[1] != ids[2], "{ids:?}");
        endpoint.wait_until_idle().await;
    }
}

#[tokio::test]
async fn interrupted_stream_resumes_after_the_last_event() {
    let mut fixture = Fixture::new();
    let endpoint = endpoint_without_quiet_period(&fixture).await;
    let all = [
        progress("t", 1),
        progress("t", 2),
        result_response(1, text("waited")),
    ];
    for version in REVISIONS {
        // The client has seen this many messages when the connection breaks.
        for seen in 0..all.len() {
            if seen == 0 && version != "2025-11-25" {
                continue; // There is no event id to resume from.
            }
            let session = Session::open(&endpoint, version).await;
            let mut events = start_wait(&mut fixture, &session).await;
            for message in &all[..seen] {
                fixture.step();
                events.expect(message.clone()).await;
            }
            let last = events.last_id.clone().expect("an event id");
            events.disconnect();
            for _ in seen..2 {
                fixture.step();
            }
            fixture.expect(HandlerEvent::Finished).await;
            // A client may resume any number of times.
            for _ in 0..2 {
                let mut events = session.resume(&last).await;
                for message in &all[seen..] {
                    events.expect(message.clone()).await;
                }
                events.expect_end().await;
            }
            endpoint.wait_until_idle().await;
        }
    }
}

#[tokio::test]
async fn resuming_an_open_stream_moves_it_to_the_new_connection() {
    let mut fixture = Fixture::new();
    let endpoint = endpoint_without_quiet_period(&fixture).await;
    let session = Session::open(&endpoint, "2025-11-25").await;
    let mut first = start_wait(&mut fixture, &session).await;
    fixture.step();
    first.expect(progress("t", 1)).await;
    let last = first.last_id.clone().expect("an event id");
    // The first connection is still open. The resumed one gets the rest of the stream.
    let mut second = session.resume(&last).await;
    assert_eq!(first.next().await, Err(End::Complete));
    fixture.step();
    second.expect(progress("t", 2)).await;
    second.expect(result_response(1, text("waited"))).await;
    second.expect_end().await;
    fixture.expect(HandlerEvent::Finished).await;
    endpoint.wait_until_idle().await;
}

#[tokio::test]
async fn only_a_notification_cancels_a_request_in_a_session() {
    let mut fixture = Fixture::new();
    let endpoint = endpoint_without_quiet_period(&fixture).await;
    let session = Session::open(&endpoint, "2025-06-18").await;
    start_wait(&mut fixture, &session).await.disconnect();
    // After a round trip the server has detected the disconnect.
    session.call(legacy(2, "ping", json!({}))).await;
    fixture.expect_nothing();
    assert_eq!(endpoint.service.load().requests, 1);
    session.send(cancel(1)).await;
    fixture.expect(HandlerEvent::Dropped).await;
    endpoint.wait_until_idle().await;

    let mut events = start_wait(&mut fixture, &session).await;
    fixture.step();
    events.expect(progress("t", 1)).await;
    // `1` differs from `"1"`, and unknown ids are ignored.
    session.send(cancel("1")).await;
    session.send(cancel(2)).await;
    fixture.expect_nothing();
    session.send(cancel(1)).await;
    fixture.expect(HandlerEvent::Dropped).await;
    assert_eq!(events.next().await, Err(End::Complete), "no more messages");
    endpoint.wait_until_idle().await;
}

#[tokio::test]
async fn disconnect_before_the_response_does_not_cancel_a_request_in_a_session() {
    let mut fixture = Fixture::new();
    let endpoint = Endpoint::serve(&fixture.server).await;
    let session = Session::open(&endpoint, "2025-06-18").await;
    let mut connection = endpoint.connect().await;
    let request = session.post_request(&tool_call(1, "wait", json!({})));
    connection.send(request.bytes()).await;
    fixture.expect(HandlerEvent::Started).await;
    connection.reset();
    // After a round trip the server has detected the disconnect.
    session.call(legacy(2, "ping", json!({}))).await;
    fixture.expect_nothing();
    fixture.step();
    fixture.step();
    fixture.expect(HandlerEvent::Finished).await;
    endpoint.wait_until_idle().await;
}

#[tokio::test]
async fn input_requests_are_sent_on_the_stream_and_responses_posted() {
    let fixture = Fixture::new();
    let endpoint = Endpoint::serve(&fixture.server).await;
    for version in ["2025-06-18", "2025-11-25"] {
        let session = Session::open(&endpoint, version).await;
        let other_session = Session::open(&endpoint, version).await;
        let mut events = session.stream(&tool_call(1, "ask", json!({}))).await;
        if version == "2025-11-25" {
            assert_eq!(events.next().await.unwrap().data, "");
        }
        let input_request = events.message().await;
        assert_eq!(
            input_request["method"], "elicitation/create",
            "{input_request}"
        );
        assert_eq!(input_request["params"]["message"], "Who?");
        let response = |name: &str| {
            let result = json!({"action": "accept", "content": {"name": name}});
            result_response(input_request["id"].clone(), result)
        };
        // A response in another session is ignored.
        other_session.send(response("Eve")).await;
        session.send(response("Ada")).await;
        let last = events.message().await;
        let text = last["result"]["content"][0]["text"]
            .as_str()
            .expect("a text");
        assert!(text.contains("Ada"), "{last}");
        events.expect_end().await;
        // A response without a pending request is ignored.
        session.send(response("Bob")).await;
        endpoint.wait_until_idle().await;
    }
}

#[tokio::test]
async fn input_request_is_sent_again_after_resuming() {
    let fixture = Fixture::new();
    let endpoint = Endpoint::serve(&fixture.server).await;
    let session = Session::open(&endpoint, "2025-11-25").await;
    let mut events = session.stream(&tool_call(1, "ask", json!({}))).await;
    let priming = events.next().await.unwrap().id.expect("an event id");
    events.disconnect();
    let mut events = session.resume(&priming).await;
    let input_request = events.message().await;
    let result = json!({"action": "decline"});
    session
        .send(result_response(input_request["id"].clone(), result))
        .await;
    let last = events.message().await;
    assert_eq!(last["id"], 1, "{last}");
    events.expect_end().await;
    endpoint.wait_until_idle().await;
}

#[tokio::test]
async fn handler_may_release_its_stream_and_the_client_resumes() {
    let fixture = Fixture::new();
    let endpoint = endpoint_without_quiet_period(&fixture).await;
    let session = Session::open(&endpoint, "2025-11-25").await;
    let mut events = session
        .stream(&tool_call_with_token(1, "release", "t"))
        .await;
    expect_priming(&mut events, session.version).await;
    events.expect(progress("t", 1)).await;
    let last = events.last_id.clone().expect("an event id");
    events.expect_end().await;
    assert_eq!(
        endpoint.service.load().requests,
        1,
        "the handler still runs"
    );
    let mut events = session.resume(&last).await;
    fixture.step();
    events.expect(result_response(1, text("polled"))).await;
    events.expect_end().await;
    endpoint.wait_until_idle().await;

    // Older clients treat the end of a stream as the end of the request.
    let session = Session::open(&endpoint, "2025-06-18").await;
    let mut events = session
        .stream(&tool_call_with_token(1, "release", "t"))
        .await;
    events.expect(progress("t", 1)).await;
    fixture.step();
    events.expect(result_response(1, text("stayed"))).await;
    events.expect_end().await;
    endpoint.wait_until_idle().await;
}

#[tokio::test]
async fn ending_a_session_ends_its_requests_and_streams() {
    let mut fixture = Fixture::new();
    let endpoint = endpoint_without_quiet_period(&fixture).await;
    let session = Session::open(&endpoint, "2025-11-25").await;
    let mut events = start_wait(&mut fixture, &session).await;
    let last = events.last_id.clone().expect("an event id");
    let mut pushed = session.listen().await;
    expect_priming(&mut pushed, session.version).await;
    assert_eq!(session.end().await.status(), 204);
    fixture.expect(HandlerEvent::Dropped).await;
    assert_eq!(events.next().await, Err(End::Complete));
    assert_eq!(pushed.next().await, Err(End::Complete));
    assert_eq!(
        session
            .request(&session.resume_request(&last))
            .await
            .status(),
        404
    );
    endpoint.wait_for_load(HttpLoad::default()).await;
}

#[tokio::test]
async fn equal_request_ids_in_one_session_do_not_collide() {
    let mut fixture = Fixture::new();
    let endpoint = endpoint_without_quiet_period(&fixture).await;
    let session = Session::open(&endpoint, "2025-06-18").await;
    let mut first = session.stream(&tool_call_with_token(1, "wait", "a")).await;
    let mut second = session.stream(&tool_call_with_token(1, "wait", "b")).await;
    for _ in 0..2 {
        fixture.expect(HandlerEvent::Started).await;
    }
    fixture.step();
    first.expect(progress("a", 1)).await;
    second.expect(progress("b", 1)).await;
    fixture.step();
    for (mut events, token) in [(first, "a"), (second, "b")] {
        events.expect(progress(token, 2)).await;
        events.expect(result_response(1, text("waited"))).await;
        events.expect_end().await;
    }
    endpoint.wait_until_idle().await;
}
