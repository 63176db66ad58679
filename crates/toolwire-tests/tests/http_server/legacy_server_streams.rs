//! Server streams of the 2025 revisions, which clients open with GET.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use toolwire::transport::http::{HttpLimits, HttpLoad};
use toolwire_tests::http::endpoint::Endpoint;
use toolwire_tests::http::events::{End, Events};
use toolwire_tests::http::fixture::Fixture;
use toolwire_tests::http::request::Request;
use toolwire_tests::http::session::{REVISIONS, Session};
use toolwire_tests::peer::{legacy, notification, result_response};

use crate::legacy_response_streams::{endpoint_without_quiet_period, expect_priming};

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
    assert_eq!(session.call(request).await, result_response(1, json!({})));
}

#[tokio::test]
async fn changes_are_sent_on_server_streams() {
    let fixture = Fixture::new();
    let endpoint = endpoint_without_quiet_period(&fixture).await;
    for version in REVISIONS {
        let session = Session::open(&endpoint, version).await;
        subscribe(&session, "notes://a").await;
        let mut events = listen(&session).await;
        assert_eq!(events.headers.header("x-accel-buffering"), Some("no"));
        fixture.server.tools_changed();
        assert_eq!(
            method(&events.message().await),
            "notifications/tools/list_changed"
        );
        fixture.server.resource_updated("notes://b");
        fixture.server.resource_updated("notes://a");
        events.expect(updated("notes://a")).await;
        let unsubscribe = legacy(2, "resources/unsubscribe", json!({"uri": "notes://a"}));
        session.call(unsubscribe).await;
        fixture.server.resource_updated("notes://a");
        fixture.server.prompts_changed();
        assert_eq!(
            method(&events.message().await),
            "notifications/prompts/list_changed"
        );
        assert_eq!(session.end().await.status(), 204);
        assert_eq!(events.next().await, Err(End::Complete));
        endpoint.wait_until_idle().await;
    }
}

#[tokio::test]
async fn every_message_is_sent_on_exactly_one_stream() {
    let fixture = Fixture::new();
    let endpoint = endpoint_without_quiet_period(&fixture).await;
    let session = Session::open(&endpoint, "2025-11-25").await;
    let mut first = listen(&session).await;
    // A second stream is accepted and does not affect the first.
    let mut second = listen(&session).await;
    fixture.server.tools_changed();
    assert_eq!(
        method(&first.message().await),
        "notifications/tools/list_changed"
    );
    fixture.server.prompts_changed();
    assert_eq!(
        method(&first.message().await),
        "notifications/prompts/list_changed"
    );
    first.disconnect();
    let mut load = HttpLoad::default();
    (load.streams, load.sessions) = (1, 1);
    endpoint.wait_for_load(load).await;
    fixture.server.resources_changed();
    assert_eq!(
        method(&second.message().await),
        "notifications/resources/list_changed"
    );
}

/// The methods of all changes that a session with a subscription may miss.
const ALL_CHANGES: [&str; 4] = [
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
    "notifications/resources/updated",
    "notifications/tools/list_changed",
];

/// Reads notifications until each of the methods was received.
async fn expect_all(events: &mut Events, methods: &[&str]) {
    let mut missing: BTreeSet<_> = methods.iter().map(|method| (*method).to_owned()).collect();
    while !missing.is_empty() {
        let message = events.message().await;
        let method = method(&message);
        assert!(methods.contains(&method), "{message}");
        missing.remove(method);
    }
}

