//! Two nodes that share their stores: each node serves any request.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use toolwire::store::{MemoryBus, MemoryEventLog, MemoryMailboxes, MemorySessionStore};
use toolwire::transport::http::{HttpLimits, HttpOptions};
use toolwire_tests::http::endpoint::Endpoint;
use toolwire_tests::http::events::{End, Events};
use toolwire_tests::http::fixture::{Fixture, HandlerEvent, count_call};
use toolwire_tests::http::request::Request;
use toolwire_tests::http::session::{Session, tool_call, tool_call_with_token};
use toolwire_tests::peer::{cancel, legacy, modern, result_response, text};

/// Two nodes of one service.
struct Cluster {
    a: Endpoint,
    b: Endpoint,
    at_a: Fixture,
    at_b: Fixture,
}

impl Cluster {
    async fn new() -> Self {
        let mut limits = HttpLimits::default();
        limits.quiet_period = Duration::ZERO;
        let options = HttpOptions::new()
            .with_limits(limits)
            .with_session_store(Arc::new(MemorySessionStore::default()))
            .with_event_log(Arc::new(MemoryEventLog::default()))
            .with_bus(Arc::new(MemoryBus::default()))
            .with_mailboxes(Arc::new(MemoryMailboxes::default()));
        let (at_a, at_b) = (Fixture::new(), Fixture::new());
        let cluster = Self {
            a: Endpoint::serve_with(&at_a.server, options.clone()).await,
            b: Endpoint::serve_with(&at_b.server, options).await,
            at_a,
            at_b,
        };
        // A node subscribes to the bus on its first request.
        cluster.a.call(count_call(1)).await;
        cluster.b.call(count_call(1)).await;
        cluster
    }
}

fn method(message: &Value) -> &str {
    message["method"].as_str().expect("a notification")
}

async fn skip_priming(events: &mut Events) -> String {
    let priming = events.next().await.unwrap();
    assert_eq!(priming.data, "");
    priming.id.expect("an event id")
}

#[tokio::test]
async fn session_of_one_node_is_served_by_the_other() {
    let cluster = Cluster::new().await;
    let at_a = Session::initialize(&cluster.a, "2025-11-25").await;
    let at_b = at_a.at(&cluster.b);
    at_b.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        .await;
    for session in [&at_a, &at_b, &at_a] {
        let counted = session.call(tool_call(1, "count", json!({"n": 1}))).await;
        assert_eq!(counted, result_response(1, text("counted")));
    }
    assert_eq!((cluster.at_a.runs(), cluster.at_b.runs()), (1 + 2, 1 + 1));
    // A subscription at one node applies to the other.
    let subscribe = legacy(1, "resources/subscribe", json!({"uri": "notes://a"}));
    at_a.call(subscribe).await;
    let mut events = at_b.listen().await;
    skip_priming(&mut events).await;
    cluster.at_b.server.resource_updated("notes://a");
    assert_eq!(
        method(&events.message().await),
        "notifications/resources/updated"
    );
}

#[tokio::test]
async fn session_changes_of_a_batch_reach_the_other_node() {
    let cluster = Cluster::new().await;
    let at_a = Session::open(&cluster.a, "2025-03-26").await;
    // Both nodes have cached the session, so only its record can inform the other node.
    let at_b = at_a.at(&cluster.b);
    at_b.call(legacy(1, "ping", json!({}))).await;
    let subscribe = legacy(1, "resources/subscribe", json!({"uri": "notes://a"}));
    let set_level = legacy(2, "logging/setLevel", json!({"level": "error"}));
    let responses = at_a.call(json!([subscribe, set_level])).await;
    assert_eq!(
        responses,
        json!([result_response(1, json!({})), result_response(2, json!({}))])
    );
    let mut events = at_b.listen().await;
    cluster.at_b.server.resource_updated("notes://a");
    // This change is sent in any case.
    cluster.at_b.server.tools_changed();
    assert_eq!(
        method(&events.message().await),
        "notifications/resources/updated"
    );
}

#[tokio::test]
async fn client_response_reaches_the_node_that_sent_the_request() {
    let cluster = Cluster::new().await;
    let at_a = Session::open(&cluster.a, "2025-11-25").await;
    let at_b = at_a.at(&cluster.b);
    let mut events = at_a.stream(&tool_call(1, "ask", json!({}))).await;
    skip_priming(&mut events).await;
    let input_request = events.message().await;
    let result = json!({"action": "accept", "content": {"name": "Ada"}});
    at_b.send(result_response(input_request["id"].clone(), result))
        .await;
    let last = events.message().await;
    assert!(last.to_string().contains("Ada"), "{last}");
    events.expect_end().await;
    cluster.a.wait_until_idle().await;
    cluster.b.wait_until_idle().await;
}

