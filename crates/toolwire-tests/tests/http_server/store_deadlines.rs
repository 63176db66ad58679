//! Stores that do not reply, reply late, or reject every change.

use std::sync::Arc;
use std::time::Duration;

use http::Response;
use serde_json::json;
use tokio::time::Instant;
use toolwire::store::contract::{Fault, Faulty};
use toolwire::store::{MemoryEventLog, MemorySessionStore, StoreError};
use toolwire::transport::http::{HttpLimits, HttpOptions, HttpService, ServerBody};
use toolwire_tests::http::direct::InProcessClient;
use toolwire_tests::http::fixture::{Fixture, count_call};
use toolwire_tests::http::request::Request;
use toolwire_tests::http::session::initialize_request;
use toolwire_tests::peer::legacy;

const VERSION: &str = "2025-11-25";

/// A service whose stores can fail.
struct Node {
    client: InProcessClient,
    sessions: Arc<Faulty<MemorySessionStore>>,
    events: Arc<Faulty<MemoryEventLog>>,
}

impl Node {
    fn new() -> Self {
        let sessions = Arc::new(Faulty::new(Arc::default()));
        let events = Arc::new(Faulty::new(Arc::default()));
        let options = HttpOptions::new()
            .with_session_store(sessions.clone())
            .with_event_log(events.clone());
        let service = HttpService::new(Fixture::new().server, options);
        Self {
            client: InProcessClient::new(&service),
            sessions,
            events,
        }
    }

    /// Expects 503 with `Retry-After` after this time.
    async fn expect_unavailable(&self, request: Request, after: Duration) {
        let before = Instant::now();
        let response = self.client.send(request).await;
        assert_eq!(response.status(), 503);
        let waited = before.elapsed();
        // The timer has a resolution of milliseconds.
        let tolerance = Duration::from_millis(2);
        assert!(after <= waited && waited <= after + tolerance, "{waited:?}");
        let seconds = retry_after(&response);
        assert!((1..=3).contains(&seconds), "{seconds}");
    }
}

fn retry_after(response: &Response<ServerBody>) -> u64 {
    let value = response.headers().get("retry-after").expect("a delay");
    value.to_str().unwrap().parse().unwrap()
}

fn in_session(session: &str, id: i64) -> Request {
    Request::post(&legacy(id, "ping", json!({}))).in_session(session, VERSION)
}

#[tokio::test(start_paused = true)]
async fn store_that_hangs_gets_503_after_the_deadline() {
    let deadline = HttpLimits::default().store_deadline;
    assert_eq!(deadline, Duration::from_secs(2));
    let node = Node::new();
    let session = node.client.open_session().await;

    node.sessions.inject("load", Fault::Hang, 1);
    node.expect_unavailable(in_session(&session, 1), deadline)
        .await;
    node.sessions.inject("create", Fault::Hang, 1);
    node.expect_unavailable(initialize_request(VERSION), deadline)
        .await;
    node.sessions.inject("delete", Fault::Hang, 1);
    node.expect_unavailable(Request::delete(&session, VERSION), deadline)
        .await;
    node.events.inject("open", Fault::Hang, 1);
    node.expect_unavailable(Request::get(&session, VERSION), deadline)
        .await;
    node.events.inject("read_after", Fault::Hang, 1);
    let resume = Request::get(&session, VERSION).with("Last-Event-ID", "g000000000000000.1");
    node.expect_unavailable(resume, deadline).await;

    // The session still exists.
    assert_eq!(node.client.ping(&session).await, 200);
}

#[tokio::test(start_paused = true)]
async fn store_that_replies_within_the_deadline_is_used() {
    let deadline = HttpLimits::default().store_deadline;
    let node = Node::new();
    let session = node.client.open_session().await;
    let almost = Fault::Slow(deadline - Duration::from_millis(1));
    node.sessions.inject("load", almost, 1);
    assert_eq!(node.client.ping(&session).await, 200);
    let late = Fault::Slow(deadline + Duration::from_millis(1));
    node.sessions.inject("load", late, 1);
    node.expect_unavailable(in_session(&session, 1), deadline)
        .await;
}

#[tokio::test(start_paused = true)]
async fn unavailable_store_does_not_look_like_an_unknown_session() {
    let node = Node::new();
    let session = node.client.open_session().await;
    node.sessions.inject("load", Fault::Error, usize::MAX);
    for _ in 0..20 {
        node.expect_unavailable(in_session(&session, 1), Duration::ZERO)
            .await;
    }
    // A modern request needs no store.
    let modern = Request::modern(&count_call(1));
    assert_eq!(node.client.send(modern).await.status(), 200);
    node.sessions.heal();
    assert_eq!(node.client.ping(&session).await, 200);
}

#[tokio::test(start_paused = true)]
async fn changes_of_a_session_are_stored_at_most_eight_times() {
    let node = Node::new();
    let session = node.client.open_session().await;
    let before = node.sessions.calls("replace");
    // The second of two equal calls is rejected, because the first has changed the revision.
    node.sessions.inject("replace", Fault::Twice, 7);
    let set_level = legacy(1, "logging/setLevel", json!({"level": "error"}));
    let set_level = || Request::post(&set_level).in_session(&session, VERSION);
    assert_eq!(node.client.send(set_level()).await.status(), 200);
    assert_eq!(node.sessions.calls("replace") - before, 8);

    node.sessions.inject("replace", Fault::Twice, usize::MAX);
    node.expect_unavailable(set_level(), Duration::ZERO).await;
    assert_eq!(node.sessions.calls("replace") - before, 16);
    node.sessions.heal();
    assert_eq!(node.client.send(set_level()).await.status(), 200);
}

#[tokio::test(start_paused = true)]
async fn check_reports_a_store_that_fails() {
    let node = Node::new();
    let service = &node.client.service;
    assert!(service.check_stores().await.is_ok());
    node.sessions.inject("check", Fault::Error, 1);
    let failed = service.check_stores().await;
    assert!(
        matches!(failed, Err(StoreError::Unavailable(_))),
        "{failed:?}"
    );
    node.events.inject("check", Fault::Hang, 1);
    let late = service.check_stores().await;
    assert!(matches!(late, Err(StoreError::Unknown(_))), "{late:?}");
    assert!(service.check_stores().await.is_ok());
}
