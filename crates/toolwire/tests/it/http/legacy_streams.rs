//! Streams of the 2025 revisions that answer a POST: notices and questions before the answer, and coming back for them.

use std::time::Duration;

use serde_json::{Value, json};
use toolwire::transport::http::{HttpLimits, HttpLoad, HttpOptions};

use crate::http::endpoint::Endpoint;
use crate::http::events::{End, Events};
use crate::http::session::{REVISIONS, Session, tool_call, tool_call_with_token};
use crate::http::stage::{Happening, Stage};
use crate::peer::{answer, cancel, legacy, notification, text};

/// An endpoint whose answers become streams at once.
pub(crate) async fn impatient(stage: &Stage) -> Endpoint {
    let mut limits = HttpLimits::default();
    limits.quiet_period = Duration::ZERO;
    let options = HttpOptions::new().with_limits(limits);
    Endpoint::serve_with(
        &stage.server,
        options.with_sse_retry(Duration::from_millis(1500)),
    )
    .await
}

/// Streams of 2025-11-25 begin with an event that is only an id; others do not.
pub(crate) async fn expect_priming(events: &mut Events, version: &str) {
    if version == "2025-11-25" {
        let priming = events.next().await.unwrap();
        assert_eq!(priming.data, "");
        assert_eq!(priming.retry.as_deref(), Some("1500"));
        assert!(priming.id.is_some());
    }
}

fn progress(token: &str, progress: i64) -> Value {
    let params = json!({"progressToken": token, "progress": progress});
    notification("notifications/progress", params)
}

/// `wait` in a session, begun; nothing was said yet.
async fn begin(stage: &mut Stage, session: &Session) -> Events {
    let mut events = session.stream(&tool_call_with_token(1, "wait", "t")).await;
    expect_priming(&mut events, session.version).await;
    stage.expect(Happening::Started).await;
    events
}

#[tokio::test]
async fn notices_come_before_the_answer_with_ids_to_come_back_with() {
    let mut stage = Stage::new();
    let endpoint = impatient(&stage).await;
    for version in REVISIONS {
        let session = Session::open(&endpoint, version).await;
        let mut events = begin(&mut stage, &session).await;
        assert_eq!(events.head.header("x-accel-buffering"), Some("no"));
        let mut ids = Vec::new();
        for number in [1, 2] {
            stage.step();
            let event = events.next().await.unwrap();
            assert_eq!(event.retry, None);
            ids.push(event.id.expect("every event can be come back to"));
            let message: Value = serde_json::from_str(&event.data).unwrap();
            assert_eq!(message, progress("t", number));
        }
        events.expect(answer(1, text("waited"))).await;
        ids.extend(events.last_id.clone());
        events.expect_end().await;
        stage.expect(Happening::Finished).await;
        assert_eq!(ids.len(), 3);
        assert!(ids[0] != ids[1] && ids[1] != ids[2], "{ids:?}");
        endpoint.idle().await;
    }
}

#[tokio::test]
async fn a_stream_that_was_cut_goes_on_where_it_was() {
    let mut stage = Stage::new();
    let endpoint = impatient(&stage).await;
    let all = [
        progress("t", 1),
        progress("t", 2),
        answer(1, text("waited")),
    ];
    for version in REVISIONS {
        // The client has seen this many messages when the connection breaks.
        for seen in 0..all.len() {
            if seen == 0 && version != "2025-11-25" {
                continue; // There is no id to come back with.
            }
            let session = Session::open(&endpoint, version).await;
            let mut events = begin(&mut stage, &session).await;
            for message in &all[..seen] {
                stage.step();
                events.expect(message.clone()).await;
            }
            let last = events.last_id.clone().expect("an id to come back with");
            events.cut();
            for _ in seen..2 {
                stage.step();
            }
            stage.expect(Happening::Finished).await;
            // As often as the client likes.
            for _ in 0..2 {
                let mut events = session.resume(&last).await;
                for message in &all[seen..] {
                    events.expect(message.clone()).await;
                }
                events.expect_end().await;
            }
            endpoint.idle().await;
        }
    }
}

#[tokio::test]
async fn a_client_that_comes_back_in_time_sees_the_rest_live() {
    let mut stage = Stage::new();
    let endpoint = impatient(&stage).await;
    let session = Session::open(&endpoint, "2025-11-25").await;
    let mut first = begin(&mut stage, &session).await;
    stage.step();
    first.expect(progress("t", 1)).await;
    let last = first.last_id.clone().expect("an id to come back with");
    // The first connection is still there: the one that came back has the stream from now on.
    let mut second = session.resume(&last).await;
    assert_eq!(first.next().await, Err(End::Complete));
    stage.step();
    second.expect(progress("t", 2)).await;
    second.expect(answer(1, text("waited"))).await;
    second.expect_end().await;
    stage.expect(Happening::Finished).await;
    endpoint.idle().await;
}

#[tokio::test]
async fn leaving_cancels_nothing_and_a_notification_does() {
    let mut stage = Stage::new();
    let endpoint = impatient(&stage).await;
    let session = Session::open(&endpoint, "2025-06-18").await;
    begin(&mut stage, &session).await.cut();
    // A round trip later the server has seen it.
    session.call(legacy(2, "ping", json!({}))).await;
    stage.expect_nothing();
    assert_eq!(endpoint.service.load().requests, 1);
    session.tell(cancel(1)).await;
    stage.expect(Happening::Dropped).await;
    endpoint.idle().await;

    let mut events = begin(&mut stage, &session).await;
    stage.step();
    events.expect(progress("t", 1)).await;
    // `1` is not `"1"`, and what is not there cannot be cancelled.
    session.tell(cancel("1")).await;
    session.tell(cancel(2)).await;
    stage.expect_nothing();
    session.tell(cancel(1)).await;
    stage.expect(Happening::Dropped).await;
    assert_eq!(
        events.next().await,
        Err(End::Complete),
        "nothing more is said"
    );
    endpoint.idle().await;
}

