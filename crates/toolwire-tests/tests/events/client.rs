//! Subscriptions of our client.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use toolwire::events::{EventItem, EventSubscription, EventSubscriptionState};
use toolwire::testing::ScriptedServer;
use toolwire::{Client, ProtocolVersion, Server};
use toolwire_tests::http::endpoint::Endpoint;
use toolwire_tests::peer::within;

use crate::sources::{Controlled, SUBSCRIPTION, desk, emit};

async fn next_id(events: &mut EventSubscription) -> String {
    match within(events.next()).await.unwrap() {
        Some(EventItem::Event(event)) => event.event_id,
        other => panic!("no event: {other:?}"),
    }
}

#[tokio::test]
async fn subscription_continues_from_a_stored_state() {
    let (server, incidents) = desk();
    let client = Client::in_process(&server).await.unwrap();
    let types = client.list_events().await.unwrap();
    assert_eq!(types[0].name, "incident.created");
    let subscribe = client.subscribe_events("incident.created", json!({"severity": 2}));
    let mut events = subscribe.await.unwrap();
    emit(&incidents, "a", 2);
    emit(&incidents, "low", 1);
    emit(&incidents, "b", 2);
    assert_eq!(next_id(&mut events).await, "a");
    // What was not returned yet is not part of the state.
    let stored = serde_json::to_string(&events.state()).unwrap();
    drop(events);
    emit(&incidents, "c", 2);
    let state: EventSubscriptionState = serde_json::from_str(&stored).unwrap();
    let mut events = client.resume_events(state).await.unwrap();
    assert_eq!(next_id(&mut events).await, "b");
    assert_eq!(next_id(&mut events).await, "c");
    assert!(server.remove_event("incident.created"));
    let error = within(events.next()).await.unwrap_err();
    assert_eq!(error.rpc().unwrap().code, -32023);
    assert_eq!(within(events.next()).await.unwrap(), None);
}

