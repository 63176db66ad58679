//! A node that shuts down while calls of sessions run: what can end does, and clients of the others need not wait.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use toolwire::store::{
    Bus, BusDelivery, BusMessage, BusPayload, BusSubscription, MemoryBus, MemoryEventLog,
    MemoryMailboxes, MemorySessionStore, StoreError,
};
use toolwire::transport::http::{HttpLimits, HttpOptions};
use toolwire::{BoxFuture, Change};
use toolwire_tests::http::endpoint::Endpoint;
use toolwire_tests::http::events::Events;
use toolwire_tests::http::fixture::{Fixture, HandlerEvent, count_call};
use toolwire_tests::http::session::{Session, tool_call, tool_call_with_token};
use toolwire_tests::peer::result_response;

/// Two nodes of one service. The first one shuts down.
struct Cluster {
    a: Endpoint,
    b: Endpoint,
    at_a: Fixture,
}

impl Cluster {
    async fn new(drain: Duration) -> Self {
        let mut limits = HttpLimits::default();
        limits.quiet_period = Duration::ZERO;
        limits.drain = drain;
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
        };
        cluster.a.call(count_call(1)).await;
        cluster.b.call(count_call(1)).await;
        cluster
    }
}

/// Calls a tool, and returns its stream after the first event, which has no message.
async fn start(session: &Session, call: &Value) -> Events {
    let mut events = session.stream(call).await;
    assert_eq!(events.next().await.unwrap().data, "");
    events
}

#[tokio::test]
async fn response_of_a_client_reaches_a_node_that_shuts_down() {
    let cluster = Cluster::new(Duration::from_secs(3600)).await;
    let session = Session::open(&cluster.a, "2025-11-25").await;
    let mut events = start(&session, &tool_call(1, "ask", json!({}))).await;
    let request = events.message().await;
    cluster.at_a.server.shutdown();
    cluster.a.expect_no_more_connections().await;
    let result = json!({"action": "accept", "content": {"name": "Ada"}});
    let response = result_response(request["id"].clone(), result);
    session.at(&cluster.b).send(response).await;
    let last = events.message().await.to_string();
    assert!(last.contains("Ada"), "{last}");
    cluster.a.end().await;
}

#[tokio::test]
async fn request_to_a_client_fails_before_its_node_stops() {
    let cluster = Cluster::new(Duration::from_millis(300)).await;
    let session = Session::open(&cluster.a, "2025-11-25").await;
    let mut events = start(&session, &tool_call(1, "ask", json!({}))).await;
    events.message().await;
    let ending = cluster.a.end();
    let (cancelled, ()) = tokio::join!(events.message(), ending);
    assert_eq!(cancelled["method"], "notifications/cancelled");
    let last = events.message().await;
    assert_eq!(last["id"], 1, "{last}");
    assert_eq!(last["error"]["code"], -32603, "{last}");
}

#[tokio::test]
async fn call_that_does_not_end_in_time_ends_with_an_error_at_each_node() {
    let mut cluster = Cluster::new(Duration::from_millis(300)).await;
    let session = Session::open(&cluster.a, "2025-11-25").await;
    let mut moved = start(&session, &tool_call_with_token(1, "wait", "t")).await;
    cluster.at_a.expect(HandlerEvent::Started).await;
    cluster.at_a.step();
    assert_eq!(moved.message().await["params"]["progress"], 1);
    let last = moved.last_id.clone().expect("an event id");
    moved.disconnect();
    let mut moved = session.at(&cluster.b).resume(&last).await;
    let mut stayed = start(&session, &tool_call(2, "wait", json!({}))).await;
    cluster.at_a.expect(HandlerEvent::Started).await;

    let ending = cluster.a.end();
    let (moved, stayed, ()) = tokio::join!(moved.message(), stayed.message(), ending);
    for (id, last) in [(1, moved), (2, stayed)] {
        assert_eq!(last["id"], id, "{last}");
        assert_eq!(last["error"]["code"], -32603, "{last}");
    }
    for _ in 0..2 {
        cluster.at_a.expect(HandlerEvent::Dropped).await;
    }
}

/// A bus that takes long to publish.
#[derive(Debug, Default)]
struct SlowBus(MemoryBus);

impl Bus for SlowBus {
    fn publish_all<'a>(
        &'a self,
        messages: &'a [BusMessage],
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(200)).await;
            self.0.publish_all(messages).await
        })
    }

    fn subscribe(&self) -> BoxFuture<'_, Result<Box<dyn BusSubscription>, StoreError>> {
        self.0.subscribe()
    }
}

#[tokio::test]
async fn last_changes_are_published_before_a_node_stops() {
    let bus = Arc::new(SlowBus::default());
    let fixture = Fixture::new();
    let options = HttpOptions::new().with_bus(Arc::clone(&bus) as Arc<dyn Bus>);
    let node = Endpoint::serve_with(&fixture.server, options).await;
    node.call(count_call(1)).await;
    let mut other_node = bus.subscribe().await.unwrap();
    fixture.server.resource_updated("demo://counter");
    node.end().await;
    let published = tokio::time::timeout(Duration::ZERO, other_node.next()).await;
    let Ok(Some(BusDelivery::Message(message))) = published else {
        panic!("{published:?}");
    };
    let BusPayload::Change(change) = message.payload else {
        panic!("{message:?}");
    };
    assert_eq!(change, Change::ResourceUpdated("demo://counter".to_owned()));
}
