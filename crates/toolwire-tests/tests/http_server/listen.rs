//! `subscriptions/listen` over HTTP.

use serde_json::{Value, json};
use toolwire::transport::http::{HttpLimits, HttpLoad};
use toolwire_tests::http::endpoint::Endpoint;
use toolwire_tests::http::events::Events;
use toolwire_tests::http::fixture::Fixture;
use toolwire_tests::http::request::Request;
use toolwire_tests::peer::{modern, notification};

const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

fn listen(id: impl Into<Value>, filter: Value) -> Request {
    let message = modern(id, "subscriptions/listen", json!({"notifications": filter}));
    Request::modern(&message)
}

fn acknowledged(id: impl Into<Value>, accepted: Value) -> Value {
    notification(
        "notifications/subscriptions/acknowledged",
        json!({"notifications": accepted, "_meta": {SUBSCRIPTION: id.into()}}),
    )
}

fn changed(id: impl Into<Value>, list: &str) -> Value {
    notification(
        &format!("notifications/{list}/list_changed"),
        json!({"_meta": {SUBSCRIPTION: id.into()}}),
    )
}

fn updated(id: impl Into<Value>, uri: &str) -> Value {
    notification(
        "notifications/resources/updated",
        json!({"uri": uri, "_meta": {SUBSCRIPTION: id.into()}}),
    )
}

fn streams(streams: usize) -> HttpLoad {
    let mut load = HttpLoad::default();
    load.streams = streams;
    load
}

async fn open(endpoint: &Endpoint, id: Value, filter: Value) -> Events {
    let mut events = endpoint.open(&listen(id.clone(), filter.clone())).await;
    events.expect(acknowledged(id, filter)).await;
    events
}

#[tokio::test]
async fn subscription_gets_only_matching_changes_and_its_id_keeps_its_type() {
    let fixture = Fixture::new();
    let endpoint = Endpoint::serve(&fixture.server).await;
    let tools = json!({"toolsListChanged": true});
    let note = json!({"resourceSubscriptions": ["notes://a"]});
    // Many streams of one client, two of them with the same id.
    let mut number = open(&endpoint, json!(1), tools.clone()).await;
    let mut string = open(&endpoint, json!("1"), tools.clone()).await;
    let mut again = open(&endpoint, json!(1), tools).await;
    let mut notes = open(&endpoint, json!(1), note).await;
    assert_eq!(endpoint.counts(), streams(4));
    assert_eq!(fixture.server.prompts_changed(), 0);
    assert_eq!(fixture.server.resource_updated("notes://b"), 0);
    assert_eq!(fixture.server.resource_updated("notes://a"), 1);
    assert_eq!(fixture.server.tools_changed(), 3);
    number.expect(changed(1, "tools")).await;
    string.expect(changed("1", "tools")).await;
    again.expect(changed(1, "tools")).await;
    notes.expect(updated(1, "notes://a")).await;

    // Closing one stream does not affect the others.
    number.disconnect();
    endpoint.wait_for_load(streams(3)).await;
    assert_eq!(fixture.server.tools_changed(), 2);
    again.expect(changed(1, "tools")).await;
}

#[tokio::test]
async fn acknowledgement_lists_the_accepted_filter() {
    let fixture = Fixture::new();
    let endpoint = Endpoint::serve(&fixture.server).await;
    let everything = json!({
        "toolsListChanged": true,
        "promptsListChanged": true,
        "resourcesListChanged": true,
        "resourceSubscriptions": ["notes://a", "notes://a"],
        "unknownMember": true,
    });
    let mut events = endpoint.open(&listen("s", everything)).await;
    assert_eq!(events.headers.header("x-accel-buffering"), Some("no"));
    let accepted = json!({
        "toolsListChanged": true,
        "promptsListChanged": true,
        "resourcesListChanged": true,
        "resourceSubscriptions": ["notes://a"],
    });
    events.expect(acknowledged("s", accepted)).await;
}

#[tokio::test]
async fn shutdown_ends_a_stream_with_its_result() {
    let fixture = Fixture::new();
    let endpoint = Endpoint::serve(&fixture.server).await;
    let tools = json!({"toolsListChanged": true});
    let mut events = open(&endpoint, json!("s"), tools).await;
    fixture.server.tools_changed();
    let service = endpoint.service.clone();
    let ended = tokio::spawn(endpoint.end());
    events.expect(changed("s", "tools")).await;
    let last = events.message().await;
    assert_eq!(last["id"], "s", "{last}");
    assert_eq!(last["result"]["resultType"], "complete", "{last}");
    assert_eq!(last["result"]["_meta"][SUBSCRIPTION], "s", "{last}");
    events.expect_end().await.expect_close().await;
    ended.await.unwrap();
    assert_eq!(service.load(), HttpLoad::default());
}

#[tokio::test]
async fn slow_reader_gets_each_pending_change_once() {
    let fixture = Fixture::new();
    let mut limits = HttpLimits::default();
    limits.queued_messages = 4;
    let endpoint = Endpoint::serve_within(&fixture.server, limits).await;
    let filter = json!({
        "toolsListChanged": true,
        "resourceSubscriptions": ["notes://a", "notes://b"],
    });
    let mut events = open(&endpoint, json!(1), filter).await;
    // The server does not run before the next await, so all changes are queued.
    for _ in 0..1000 {
        fixture.server.tools_changed();
        fixture.server.resource_updated("notes://a");
        fixture.server.resource_updated("notes://b");
    }
    let mut received = Vec::new();
    for _ in 0..3 {
        received.push(events.message().await);
    }
    for expected in [
        changed(1, "tools"),
        updated(1, "notes://a"),
        updated(1, "notes://b"),
    ] {
        assert!(received.contains(&expected), "{received:?}");
    }
    fixture.server.prompts_changed();
    fixture.server.tools_changed();
    events.expect(changed(1, "tools")).await;
}

#[tokio::test]
async fn shutdown_closes_connections_and_rejects_new_ones() {
    let fixture = Fixture::new();
    let endpoint = Endpoint::serve(&fixture.server).await;
    let mut connection = endpoint.connect().await;
    let request = Request::modern(&toolwire_tests::http::fixture::count_call(1));
    connection.send(request.bytes()).await;
    assert_eq!(connection.response().await.status(), 200);
    let address = endpoint.address;
    endpoint.end().await;
    connection.expect_close().await;
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
    assert_eq!(fixture.runs(), 1);
}