#[tokio::test]
async fn requests_of_two_nodes_get_their_own_responses() {
    let cluster = Cluster::new().await;
    let at_a = Session::open(&cluster.a, "2025-11-25").await;
    let at_b = at_a.at(&cluster.b);
    let mut of_a = at_a.stream(&tool_call(1, "ask", json!({}))).await;
    let mut of_b = at_b.stream(&tool_call(2, "ask", json!({}))).await;
    skip_priming(&mut of_a).await;
    skip_priming(&mut of_b).await;
    let (asked_by_a, asked_by_b) = (of_a.message().await, of_b.message().await);
    assert_ne!(asked_by_a["id"], asked_by_b["id"]);
    let respond_to = |input_request: &Value, name: &str| {
        let result = json!({"action": "accept", "content": {"name": name}});
        result_response(input_request["id"].clone(), result)
    };
    // Each response is sent to the other node.
    at_b.send(respond_to(&asked_by_a, "Ada")).await;
    at_a.send(respond_to(&asked_by_b, "Bob")).await;
    assert!(of_a.message().await.to_string().contains("Ada"));
    assert!(of_b.message().await.to_string().contains("Bob"));
}

#[tokio::test]
async fn cancellation_reaches_the_node_that_runs_the_request() {
    let mut cluster = Cluster::new().await;
    let at_a = Session::open(&cluster.a, "2025-11-25").await;
    let mut events = at_a.stream(&tool_call(1, "wait", json!({}))).await;
    skip_priming(&mut events).await;
    cluster.at_a.expect(HandlerEvent::Started).await;
    let other_session = Session::open(&cluster.b, "2025-11-25").await;
    other_session.send(cancel(1)).await;
    at_a.at(&cluster.b).send(cancel(1)).await;
    cluster.at_a.expect(HandlerEvent::Dropped).await;
    assert_eq!(events.next().await, Err(End::Complete));
    cluster.a.wait_until_idle().await;
}

#[tokio::test]
async fn interrupted_stream_resumes_at_the_other_node() {
    let mut cluster = Cluster::new().await;
    let at_a = Session::open(&cluster.a, "2025-11-25").await;
    let at_b = at_a.at(&cluster.b);
    let request = tool_call_with_token(1, "wait", "t");
    let mut events = at_a.stream(&request).await;
    skip_priming(&mut events).await;
    cluster.at_a.expect(HandlerEvent::Started).await;
    cluster.at_a.step();
    assert_eq!(events.message().await["params"]["progress"], 1);
    let last = events.last_id.clone().expect("an event id");
    events.disconnect();
    let mut events = at_b.resume(&last).await;
    cluster.at_a.step();
    assert_eq!(events.message().await["params"]["progress"], 2);
    events.expect(result_response(1, text("waited"))).await;
    events.expect_end().await;
    cluster.a.wait_until_idle().await;
    cluster.b.wait_until_idle().await;
}

#[tokio::test]
async fn change_at_one_node_reaches_listeners_at_the_other() {
    let cluster = Cluster::new().await;
    let filter = json!({"toolsListChanged": true, "resourceSubscriptions": ["notes://a"]});
    let listen = modern(1, "subscriptions/listen", json!({"notifications": filter}));
    let mut subscription = cluster.b.open(&Request::modern(&listen)).await;
    subscription.message().await;
    let session = Session::open(&cluster.b, "2025-11-25").await;
    let mut pushed = session.listen().await;
    skip_priming(&mut pushed).await;

    cluster.at_a.server.tools_changed();
    assert_eq!(
        method(&subscription.message().await),
        "notifications/tools/list_changed"
    );
    assert_eq!(
        method(&pushed.message().await),
        "notifications/tools/list_changed"
    );
    cluster.at_a.server.prompts_changed();
    cluster.at_a.server.resource_updated("notes://a");
    assert_eq!(
        method(&subscription.message().await),
        "notifications/resources/updated"
    );
    assert_eq!(
        method(&pushed.message().await),
        "notifications/prompts/list_changed"
    );
    // Each change is sent once: the next message is about the next change.
    cluster.at_b.server.tools_changed();
    assert_eq!(
        method(&subscription.message().await),
        "notifications/tools/list_changed"
    );
    assert_eq!(
        method(&pushed.message().await),
        "notifications/tools/list_changed"
    );
}