#[tokio::test]
async fn dropped_subscription_leaves_nothing_behind() {
    let (server, _incidents) = desk();
    let client = Client::in_process(&server).await.unwrap();
    let events = client
        .subscribe_events("incident.created", json!({}))
        .await
        .unwrap();
    assert!(client.pending_operations() > 0);
    drop(events);
    while client.pending_operations() > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn type_without_streams_is_polled() {
    let source = Controlled {
        only_polls: true,
        ..Controlled::default()
    };
    let server = Server::new("s", "1").event("topic.changed", source);
    let client = Client::in_process(&server).await.unwrap();
    let subscribe = client.subscribe_events("topic.changed", json!({"topic": "a"}));
    let mut events = subscribe.await.unwrap();
    // The server returns one event per poll, and suggests 5 seconds.
    let before = Instant::now();
    assert_eq!(next_id(&mut events).await, "1");
    assert_eq!(next_id(&mut events).await, "2");
    assert_eq!(before.elapsed(), Duration::from_secs(10));
    assert_eq!(events.state().cursor.as_deref(), Some("2"));
}

#[tokio::test]
async fn nothing_is_sent_to_a_server_without_events() {
    let builder = Client::builder("c", "1");
    let capabilities = json!({"tools": {}});
    let (client, mut script) = connect(builder, capabilities).await;
    let error = client.list_events().await.unwrap_err();
    assert!(
        error.to_string().contains("io.modelcontextprotocol/events"),
        "{error}"
    );
    let error = client.subscribe_events("x", json!({})).await.unwrap_err();
    assert!(
        error.to_string().contains("io.modelcontextprotocol/events"),
        "{error}"
    );
    script.expect_silence().await;
}

/// Connects to a scripted server with these capabilities.
pub(crate) async fn connect(
    builder: toolwire::ClientBuilder,
    capabilities: Value,
) -> (Client, ScriptedServer) {
    let version = ProtocolVersion::V2026_07_28;
    let builder = builder.with_versions([version]);
    let (mut script, connecting) = ScriptedServer::listening(builder);
    let connecting = tokio::spawn(connecting);
    script.accept().await;
    let probe = script.expect("server/discover").await;
    let details = json!({"supportedVersions": [version], "capabilities": capabilities});
    script.respond(&probe, details).await;
    let script = script.with_timeout(Duration::from_secs(600));
    (connecting.await.unwrap().unwrap(), script)
}

pub(crate) fn with_events() -> Value {
    json!({"extensions": {"io.modelcontextprotocol/events": {}}})
}

async fn notify(script: &ScriptedServer, id: &Value, notification: &str, mut params: Value) {
    params["_meta"] = json!({SUBSCRIPTION: id});
    let method = format!("notifications/events/{notification}");
    script.notify(&method, params).await;
}

fn occurrence(id: &str, cursor: Option<&str>) -> Value {
    json!({
        "eventId": id, "name": "x", "timestamp": "2026-10-05T12:00:00Z", "data": 1, "cursor": cursor,
    })
}

#[tokio::test(start_paused = true)]
async fn silent_stream_is_opened_again_with_its_cursor() {
    let (client, mut script) = connect(Client::builder("c", "1"), with_events()).await;
    let subscribing = tokio::spawn(client.subscribe_events("x", json!({})).into_future());
    let request = script.expect("events/stream").await;
    assert_eq!(request.params.get("cursor"), None);
    let active = json!({"cursor": "1", "truncated": false});
    notify(&script, &request.id, "active", active).await;
    let mut events = subscribing.await.unwrap().unwrap();
    notify(&script, &request.id, "event", occurrence("a", Some("2"))).await;
    assert_eq!(next_id(&mut events).await, "a");
    for _ in 0..3 {
        // A heartbeat is a message, so the stream is not silent.
        tokio::time::sleep(Duration::from_secs(50)).await;
        notify(&script, &request.id, "heartbeat", json!({"cursor": "3"})).await;
    }
    let before = Instant::now();
    script.expect_notification("notifications/cancelled").await;
    let again = script.expect("events/stream").await;
    assert!(
        before.elapsed() >= Duration::from_secs(60),
        "{:?}",
        before.elapsed()
    );
    assert_eq!(again.params["cursor"], "3");
    // The server repeats an event, reports a gap and a problem.
    let active = json!({"cursor": "3", "truncated": true});
    notify(&script, &again.id, "active", active).await;
    notify(&script, &again.id, "event", occurrence("a", Some("2"))).await;
    let problem = json!({"error": {"code": -32603, "message": "away"}});
    notify(&script, &again.id, "error", problem).await;
    notify(&script, &again.id, "event", occurrence("b", None)).await;
    assert_eq!(within(events.next()).await.unwrap(), Some(EventItem::Gap));
    let failed = within(events.next()).await.unwrap();
    assert!(matches!(failed, Some(EventItem::Failed(_))), "{failed:?}");
    assert_eq!(next_id(&mut events).await, "b");
}

#[tokio::test(start_paused = true)]
async fn lost_stream_of_a_type_without_replay_is_a_gap() {
    let (client, mut script) = connect(Client::builder("c", "1"), with_events()).await;
    let subscribing = tokio::spawn(client.subscribe_events("x", json!({})).into_future());
    let request = script.expect("events/stream").await;
    let active = json!({"cursor": null, "truncated": false});
    notify(&script, &request.id, "active", active.clone()).await;
    let mut events = subscribing.await.unwrap().unwrap();
    let ended = json!({"resultType": "complete", "_meta": {SUBSCRIPTION: request.id}});
    script.respond(&request, ended).await;
    let again = script.expect("events/stream").await;
    notify(&script, &again.id, "active", active).await;
    assert_eq!(within(events.next()).await.unwrap(), Some(EventItem::Gap));
}

#[tokio::test]
async fn events_arrive_over_http() {
    let (server, incidents) = desk();
    let endpoint = Endpoint::serve(&server).await;
    let url = format!("http://{}/mcp", endpoint.address);
    let client = within(Client::connect(&url)).await.unwrap();
    let subscribe = client.subscribe_events("incident.created", json!({}));
    let mut events = within(subscribe.into_future()).await.unwrap();
    for number in 0..300 {
        emit(&incidents, &number.to_string(), 1);
    }
    for number in 0..300 {
        assert_eq!(next_id(&mut events).await, number.to_string());
    }
    drop(events);
    endpoint.wait_for_requests(0).await;
}