#[tokio::test]
async fn a_client_that_left_before_the_answer_began_cancels_nothing() {
    let mut stage = Stage::new();
    let endpoint = Endpoint::serve(&stage.server).await;
    let session = Session::open(&endpoint, "2025-06-18").await;
    let mut wire = endpoint.connect().await;
    let request = session.request(&tool_call(1, "wait", json!({})));
    wire.send(request.bytes()).await;
    stage.expect(Happening::Started).await;
    wire.reset();
    // A round trip later the server has seen it.
    session.call(legacy(2, "ping", json!({}))).await;
    stage.expect_nothing();
    stage.step();
    stage.step();
    stage.expect(Happening::Finished).await;
    endpoint.idle().await;
}

#[tokio::test]
async fn questions_go_out_on_the_stream_and_are_answered_by_post() {
    let stage = Stage::new();
    let endpoint = Endpoint::serve(&stage.server).await;
    for version in ["2025-06-18", "2025-11-25"] {
        let session = Session::open(&endpoint, version).await;
        let stranger = Session::open(&endpoint, version).await;
        let mut events = session.stream(&tool_call(1, "ask", json!({}))).await;
        if version == "2025-11-25" {
            assert_eq!(events.next().await.unwrap().data, "");
        }
        let question = events.message().await;
        assert_eq!(question["method"], "elicitation/create", "{question}");
        assert_eq!(question["params"]["message"], "Who?");
        let reply = |name: &str| {
            let result = json!({"action": "accept", "content": {"name": name}});
            answer(question["id"].clone(), result)
        };
        // The answer of another session is nobody's.
        stranger.tell(reply("Eve")).await;
        session.tell(reply("Ada")).await;
        let last = events.message().await;
        let told = last["result"]["content"][0]["text"]
            .as_str()
            .expect("a text");
        assert!(told.contains("Ada"), "{last}");
        events.expect_end().await;
        // Nobody waits for it any more.
        session.tell(reply("Bob")).await;
        endpoint.idle().await;
    }
}

#[tokio::test]
async fn a_question_survives_a_cut() {
    let stage = Stage::new();
    let endpoint = Endpoint::serve(&stage.server).await;
    let session = Session::open(&endpoint, "2025-11-25").await;
    let mut events = session.stream(&tool_call(1, "ask", json!({}))).await;
    let priming = events
        .next()
        .await
        .unwrap()
        .id
        .expect("an id to come back with");
    events.cut();
    let mut events = session.resume(&priming).await;
    let question = events.message().await;
    let result = json!({"action": "decline"});
    session.tell(answer(question["id"].clone(), result)).await;
    let last = events.message().await;
    assert_eq!(last["id"], 1, "{last}");
    events.expect_end().await;
    endpoint.idle().await;
}

#[tokio::test]
async fn a_handler_may_send_its_client_away_to_come_back() {
    let stage = Stage::new();
    let endpoint = impatient(&stage).await;
    let session = Session::open(&endpoint, "2025-11-25").await;
    let mut events = session
        .stream(&tool_call_with_token(1, "release", "t"))
        .await;
    expect_priming(&mut events, session.version).await;
    events.expect(progress("t", 1)).await;
    let last = events.last_id.clone().expect("an id to come back with");
    events.expect_end().await;
    assert_eq!(endpoint.service.load().requests, 1, "the handler runs on");
    let mut events = session.resume(&last).await;
    stage.step();
    events.expect(answer(1, text("polled"))).await;
    events.expect_end().await;
    endpoint.idle().await;

    // Older clients would take the end of a stream for the end of the request.
    let session = Session::open(&endpoint, "2025-06-18").await;
    let mut events = session
        .stream(&tool_call_with_token(1, "release", "t"))
        .await;
    events.expect(progress("t", 1)).await;
    stage.step();
    events.expect(answer(1, text("stayed"))).await;
    events.expect_end().await;
    endpoint.idle().await;
}

#[tokio::test]
async fn ending_a_session_ends_what_runs_for_it() {
    let mut stage = Stage::new();
    let endpoint = impatient(&stage).await;
    let session = Session::open(&endpoint, "2025-11-25").await;
    let mut events = begin(&mut stage, &session).await;
    let last = events.last_id.clone().expect("an id to come back with");
    let mut pushed = session.listen().await;
    expect_priming(&mut pushed, session.version).await;
    assert_eq!(session.end().await.status(), 204);
    stage.expect(Happening::Dropped).await;
    assert_eq!(events.next().await, Err(End::Complete));
    assert_eq!(pushed.next().await, Err(End::Complete));
    assert_eq!(
        session.ask(&session.resume_request(&last)).await.status(),
        404
    );
    endpoint.load_is(HttpLoad::default()).await;
}

#[tokio::test]
async fn equal_ids_in_one_session_do_not_meet() {
    let mut stage = Stage::new();
    let endpoint = impatient(&stage).await;
    let session = Session::open(&endpoint, "2025-06-18").await;
    let mut first = session.stream(&tool_call_with_token(1, "wait", "a")).await;
    let mut second = session.stream(&tool_call_with_token(1, "wait", "b")).await;
    for _ in 0..2 {
        stage.expect(Happening::Started).await;
    }
    stage.step();
    first.expect(progress("a", 1)).await;
    second.expect(progress("b", 1)).await;
    stage.step();
    for (mut events, token) in [(first, "a"), (second, "b")] {
        events.expect(progress(token, 2)).await;
        events.expect(answer(1, text("waited"))).await;
        events.expect_end().await;
    }
    endpoint.idle().await;
}
