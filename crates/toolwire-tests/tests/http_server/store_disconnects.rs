//! Clients that disconnect while a store is called: what their requests have begun is completed.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::time::{sleep, timeout};
use toolwire::store::contract::{Fault, Faulty};
use toolwire::store::{MemoryBus, MemorySessionStore, SessionStore};
use toolwire::transport::http::{HttpLimits, HttpOptions, HttpService};
use toolwire_tests::http::direct::{InProcessClient, in_session, next_chunk};
use toolwire_tests::http::fixture::{Fixture, HandlerEvent};
use toolwire_tests::http::request::Request;
use toolwire_tests::http::session::{initialize_request, tool_call};
use toolwire_tests::peer::{cancel, legacy};

use crate::store_streams::{Ended, Stream};

const VERSION: &str = "2025-11-25";

/// How long the store takes. It is within its deadline.
const STORE_DELAY: Duration = Duration::from_secs(1);

/// A node of a service with slow connections to the stores.
struct Node {
    fixture: Fixture,
    client: InProcessClient,
    sessions: Arc<Faulty<MemorySessionStore>>,
    bus: Arc<Faulty<MemoryBus>>,
}

impl Node {
    fn new(sessions: &Arc<MemorySessionStore>, bus: &Arc<MemoryBus>) -> Self {
        let mut limits = HttpLimits::default();
        limits.quiet_period = Duration::ZERO;
        let sessions = Arc::new(Faulty::new(Arc::clone(sessions)));
        let bus = Arc::new(Faulty::new(Arc::clone(bus)));
        let options = HttpOptions::new()
            .with_limits(limits)
            .with_session_store(Arc::clone(&sessions) as Arc<dyn SessionStore>)
            .with_bus(bus.clone());
        let fixture = Fixture::new();
        let service = HttpService::new(fixture.server.clone(), options);
        Self {
            client: InProcessClient::new(&service),
            fixture,
            sessions,
            bus,
        }
    }

    async fn open(&self, request: Request) -> Stream {
        let response = self.client.send(request).await;
        assert_eq!(response.status(), 200);
        Stream::new(response.into_body())
    }

    /// Sends a request and disconnects before its response.
    async fn send_and_disconnect(&self, request: Request) {
        let response = timeout(STORE_DELAY / 2, self.client.send(request)).await;
        assert!(response.is_err(), "the store is slow");
    }
}

/// Expects the end of a stream that has sent no message.
async fn expect_end(stream: &mut Stream) {
    loop {
        match stream.next().await {
            Ok(data) => assert_eq!(data, ""),
            Err(end) => return assert_eq!(end, Ended::Complete),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn deleted_session_ends_although_its_client_has_disconnected() {
    let (sessions, bus) = (Arc::default(), Arc::default());
    let mut here = Node::new(&sessions, &bus);
    let there = Node::new(&sessions, &bus);
    let session = here.client.open_session().await;
    let call = in_session(&session, &tool_call(1, "wait", json!({})));
    let mut stream = here.open(call).await;
    here.fixture.expect(HandlerEvent::Started).await;
    let mut at_other_node = there.open(Request::get(&session, VERSION)).await;

    here.sessions.inject("delete", Fault::Slow(STORE_DELAY), 1);
    here.send_and_disconnect(Request::delete(&session, VERSION))
        .await;
    here.fixture.expect(HandlerEvent::Dropped).await;
    expect_end(&mut stream).await;
    expect_end(&mut at_other_node).await;
    assert_eq!(here.client.ping(&session).await, 404);
}

#[tokio::test(start_paused = true)]
async fn stored_change_of_a_session_is_published_although_its_client_has_disconnected() {
    let (sessions, bus) = (Arc::default(), Arc::default());
    let here = Node::new(&sessions, &bus);
    let there = Node::new(&sessions, &bus);
    let session = here.client.open_session().await;
    let stream = there.client.send(Request::get(&session, VERSION)).await;
    let mut stream = Box::pin(stream.into_body());

    here.bus.inject("publish_all", Fault::Slow(STORE_DELAY), 1);
    let subscribe = legacy(1, "resources/subscribe", json!({"uri": "notes://a"}));
    here.send_and_disconnect(in_session(&session, &subscribe))
        .await;
    sleep(STORE_DELAY).await;
    there.fixture.server.resource_updated("notes://a");
    // This change is sent in any case.
    there.fixture.server.tools_changed();
    loop {
        let chunk = next_chunk(&mut stream).await.expect("an open stream");
        if chunk.contains("notifications/") {
            assert!(chunk.contains("notifications/resources/updated"), "{chunk}");
            return;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn requests_of_a_batch_go_on_although_its_client_has_disconnected() {
    let (sessions, bus) = (Arc::default(), Arc::default());
    let mut node = Node::new(&sessions, &bus);
    let opened = node.client.request(initialize_request("2025-03-26")).await;
    let session = opened.session.expect("a session is opened");
    node.bus.inject("publish_all", Fault::Slow(STORE_DELAY), 1);
    let batch = json!([tool_call(1, "wait", json!({})), cancel(7)]);
    let request = Request::post(&batch).in_session(&session, "2025-03-26");
    node.send_and_disconnect(request).await;
    node.fixture.expect(HandlerEvent::Started).await;
    node.fixture.step();
    node.fixture.step();
    node.fixture.expect(HandlerEvent::Finished).await;
}