#[tokio::test]
async fn resumed_stream_is_notified_of_every_kind_of_change() {
    let fixture = Fixture::new();
    let endpoint = endpoint_without_quiet_period(&fixture).await;
    let session = Session::open(&endpoint, "2025-11-25").await;
    subscribe(&session, "notes://a").await;
    let mut events = listen(&session).await;
    fixture.server.tools_changed();
    assert_eq!(
        method(&events.message().await),
        "notifications/tools/list_changed"
    );
    let last = events.last_id.clone().expect("an event id");
    events.disconnect();
    // Changes are not stored for the client, whether or not the server has detected the disconnect.
    fixture.server.prompts_changed();
    let mut load = HttpLoad::default();
    load.sessions = 1;
    endpoint.wait_for_load(load).await;
    fixture.server.resource_updated("notes://a");
    let mut events = session.resume(&last).await;
    expect_all(&mut events, &ALL_CHANGES).await;
    // Resuming again with the same id notifies again and ends the earlier stream.
    let mut again = session.resume(&last).await;
    while events.next().await.is_ok() {}
    expect_all(&mut again, &ALL_CHANGES).await;
    assert_eq!(session.end().await.status(), 204);
    while again.next().await.is_ok() {}
}

#[tokio::test]
async fn resumed_stream_without_changes_is_not_notified() {
    let fixture = Fixture::new();
    let endpoint = endpoint_without_quiet_period(&fixture).await;
    let session = Session::open(&endpoint, "2025-11-25").await;
    let first = listen(&session).await;
    let last = first.last_id.clone().expect("an event id");
    first.disconnect();
    let mut load = HttpLoad::default();
    load.sessions = 1;
    endpoint.wait_for_load(load).await;
    let mut resumed = session.resume(&last).await;
    fixture.server.tools_changed();
    assert_eq!(
        method(&resumed.message().await),
        "notifications/tools/list_changed"
    );
    assert_eq!(session.end().await.status(), 204);
    assert_eq!(resumed.next().await, Err(End::Complete));
}

#[tokio::test]
async fn get_without_accepting_event_streams_is_rejected_with_406() {
    let fixture = Fixture::new();
    let endpoint = Endpoint::serve(&fixture.server).await;
    let session = Session::open(&endpoint, "2025-11-25").await;
    let get = Request::get(&session.id, session.version);
    for accepted in ["application/json", "text/html"] {
        let response = session
            .request(&get.clone().replacing("Accept", accepted))
            .await;
        assert_eq!(response.status(), 406);
    }
    let anything = get.replacing("Accept", "*/*");
    endpoint.open(&anything).await;
}

#[tokio::test]
async fn no_changes_are_sent_before_the_handshake_is_complete() {
    let fixture = Fixture::new();
    let endpoint = endpoint_without_quiet_period(&fixture).await;
    let session = Session::initialize(&endpoint, "2025-11-25").await;
    let mut events = listen(&session).await;
    fixture.server.tools_changed();
    session
        .send(notification("notifications/initialized", json!({})))
        .await;
    fixture.server.prompts_changed();
    assert_eq!(
        method(&events.message().await),
        "notifications/prompts/list_changed"
    );
}

#[tokio::test]
async fn shutdown_ends_server_streams() {
    let fixture = Fixture::new();
    let endpoint = endpoint_without_quiet_period(&fixture).await;
    let session = Session::open(&endpoint, "2025-11-25").await;
    let mut events = listen(&session).await;
    let ended = tokio::spawn(endpoint.end());
    assert_eq!(events.next().await, Err(End::Complete));
    ended.await.unwrap();
}

#[tokio::test]
async fn rejected_resume_does_not_end_the_stream() {
    let fixture = Fixture::new();
    let mut limits = HttpLimits::default();
    limits.open_streams = 1;
    let endpoint = Endpoint::serve_within(&fixture.server, limits).await;
    let session = Session::open(&endpoint, "2025-06-18").await;
    let mut first = session.listen().await;
    fixture.server.tools_changed();
    assert_eq!(
        method(&first.message().await),
        "notifications/tools/list_changed"
    );
    let last = first.last_id.clone().expect("an event id");
    let mut connection = endpoint.connect().await;
    connection.send(session.resume_request(&last).bytes()).await;
    let headers = connection.headers().await;
    let mut reader = match headers.status {
        503 => first,
        _ => Events::new(connection, headers),
    };
    fixture.server.prompts_changed();
    assert_eq!(
        method(&reader.message().await),
        "notifications/prompts/list_changed"
    );
}