#[tokio::test]
async fn subscription_at_one_node_reaches_the_stream_at_the_other() {
    let cluster = Cluster::new().await;
    let at_a = Session::open(&cluster.a, "2025-11-25").await;
    let mut pushed = at_a.at(&cluster.b).listen().await;
    skip_priming(&mut pushed).await;
    let uri = json!({"uri": "notes://a"});
    at_a.call(legacy(1, "resources/subscribe", uri.clone()))
        .await;
    cluster.at_a.server.resource_updated("notes://a");
    assert_eq!(
        method(&pushed.message().await),
        "notifications/resources/updated"
    );
    at_a.call(legacy(2, "resources/unsubscribe", uri)).await;
    cluster.at_a.server.resource_updated("notes://a");
    cluster.at_a.server.tools_changed();
    assert_eq!(
        method(&pushed.message().await),
        "notifications/tools/list_changed"
    );
}

#[tokio::test]
async fn change_at_a_node_without_requests_reaches_the_other_node() {
    let options = HttpOptions::new().with_bus(Arc::new(MemoryBus::default()));
    let (at_a, at_b) = (Fixture::new(), Fixture::new());
    let _a = Endpoint::serve_with(&at_a.server, options.clone()).await;
    let b = Endpoint::serve_with(&at_b.server, options).await;
    let filter = json!({"toolsListChanged": true});
    let listen = modern(1, "subscriptions/listen", json!({"notifications": filter}));
    let mut subscription = b.open(&Request::modern(&listen)).await;
    subscription.message().await;
    at_a.server.tools_changed();
    let received = tokio::time::timeout(Duration::from_secs(3), subscription.message()).await;
    assert_eq!(
        method(&received.unwrap()),
        "notifications/tools/list_changed"
    );
}

#[tokio::test]
async fn server_stream_resumes_at_the_other_node() {
    let cluster = Cluster::new().await;
    let at_a = Session::open(&cluster.a, "2025-11-25").await;
    let mut events = at_a.listen().await;
    skip_priming(&mut events).await;
    cluster.at_a.server.tools_changed();
    assert_eq!(
        method(&events.message().await),
        "notifications/tools/list_changed"
    );
    let last = events.last_id.clone().expect("an event id");
    events.disconnect();
    let mut events = at_a.at(&cluster.b).resume(&last).await;
    // Changes are not stored, so the client is notified of everything once.
    let mut resynced = Vec::new();
    for _ in 0..3 {
        resynced.push(method(&events.message().await).to_owned());
    }
    resynced.sort();
    assert_eq!(
        resynced,
        [
            "notifications/prompts/list_changed",
            "notifications/resources/list_changed",
            "notifications/tools/list_changed",
        ]
    );
    // Both nodes receive the change, and the client receives it once.
    cluster.at_a.server.prompts_changed();
    assert_eq!(
        method(&events.message().await),
        "notifications/prompts/list_changed"
    );
    cluster.at_b.server.resources_changed();
    assert_eq!(
        method(&events.message().await),
        "notifications/resources/list_changed"
    );
    cluster.at_a.server.tools_changed();
    assert_eq!(
        method(&events.message().await),
        "notifications/tools/list_changed"
    );
}

#[tokio::test]
async fn session_that_ends_at_one_node_ends_at_the_other() {
    let mut cluster = Cluster::new().await;
    let at_a = Session::open(&cluster.a, "2025-11-25").await;
    let mut events = at_a.stream(&tool_call(1, "wait", json!({}))).await;
    skip_priming(&mut events).await;
    cluster.at_a.expect(HandlerEvent::Started).await;
    let mut pushed = at_a.listen().await;
    skip_priming(&mut pushed).await;
    assert_eq!(at_a.at(&cluster.b).end().await.status(), 204);
    cluster.at_a.expect(HandlerEvent::Dropped).await;
    assert_eq!(events.next().await, Err(End::Complete));
    assert_eq!(pushed.next().await, Err(End::Complete));
    let rejected = at_a.post(&legacy(2, "ping", json!({}))).await;
    assert_eq!(rejected.status(), 404);
    cluster.a.wait_until_idle().await;
    cluster.b.wait_until_idle().await;
}
