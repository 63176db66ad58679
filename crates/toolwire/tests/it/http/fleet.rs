//! Two nodes that share their stores: any of them serves any request.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use toolwire::store::{MemoryBus, MemoryEventLog, MemorySessionStore};
use toolwire::transport::http::{HttpLimits, HttpOptions};

use crate::http::endpoint::Endpoint;
use crate::http::events::{End, Events};
use crate::http::request::Request;
use crate::http::session::{Session, tool_call, tool_call_with_token};
use crate::http::stage::{Happening, Stage, count_call};
use crate::peer::{answer, cancel, legacy, modern, text};

/// Two nodes.
struct Fleet {
    a: Endpoint,
    b: Endpoint,
    at_a: Stage,
    at_b: Stage,
}

impl Fleet {
    async fn new() -> Self {
        let mut limits = HttpLimits::default();
        limits.quiet_period = Duration::ZERO;
        let options = HttpOptions::new()
            .with_limits(limits)
            .with_session_store(Arc::new(MemorySessionStore::default()))
            .with_event_log(Arc::new(MemoryEventLog::default()))
            .with_bus(Arc::new(MemoryBus::default()));
        let (at_a, at_b) = (Stage::new(), Stage::new());
        let fleet = Self {
            a: Endpoint::serve_with(&at_a.server, options.clone()).await,
            b: Endpoint::serve_with(&at_b.server, options).await,
            at_a,
            at_b,
        };
        // Both have served something, so both have joined.
        fleet.a.call(count_call(1)).await;
        fleet.b.call(count_call(1)).await;
        fleet
    }
}

fn method(message: &Value) -> &str {
    message["method"].as_str().expect("a notification")
}

async fn skip_priming(events: &mut Events) -> String {
    let priming = events.next().await.unwrap();
    assert_eq!(priming.data, "");
    priming.id.expect("an id to come back with")
}

