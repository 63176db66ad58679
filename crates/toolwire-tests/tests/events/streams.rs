//! `events/stream` on a connection.

use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use toolwire::events::{EventLimits, RingLimits};
use toolwire::transport::Limits;
use toolwire_tests::peer::{Peer, call, modern, notification, plain};

use crate::sources::{Controlled, Stuck, desk, emit, incidents, next, stream};

#[tokio::test]
async fn stream_delivers_events_with_the_id_of_its_request() {
    let (server, incidents) = desk();
    let mut peer = Peer::connect(&server);
    // The ids of two streams that differ only in their JSON type.
    for id in [json!(1), json!("1")] {
        peer.send(stream(id.clone(), json!({"arguments": {"severity": 2}})))
            .await;
        let active = next(&mut peer, &id, "active").await;
        assert_eq!(active["truncated"], false);
        assert!(active["cursor"].is_string(), "{active}");
        emit(&incidents, "low", 1);
        emit(&incidents, "high", 2);
        let event = next(&mut peer, &id, "event").await;
        assert_eq!(event["eventId"], "high");
        let cancel = json!({"requestId": id});
        peer.send(notification("notifications/cancelled", cancel))
            .await;
        emit(&incidents, "late", 5);
        peer.expect_silence().await;
    }
}

#[tokio::test]
async fn stream_starts_with_the_events_after_its_cursor() {
    let (server, incidents) = desk();
    let mut peer = Peer::connect(&server);
    peer.send(stream("one", json!({}))).await;
    let active = next(&mut peer, &json!("one"), "active").await;
    for number in 0..150 {
        emit(&incidents, &number.to_string(), 1);
    }
    peer.send(stream("two", json!({"cursor": active["cursor"]})))
        .await;
    let mut delivered = [0, 0];
    while delivered != [150, 150] {
        let message = peer.receive().await;
        if message["method"] == "notifications/events/active" {
            assert_eq!(message["params"]["cursor"], active["cursor"], "{message}");
            continue;
        }
        let params = &message["params"];
        let is_second = params["_meta"][crate::sources::SUBSCRIPTION] == "two";
        let count = &mut delivered[usize::from(is_second)];
        assert_eq!(params["eventId"], count.to_string(), "{message}");
        *count += 1;
    }
}

#[tokio::test]
async fn gap_is_a_second_active_message() {
    let mut limits = RingLimits::default();
    limits.events = 2;
    let incidents = incidents().with_limits(limits);
    let server = toolwire_tests::peer::server().event("incident.created", incidents.clone());
    let mut peer = Peer::connect(&server);
    peer.send(stream(1, json!({}))).await;
    next(&mut peer, &json!(1), "active").await;
    // The stream does not run between these events.
    for id in ["a", "b", "c"] {
        emit(&incidents, id, 1);
    }
    let gap = next(&mut peer, &json!(1), "active").await;
    assert_eq!(gap["truncated"], true);
    assert_eq!(next(&mut peer, &json!(1), "event").await["eventId"], "b");
    assert_eq!(next(&mut peer, &json!(1), "event").await["eventId"], "c");
    // No event is lost if the stream continues at the gap.
    peer.send(stream(2, json!({"cursor": gap["cursor"]}))).await;
    assert_eq!(
        next(&mut peer, &json!(2), "active").await["truncated"],
        false
    );
    assert_eq!(next(&mut peer, &json!(2), "event").await["eventId"], "b");
}

#[tokio::test(start_paused = true)]
async fn heartbeat_has_the_cursor_and_comes_in_time() {
    let (server, incidents) = desk();
    let mut peer = Peer::connect(&server);
    peer.send(stream(1, json!({}))).await;
    let active = next(&mut peer, &json!(1), "active").await;
    for _ in 0..3 {
        let before = Instant::now();
        let heartbeat = next(&mut peer, &json!(1), "heartbeat").await;
        assert_eq!(heartbeat["cursor"], active["cursor"]);
        assert!(
            before.elapsed() <= Duration::from_secs(30),
            "{:?}",
            before.elapsed()
        );
    }
    emit(&incidents, "a", 1);
    let event = next(&mut peer, &json!(1), "event").await;
    let heartbeat = next(&mut peer, &json!(1), "heartbeat").await;
    assert_eq!(heartbeat["cursor"], event["cursor"], "the position moved");
}

