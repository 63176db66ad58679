//! What the server pushes to sessions of the 2025 revisions: the streams that clients open with GET.

use serde_json::{Value, json};
use toolwire::transport::http::{HttpLimits, HttpLoad};

use crate::http::endpoint::Endpoint;
use crate::http::events::{End, Events};
use crate::http::legacy_streams::{expect_priming, impatient};
use crate::http::request::Request;
use crate::http::session::{REVISIONS, Session};
use crate::http::stage::Stage;
use crate::peer::{answer, legacy, notification};

fn method(message: &Value) -> &str {
    message["method"].as_str().expect("a notification")
}

fn updated(uri: &str) -> Value {
    notification("notifications/resources/updated", json!({"uri": uri}))
}

async fn listen(session: &Session) -> Events {
    let mut events = session.listen().await;
    expect_priming(&mut events, session.version).await;
    events
}

async fn subscribe(session: &Session, uri: &str) {
    let request = legacy(1, "resources/subscribe", json!({"uri": uri}));
    assert_eq!(session.call(request).await, answer(1, json!({})));
}

#[tokio::test]
async fn changes_are_pushed_to_whoever_listens() {
    let stage = Stage::new();
    let endpoint = impatient(&stage).await;
    for version in REVISIONS {
        let session = Session::open(&endpoint, version).await;
        subscribe(&session, "notes://a").await;
        let mut events = listen(&session).await;
        assert_eq!(events.head.header("x-accel-buffering"), Some("no"));
        stage.server.tools_changed();
        assert_eq!(
            method(&events.message().await),
            "notifications/tools/list_changed"
        );
        stage.server.resource_updated("notes://b");
        stage.server.resource_updated("notes://a");
        events.expect(updated("notes://a")).await;
        let unsubscribe = legacy(2, "resources/unsubscribe", json!({"uri": "notes://a"}));
        session.call(unsubscribe).await;
        stage.server.resource_updated("notes://a");
        stage.server.prompts_changed();
        assert_eq!(
            method(&events.message().await),
            "notifications/prompts/list_changed"
        );
        assert_eq!(session.end().await.status(), 204);
        assert_eq!(events.next().await, Err(End::Complete));
        endpoint.idle().await;
    }
}

#[tokio::test]
async fn every_message_goes_to_exactly_one_stream() {
    let stage = Stage::new();
    let endpoint = impatient(&stage).await;
    let session = Session::open(&endpoint, "2025-11-25").await;
    let mut first = listen(&session).await;
    // H54, X17: the second is taken, and the first does not notice.
    let mut second = listen(&session).await;
    stage.server.tools_changed();
    assert_eq!(
        method(&first.message().await),
        "notifications/tools/list_changed"
    );
    stage.server.prompts_changed();
    assert_eq!(
        method(&first.message().await),
        "notifications/prompts/list_changed"
    );
    first.cut();
    let mut load = HttpLoad::default();
    (load.streams, load.sessions) = (1, 1);
    endpoint.load_is(load).await;
    stage.server.resources_changed();
    assert_eq!(
        method(&second.message().await),
        "notifications/resources/list_changed"
    );
}

#[tokio::test]
async fn nothing_is_lost_or_doubled_by_a_cut() {
    let stage = Stage::new();
    let endpoint = impatient(&stage).await;
    let session = Session::open(&endpoint, "2025-11-25").await;
    subscribe(&session, "notes://a").await;
    let mut events = listen(&session).await;
    stage.server.tools_changed();
    assert_eq!(
        method(&events.message().await),
        "notifications/tools/list_changed"
    );
    let last = events.last_id.clone().expect("an id to come back with");
    events.cut();
    // Nobody reads, or the server has not noticed yet: either way these wait for the client.
    stage.server.prompts_changed();
    stage.server.resource_updated("notes://a");
    let mut load = HttpLoad::default();
    load.sessions = 1;
    endpoint.load_is(load).await;
    stage.server.resources_changed();
    let mut events = session.resume(&last).await;
    let mut missed = Vec::new();
    for _ in 0..3 {
        missed.push(method(&events.message().await).to_owned());
    }
    missed.sort();
    assert_eq!(
        missed,
        [
            "notifications/prompts/list_changed",
            "notifications/resources/list_changed",
            "notifications/resources/updated",
        ]
    );
    stage.server.tools_changed();
    assert_eq!(
        method(&events.message().await),
        "notifications/tools/list_changed"
    );
    // The same id brings the same again, and takes the stream over.
    let mut again = session.resume(&last).await;
    assert_eq!(events.next().await, Err(End::Complete));
    for _ in 0..4 {
        again.message().await;
    }
    stage.server.prompts_changed();
    assert_eq!(
        method(&again.message().await),
        "notifications/prompts/list_changed"
    );
}

#[tokio::test]
async fn a_stream_is_asked_for_as_one() {
    let stage = Stage::new();
    let endpoint = Endpoint::serve(&stage.server).await;
    let session = Session::open(&endpoint, "2025-11-25").await;
    let get = Request::get(&session.id, session.version);
    for accepted in ["application/json", "text/html"] {
        let answer = session
            .ask(&get.clone().replacing("Accept", accepted))
            .await;
        assert_eq!(answer.status(), 406);
    }
    let anything = get.replacing("Accept", "*/*");
    endpoint.open(&anything).await;
}

#[tokio::test]
async fn nothing_is_pushed_before_the_handshake_is_over() {
    let stage = Stage::new();
    let endpoint = impatient(&stage).await;
    let session = Session::initialize(&endpoint, "2025-11-25").await;
    let mut events = listen(&session).await;
    stage.server.tools_changed();
    session
        .tell(notification("notifications/initialized", json!({})))
        .await;
    stage.server.prompts_changed();
    assert_eq!(
        method(&events.message().await),
        "notifications/prompts/list_changed"
    );
}

#[tokio::test]
async fn shutting_down_ends_what_is_pushed() {
    let stage = Stage::new();
    let endpoint = impatient(&stage).await;
    let session = Session::open(&endpoint, "2025-11-25").await;
    let mut events = listen(&session).await;
    let ended = tokio::spawn(endpoint.end());
    assert_eq!(events.next().await, Err(End::Complete));
    ended.await.unwrap();
}

#[tokio::test]
async fn whoever_is_refused_takes_nothing_over() {
    let stage = Stage::new();
    let mut limits = HttpLimits::default();
    limits.open_streams = 1;
    let endpoint = Endpoint::serve_within(&stage.server, limits).await;
    let session = Session::open(&endpoint, "2025-06-18").await;
    let mut first = session.listen().await;
    stage.server.tools_changed();
    assert_eq!(
        method(&first.message().await),
        "notifications/tools/list_changed"
    );
    let last = first.last_id.clone().expect("an id to come back with");
    let mut wire = endpoint.connect().await;
    wire.send(session.resume_request(&last).bytes()).await;
    let head = wire.head().await;
    let mut reader = match head.status {
        503 => first,
        _ => Events::new(wire, head),
    };
    stage.server.prompts_changed();
    assert_eq!(
        method(&reader.message().await),
        "notifications/prompts/list_changed"
    );
}
