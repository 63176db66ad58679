//! Cancellations that reach another node than the one that runs the request, although the bus loses messages and some
//! clients use an id for several requests.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use toolwire::store::contract::{Fault, Faulty};
use toolwire::store::{MemoryBus, MemoryEventLog, MemorySessionStore};
use toolwire::transport::http::{HttpLimits, HttpOptions, HttpService};
use toolwire_tests::http::direct::{InProcessClient, in_session};
use toolwire_tests::http::fixture::{Fixture, HandlerEvent};
use toolwire_tests::http::request::Request;
use toolwire_tests::http::session::tool_call;
use toolwire_tests::peer::{cancel, result_response, text};

use crate::store_streams::{Ended, Stream};

/// How long a cancellation waits for its request.
const REQUEST_DELAY: Duration = Duration::from_secs(3);

/// Longer than two intervals in which lost messages are reported.
const SOON: Duration = Duration::from_secs(5);

/// A node with its own connection to the bus.
struct Node {
    fixture: Fixture,
    client: InProcessClient,
    bus: Arc<Faulty<MemoryBus>>,
}

/// Returns two nodes that receive the messages of the bus, and the id of a session.
async fn two_nodes() -> ([Node; 2], String) {
    let (sessions, events) = (
        Arc::<MemorySessionStore>::default(),
        Arc::<MemoryEventLog>::default(),
    );
    let bus = Arc::<MemoryBus>::default();
    let nodes = [(), ()].map(|()| {
        let mut limits = HttpLimits::default();
        limits.quiet_period = Duration::ZERO;
        let bus = Arc::new(Faulty::new(Arc::clone(&bus)));
        let options = HttpOptions::new()
            .with_limits(limits)
            .with_session_store(sessions.clone())
            .with_event_log(events.clone())
            .with_bus(bus.clone());
        let fixture = Fixture::new();
        let service = HttpService::new(fixture.server.clone(), options);
        Node {
            client: InProcessClient::new(&service),
            fixture,
            bus,
        }
    });
    let session = nodes[0].client.open_session().await;
    // A node subscribes with its first request.
    assert_eq!(nodes[1].client.ping(&session).await, 200);
    sleep(SOON).await;
    (nodes, session)
}

impl Node {
    /// Starts the tool `wait`, and returns its stream.
    async fn start_waiting(&mut self, session: &str) -> Stream {
        let call = in_session(session, &tool_call(1, "wait", json!({})));
        let response = self.client.send(call).await;
        assert_eq!(response.status(), 200);
        self.fixture.expect(HandlerEvent::Started).await;
        let mut stream = Stream::new(response.into_body());
        assert_eq!(stream.next().await.as_deref(), Ok(""));
        stream
    }

    async fn cancel(&self, session: &str) {
        let cancelled = self.client.request(in_session(session, &cancel(1))).await;
        assert_eq!(cancelled.status, 202);
    }
}

/// Expects that a call is cancelled soon.
async fn expect_cancelled(node: &mut Node, stream: &mut Stream) {
    let ended = timeout(SOON, stream.next()).await;
    assert_eq!(ended, Ok(Err(Ended::Complete)));
    node.fixture.expect(HandlerEvent::Dropped).await;
}

/// Expects that a call goes on, and completes it.
async fn expect_result(node: &mut Node, stream: &mut Stream) {
    let waiting = timeout(SOON, stream.next()).await;
    assert!(waiting.is_err(), "{waiting:?}");
    node.fixture.step();
    node.fixture.step();
    let message: Value = serde_json::from_str(&stream.next().await.unwrap()).unwrap();
    assert_eq!(message, result_response(1, text("waited")));
}

#[tokio::test(start_paused = true)]
async fn lost_cancellation_is_repeated() {
    let ([mut a, b], session) = two_nodes().await;
    let mut stream = a.start_waiting(&session).await;
    a.bus.inject("next", Fault::Drop, 1);
    b.cancel(&session).await;
    expect_cancelled(&mut a, &mut stream).await;
}

#[tokio::test(start_paused = true)]
async fn cancellation_survives_the_loss_of_the_query_for_it() {
    let ([mut a, b], session) = two_nodes().await;
    let mut stream = a.start_waiting(&session).await;
    // Both nodes lose the next message: the cancellation, and then the query of node A for it.
    a.bus.inject("next", Fault::Drop, 1);
    b.cancel(&session).await;
    b.bus.inject("next", Fault::Drop, 1);
    expect_cancelled(&mut a, &mut stream).await;
}

#[tokio::test(start_paused = true)]
async fn query_that_cannot_be_published_is_sent_again() {
    let ([mut a, b], session) = two_nodes().await;
    let mut stream = a.start_waiting(&session).await;
    a.bus.inject("publish_all", Fault::Error, 2);
    a.bus.inject("next", Fault::Drop, 1);
    b.cancel(&session).await;
    expect_cancelled(&mut a, &mut stream).await;
}

#[tokio::test(start_paused = true)]
async fn repeated_cancellation_spares_a_later_request_with_the_same_id() {
    let ([mut a, b], session) = two_nodes().await;
    b.cancel(&session).await;
    sleep(REQUEST_DELAY + Duration::from_millis(10)).await;
    let mut stream = a.start_waiting(&session).await;
    a.bus.inject("next", Fault::Drop, 1);
    b.fixture.server.tools_changed();
    expect_result(&mut a, &mut stream).await;
}

#[tokio::test(start_paused = true)]
async fn request_that_begins_soon_after_its_cancellation_is_not_served() {
    let ([mut a, b], session) = two_nodes().await;
    b.cancel(&session).await;
    sleep(REQUEST_DELAY - Duration::from_millis(10)).await;
    let call = in_session(&session, &tool_call(1, "wait", json!({})));
    let response = timeout(SOON, a.client.request(call)).await.unwrap();
    let message: Value = serde_json::from_str(&response.body).unwrap();
    assert_eq!(message["error"]["code"], -32603, "{message}");
    // The next request with the id is another one.
    let mut stream = a.start_waiting(&session).await;
    expect_result(&mut a, &mut stream).await;
}

#[tokio::test(start_paused = true)]
async fn session_that_ended_unnoticed_ends_with_its_requests() {
    let ([mut a, b], session) = two_nodes().await;
    let stream = a.start_waiting(&session).await;
    // No connection reads the call.
    drop(stream);
    a.bus.inject("next", Fault::Drop, 1);
    let deleted = b
        .client
        .request(Request::delete(&session, "2025-11-25"))
        .await;
    assert_eq!(deleted.status, 204);
    a.fixture.expect(HandlerEvent::Dropped).await;
}