#[tokio::test(start_paused = true)]
async fn heartbeat_comes_while_other_events_happen() {
    let (server, incidents) = desk();
    let mut peer = Peer::connect(&server);
    let only_high = json!({"arguments": {"severity": 5}});
    peer.send(stream(1, only_high)).await;
    let active = next(&mut peer, &json!(1), "active").await;
    let noise = tokio::spawn(async move {
        for number in 0..31 {
            emit(&incidents, &number.to_string(), 1);
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    });
    let before = Instant::now();
    let heartbeat = next(&mut peer, &json!(1), "heartbeat").await;
    assert!(
        before.elapsed() <= Duration::from_secs(30),
        "{:?}",
        before.elapsed()
    );
    assert_ne!(heartbeat["cursor"], active["cursor"], "the position moved");
    noise.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn heartbeat_comes_while_the_source_works() {
    let server = toolwire_tests::peer::server().event("log.read", Stuck);
    let mut peer = Peer::connect(&server);
    peer.send(stream(1, json!({"name": "log.read"}))).await;
    next(&mut peer, &json!(1), "active").await;
    for _ in 0..3 {
        let before = Instant::now();
        let heartbeat = next(&mut peer, &json!(1), "heartbeat").await;
        assert_eq!(heartbeat["cursor"], "start");
        let waited = before.elapsed();
        assert!(waited <= Duration::from_secs(30), "{waited:?}");
    }
    assert!(server.remove_event("log.read"));
    let terminated = next(&mut peer, &json!(1), "terminated").await;
    assert_eq!(terminated["error"]["code"], -32023, "{terminated}");
}

#[tokio::test(start_paused = true)]
async fn failed_source_is_reported_and_asked_again() {
    let source = Controlled::default();
    let server = toolwire_tests::peer::server().event("topic.changed", source.clone());
    let mut peer = Peer::connect(&server);
    let params = json!({"name": "topic.changed", "arguments": {"topic": "a"}});
    peer.send(stream(1, params.clone())).await;
    next(&mut peer, &json!(1), "active").await;
    source.fails.store(true, Ordering::Relaxed);
    source.signal.send();
    let failed = next(&mut peer, &json!(1), "error").await;
    assert_eq!(failed["error"]["message"], "the database is away");
    // A stream cannot be opened meanwhile.
    let mut other = Peer::connect(&server);
    other.error_of(stream(2, params), -32603).await;
    next(&mut peer, &json!(1), "error").await;
    source.fails.store(false, Ordering::Relaxed);
    // No further signal is needed.
    assert_eq!(next(&mut peer, &json!(1), "event").await["data"], 1);
}

#[tokio::test]
async fn stream_does_not_count_as_a_running_request() {
    let (server, _incidents) = desk();
    let server = server.tool(plain("hello", |_| async { "hello" }));
    let mut limits = Limits::default();
    limits.requests_in_flight = 1;
    limits.subscriptions = 2;
    let mut peer = Peer::connect_with(&server, limits);
    for id in [1, 2] {
        peer.send(stream(id, json!({}))).await;
        next(&mut peer, &json!(id), "active").await;
    }
    let result = peer.result_of(call(3, "hello", json!({}))).await;
    assert_eq!(result["content"][0]["text"], "hello");
    let error = peer.error_of(stream(4, json!({})), -32025).await;
    assert_eq!(error["data"], json!({"limit": "streams", "max": 2}));
    // A response with the id of an open stream would end it.
    peer.send(stream(1, json!({}))).await;
    let rejected = peer.receive().await;
    assert_eq!(rejected["error"]["code"], -32602, "{rejected}");
    assert_eq!(rejected.get("id"), None, "{rejected}");
}

#[tokio::test]
async fn limit_of_a_server_is_resource_exhausted() {
    let (server, _incidents) = desk();
    let mut limits = EventLimits::default();
    limits.streams = 1;
    let server = server.with_event_limits(limits);
    let mut first = Peer::connect(&server);
    first.send(stream(1, json!({}))).await;
    next(&mut first, &json!(1), "active").await;
    let mut second = Peer::connect(&server);
    let error = second.error_of(stream(1, json!({})), -32025).await;
    assert_eq!(error["data"], json!({"limit": "streams", "max": 1}));
    // Cancelling frees the permit, also without another message.
    let cancel = notification("notifications/cancelled", json!({"requestId": 1}));
    first.send(cancel).await;
    first.expect_silence().await;
    second.send(stream(2, json!({}))).await;
    next(&mut second, &json!(2), "active").await;
}

#[tokio::test]
async fn changes_of_the_types_are_announced_to_those_who_listen() {
    let (server, _incidents) = desk();
    let mut peer = Peer::connect(&server);
    let listen = |id: i64, filter: Value| {
        modern(id, "subscriptions/listen", json!({"notifications": filter}))
    };
    peer.send(listen(1, json!({"eventsListChanged": true})))
        .await;
    let acknowledged = peer.receive().await;
    let filter = &acknowledged["params"]["notifications"];
    assert_eq!(
        *filter,
        json!({"eventsListChanged": true}),
        "{acknowledged}"
    );
    peer.send(listen(2, json!({"toolsListChanged": true})))
        .await;
    peer.receive().await;
    server
        .add_event("topic.changed", Controlled::default())
        .unwrap();
    let changed = peer.receive().await;
    assert_eq!(
        changed["method"], "notifications/events/list_changed",
        "{changed}"
    );
    peer.expect_silence().await;
    assert!(server.remove_event("topic.changed"));
    assert!(!server.remove_event("topic.changed"));
    let changed = peer.receive().await;
    assert_eq!(
        changed["method"], "notifications/events/list_changed",
        "{changed}"
    );
}