#[tokio::test]
async fn a_session_of_one_node_continues_on_the_other() {
    let fleet = Fleet::new().await;
    let at_a = Session::initialize(&fleet.a, "2025-11-25").await;
    let at_b = at_a.at(&fleet.b);
    at_b.tell(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        .await;
    for session in [&at_a, &at_b, &at_a] {
        let counted = session.call(tool_call(1, "count", json!({"n": 1}))).await;
        assert_eq!(counted, answer(1, text("counted")));
    }
    assert_eq!((fleet.at_a.runs(), fleet.at_b.runs()), (1 + 2, 1 + 1));
    // What one node learns the other knows.
    let subscribe = legacy(1, "resources/subscribe", json!({"uri": "notes://a"}));
    at_a.call(subscribe).await;
    let mut events = at_b.listen().await;
    skip_priming(&mut events).await;
    fleet.at_b.server.resource_updated("notes://a");
    assert_eq!(
        method(&events.message().await),
        "notifications/resources/updated"
    );
}

#[tokio::test]
async fn what_a_batch_changes_the_other_node_knows() {
    let fleet = Fleet::new().await;
    let at_a = Session::open(&fleet.a, "2025-03-26").await;
    // Both have the session at hand, so that only its record tells the other.
    let at_b = at_a.at(&fleet.b);
    at_b.call(legacy(1, "ping", json!({}))).await;
    let subscribe = legacy(1, "resources/subscribe", json!({"uri": "notes://a"}));
    let set_level = legacy(2, "logging/setLevel", json!({"level": "error"}));
    let answers = at_a.call(json!([subscribe, set_level])).await;
    assert_eq!(answers, json!([answer(1, json!({})), answer(2, json!({}))]));
    let mut events = at_b.listen().await;
    fleet.at_b.server.resource_updated("notes://a");
    // Which comes next in any case.
    fleet.at_b.server.tools_changed();
    assert_eq!(
        method(&events.message().await),
        "notifications/resources/updated"
    );
}

#[tokio::test]
async fn a_question_of_one_node_is_answered_at_the_other() {
    let fleet = Fleet::new().await;
    let at_a = Session::open(&fleet.a, "2025-11-25").await;
    let at_b = at_a.at(&fleet.b);
    let mut events = at_a.stream(&tool_call(1, "ask", json!({}))).await;
    skip_priming(&mut events).await;
    let question = events.message().await;
    let result = json!({"action": "accept", "content": {"name": "Ada"}});
    at_b.tell(answer(question["id"].clone(), result)).await;
    let last = events.message().await;
    assert!(last.to_string().contains("Ada"), "{last}");
    events.expect_end().await;
    fleet.a.idle().await;
    fleet.b.idle().await;
}

#[tokio::test]
async fn questions_of_two_nodes_are_not_mixed_up() {
    let fleet = Fleet::new().await;
    let at_a = Session::open(&fleet.a, "2025-11-25").await;
    let at_b = at_a.at(&fleet.b);
    let mut of_a = at_a.stream(&tool_call(1, "ask", json!({}))).await;
    let mut of_b = at_b.stream(&tool_call(2, "ask", json!({}))).await;
    skip_priming(&mut of_a).await;
    skip_priming(&mut of_b).await;
    let (asked_by_a, asked_by_b) = (of_a.message().await, of_b.message().await);
    assert_ne!(asked_by_a["id"], asked_by_b["id"]);
    let reply = |question: &Value, name: &str| {
        let result = json!({"action": "accept", "content": {"name": name}});
        answer(question["id"].clone(), result)
    };
    // Each answer goes to the node that did not ask.
    at_b.tell(reply(&asked_by_a, "Ada")).await;
    at_a.tell(reply(&asked_by_b, "Bob")).await;
    assert!(of_a.message().await.to_string().contains("Ada"));
    assert!(of_b.message().await.to_string().contains("Bob"));
}

#[tokio::test]
async fn a_cancellation_reaches_the_node_that_works() {
    let mut fleet = Fleet::new().await;
    let at_a = Session::open(&fleet.a, "2025-11-25").await;
    let mut events = at_a.stream(&tool_call(1, "wait", json!({}))).await;
    skip_priming(&mut events).await;
    fleet.at_a.expect(Happening::Started).await;
    let stranger = Session::open(&fleet.b, "2025-11-25").await;
    stranger.tell(cancel(1)).await;
    at_a.at(&fleet.b).tell(cancel(1)).await;
    fleet.at_a.expect(Happening::Dropped).await;
    assert_eq!(events.next().await, Err(End::Complete));
    fleet.a.idle().await;
}

#[tokio::test]
async fn a_stream_that_was_cut_resumes_at_the_other_node() {
    let mut fleet = Fleet::new().await;
    let at_a = Session::open(&fleet.a, "2025-11-25").await;
    let at_b = at_a.at(&fleet.b);
    let request = tool_call_with_token(1, "wait", "t");
    let mut events = at_a.stream(&request).await;
    skip_priming(&mut events).await;
    fleet.at_a.expect(Happening::Started).await;
    fleet.at_a.step();
    assert_eq!(events.message().await["params"]["progress"], 1);
    let last = events.last_id.clone().expect("an id to come back with");
    events.cut();
    let mut events = at_b.resume(&last).await;
    fleet.at_a.step();
    assert_eq!(events.message().await["params"]["progress"], 2);
    events.expect(answer(1, text("waited"))).await;
    events.expect_end().await;
    fleet.a.idle().await;
    fleet.b.idle().await;
}

#[tokio::test]
async fn a_change_at_one_node_is_heard_at_the_other() {
    let fleet = Fleet::new().await;
    let filter = json!({"toolsListChanged": true, "resourceSubscriptions": ["notes://a"]});
    let listen = modern(1, "subscriptions/listen", json!({"notifications": filter}));
    let mut listening = fleet.b.open(&Request::modern(&listen)).await;
    listening.message().await;
    let session = Session::open(&fleet.b, "2025-11-25").await;
    let mut pushed = session.listen().await;
    skip_priming(&mut pushed).await;

    fleet.at_a.server.tools_changed();
    assert_eq!(
        method(&listening.message().await),
        "notifications/tools/list_changed"
    );
    assert_eq!(
        method(&pushed.message().await),
        "notifications/tools/list_changed"
    );
    fleet.at_a.server.prompts_changed();
    fleet.at_a.server.resource_updated("notes://a");
    assert_eq!(
        method(&listening.message().await),
        "notifications/resources/updated"
    );
    assert_eq!(
        method(&pushed.message().await),
        "notifications/prompts/list_changed"
    );
    // And once only: the next message is about the next change.
    fleet.at_b.server.tools_changed();
    assert_eq!(
        method(&listening.message().await),
        "notifications/tools/list_changed"
    );
    assert_eq!(
        method(&pushed.message().await),
        "notifications/tools/list_changed"
    );
}

#[tokio::test]
async fn a_node_that_served_nothing_yet_is_heard_too() {
    let options = HttpOptions::new().with_bus(Arc::new(MemoryBus::default()));
    let (at_a, at_b) = (Stage::new(), Stage::new());
    let _a = Endpoint::serve_with(&at_a.server, options.clone()).await;
    let b = Endpoint::serve_with(&at_b.server, options).await;
    let filter = json!({"toolsListChanged": true});
    let listen = modern(1, "subscriptions/listen", json!({"notifications": filter}));
    let mut listening = b.open(&Request::modern(&listen)).await;
    listening.message().await;
    at_a.server.tools_changed();
    let heard = tokio::time::timeout(Duration::from_secs(3), listening.message()).await;
    assert_eq!(method(&heard.unwrap()), "notifications/tools/list_changed");
}

#[tokio::test]
async fn a_pushed_stream_moves_with_its_reader() {
    let fleet = Fleet::new().await;
    let at_a = Session::open(&fleet.a, "2025-11-25").await;
    let mut events = at_a.listen().await;
    skip_priming(&mut events).await;
    fleet.at_a.server.tools_changed();
    assert_eq!(
        method(&events.message().await),
        "notifications/tools/list_changed"
    );
    let last = events.last_id.clone().expect("an id to come back with");
    events.cut();
    let mut events = at_a.at(&fleet.b).resume(&last).await;
    // Both nodes hear of it; the client hears it once.
    fleet.at_a.server.prompts_changed();
    assert_eq!(
        method(&events.message().await),
        "notifications/prompts/list_changed"
    );
    fleet.at_b.server.resources_changed();
    assert_eq!(
        method(&events.message().await),
        "notifications/resources/list_changed"
    );
    fleet.at_a.server.tools_changed();
    assert_eq!(
        method(&events.message().await),
        "notifications/tools/list_changed"
    );
}

#[tokio::test]
async fn a_session_that_ends_at_one_node_ends_at_the_other() {
    let mut fleet = Fleet::new().await;
    let at_a = Session::open(&fleet.a, "2025-11-25").await;
    let mut events = at_a.stream(&tool_call(1, "wait", json!({}))).await;
    skip_priming(&mut events).await;
    fleet.at_a.expect(Happening::Started).await;
    let mut pushed = at_a.listen().await;
    skip_priming(&mut pushed).await;
    assert_eq!(at_a.at(&fleet.b).end().await.status(), 204);
    fleet.at_a.expect(Happening::Dropped).await;
    assert_eq!(events.next().await, Err(End::Complete));
    assert_eq!(pushed.next().await, Err(End::Complete));
    let gone = at_a.post(&legacy(2, "ping", json!({}))).await;
    assert_eq!(gone.status(), 404);
    fleet.a.idle().await;
    fleet.b.idle().await;
}
