//! Timeouts of sessions and streams, tested with a paused clock.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, advance};
use toolwire::store::{
    Bus, BusMessage, BusSubscription, EventLog, MemoryEventLog, MemorySessionStore, Replay,
    SessionStore, StoreError, StreamKey,
};
use toolwire::transport::http::{HttpLimits, HttpOptions, HttpService};
use toolwire::{BoxFuture, Principal, RequestContext};
use toolwire_tests::http::direct::{InProcessClient, in_session, next_chunk};
use toolwire_tests::http::fixture::{Fixture, HandlerEvent};
use toolwire_tests::http::request::Request;
use toolwire_tests::peer::{call, legacy, modern, notification, plain, server};

const MILLISECOND: Duration = Duration::from_millis(1);

/// The idle time of a session in memory.
const SESSION_IDLE: Duration = Duration::from_secs(300);

fn service() -> HttpService {
    HttpService::new(Fixture::new().server, HttpOptions::new())
}

#[tokio::test(start_paused = true)]
async fn session_without_requests_after_initialize_expires() {
    let limit = HttpLimits::default().session_init;
    assert_eq!(limit, Duration::from_secs(60));
    for (waited, status) in [
        (limit - MILLISECOND, 200),
        (limit, 404),
        (limit + MILLISECOND, 404),
    ] {
        let client = InProcessClient::new(&service());
        let session = client.initialize().await;
        advance(waited).await;
        assert_eq!(client.ping(&session).await, status, "after {waited:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn idle_session_expires() {
    let limit = SESSION_IDLE;
    for (waited, status) in [
        (limit - MILLISECOND, 200),
        (limit, 404),
        (limit + MILLISECOND, 404),
    ] {
        let client = InProcessClient::new(&service());
        let session = client.open_session().await;
        // Every request restarts the idle timeout.
        for _ in 0..3 {
            advance(limit - MILLISECOND).await;
            assert_eq!(client.ping(&session).await, 200);
        }
        advance(waited).await;
        assert_eq!(client.ping(&session).await, status, "after {waited:?}");
        let get = Request::get(&session, "2025-11-25");
        assert_eq!(client.send(get).await.status(), status, "after {waited:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn session_with_an_open_stream_does_not_expire() {
    let client = InProcessClient::new(&service());
    let session = client.open_session().await;
    let get = Request::get(&session, "2025-11-25");
    let mut body = Box::pin(client.send(get).await.into_body());
    let began = Instant::now();
    let limit = SESSION_IDLE;
    while began.elapsed() < limit * 2 {
        next_chunk(&mut body).await.expect("the stream is open");
    }
    assert_eq!(client.ping(&session).await, 200);
    drop(body);
    advance(limit + Duration::from_secs(30)).await;
    assert_eq!(client.ping(&session).await, 404);
}

/// A bus that is unavailable.
#[derive(Debug)]
struct UnavailableBus;

impl Bus for UnavailableBus {
    fn publish_all<'a>(&'a self, _: &'a [BusMessage]) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async { Err(StoreError::unavailable("the bus is unavailable")) })
    }

    fn subscribe(&self) -> BoxFuture<'_, Result<Box<dyn BusSubscription>, StoreError>> {
        Box::pin(async { Err(StoreError::unavailable("the bus is unavailable")) })
    }
}

/// Returns a service and its session store.
fn with_own_store(fixture: &Fixture) -> (HttpService, Arc<MemorySessionStore>) {
    let sessions = Arc::new(MemorySessionStore::default());
    let options =
        HttpOptions::new().with_session_store(Arc::clone(&sessions) as Arc<dyn SessionStore>);
    (HttpService::new(fixture.server.clone(), options), sessions)
}

#[tokio::test(start_paused = true)]
async fn session_ends_with_its_record() {
    let mut fixture = Fixture::new();
    let (service, sessions) = with_own_store(&fixture);
    let client = InProcessClient::new(&service);
    let session = client.open_session().await;
    let wait = legacy(1, "tools/call", json!({"name": "wait", "arguments": {}}));
    let mut response_body = Box::pin(client.send(in_session(&session, &wait)).await.into_body());
    fixture.expect(HandlerEvent::Started).await;
    let get = Request::get(&session, "2025-11-25");
    let mut pushed = Box::pin(client.send(get).await.into_body());
    next_chunk(&mut pushed).await.expect("the stream starts");

    let deleted = sessions.delete(&session, &Principal::anonymous()).await;
    assert!(deleted.unwrap());
    // Half of the idle time of a session in a store.
    let deadline = Instant::now() + Duration::from_secs(1800);
    while next_chunk(&mut pushed).await.is_some() {
        assert!(Instant::now() <= deadline, "the stream is still open");
    }
    fixture.expect(HandlerEvent::Dropped).await;
    while next_chunk(&mut response_body).await.is_some() {
        assert!(Instant::now() <= deadline, "the stream is still open");
    }
    drop((pushed, response_body));
    assert_eq!(service.load().sessions, 0);
}

#[tokio::test(start_paused = true)]
async fn request_to_a_deleted_session_ends_its_running_requests() {
    let mut fixture = Fixture::new();
    let (service, sessions) = with_own_store(&fixture);
    let client = InProcessClient::new(&service);
    let session = client.open_session().await;
    let wait = legacy(1, "tools/call", json!({"name": "wait", "arguments": {}}));
    // The response is dropped, so that only the next request can discover the deleted record.
    drop(client.send(in_session(&session, &wait)).await);
    fixture.expect(HandlerEvent::Started).await;
    let deleted = sessions.delete(&session, &Principal::anonymous()).await;
    assert!(deleted.unwrap());
    fixture.expect_nothing();
    assert_eq!(client.ping(&session).await, 404);
    fixture.expect(HandlerEvent::Dropped).await;
    tokio::task::yield_now().await;
    assert_eq!(service.load().sessions, 0);
}

#[tokio::test(start_paused = true)]
async fn event_log_of_a_session_is_deleted_if_the_bus_is_unavailable() {
    let events = Arc::new(MemoryEventLog::default());
    let options = HttpOptions::new()
        .with_event_log(Arc::clone(&events) as Arc<dyn EventLog>)
        .with_bus(Arc::new(UnavailableBus));
    let client = InProcessClient::new(&HttpService::new(Fixture::new().server, options));
    let session = client.open_session().await;
    let get = Request::get(&session, "2025-11-25");
    let mut pushed = Box::pin(client.send(get).await.into_body());
    let priming = next_chunk(&mut pushed).await.expect("the stream starts");
    let id = priming.lines().find_map(|line| line.strip_prefix("id: "));
    let (stream, _) = id.and_then(|id| id.split_once('.')).expect("an event id");
    let key = StreamKey::new(&session, stream);
    let anonymous = Principal::anonymous();
    let read = || events.read_after(&anonymous, &key, 0, Duration::ZERO);
    assert!(matches!(read().await.unwrap(), Replay::Entries(_)));
    let ended = client
        .request(Request::delete(&session, "2025-11-25"))
        .await;
    // The other nodes are notified later.
    assert_eq!(ended.status, 204, "{}", ended.body);
    assert!(matches!(read().await.unwrap(), Replay::Unknown));
    assert_eq!(client.ping(&session).await, 404);
}

#[tokio::test(start_paused = true)]
async fn streams_of_an_expired_session_are_removed_from_the_event_log() {
    let events = Arc::new(MemoryEventLog::default());
    let options = HttpOptions::new().with_event_log(Arc::clone(&events) as Arc<dyn EventLog>);
    let service = HttpService::new(Fixture::new().server, options);
    let client = InProcessClient::new(&service);
    let session = client.open_session().await;
    let get = Request::get(&session, "2025-11-25");
    let mut pushed = Box::pin(client.send(get).await.into_body());
    let priming = next_chunk(&mut pushed).await.expect("the stream starts");
    drop(pushed);
    let id = priming.lines().find_map(|line| line.strip_prefix("id: "));
    let (stream, _) = id.and_then(|id| id.split_once('.')).expect("an event id");
    let key = StreamKey::new(&session, stream);
    let anonymous = Principal::anonymous();
    let read = || events.read_after(&anonymous, &key, 0, Duration::ZERO);
    // There is no further request, so only the expiry of the session can remove the stream before the log's retention.
    tokio::time::sleep(SESSION_IDLE - Duration::from_secs(1)).await;
    assert!(matches!(read().await.unwrap(), Replay::Entries(_)));
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(matches!(read().await.unwrap(), Replay::Unknown));
    drop(service);
}

#[tokio::test(start_paused = true)]
async fn session_with_a_running_request_does_not_expire() {
    let limit = SESSION_IDLE;
    let slow = plain("slow", move |_: RequestContext| async move {
        tokio::time::sleep(limit * 2).await;
        "done"
    });
    let service = HttpService::new(server().tool(slow), HttpOptions::new());
    let client = InProcessClient::new(&service);
    let session = client.open_session().await;
    let request = legacy(1, "tools/call", json!({"name": "slow"}));
    let response = client.request(in_session(&session, &request)).await;
    assert!(response.body.contains("done"), "{}", response.body);
    assert_eq!(client.ping(&session).await, 200);
}

#[tokio::test(start_paused = true)]
async fn silent_stream_gets_keep_alive_comments() {
    let interval = HttpLimits::default().keep_alive;
    assert_eq!(interval, Duration::from_secs(15));
    let fixture = Fixture::new();
    let service = HttpService::new(fixture.server.clone(), HttpOptions::new());
    let client = InProcessClient::new(&service);
    let filter = json!({"toolsListChanged": true});
    let listen = modern(1, "subscriptions/listen", json!({"notifications": filter}));
    let response = client.send(Request::modern(&listen)).await;
    let mut body = Box::pin(response.into_body());
    next_chunk(&mut body).await.expect("the acknowledgement");
    for _ in 0..3 {
        let before = Instant::now();
        let chunk = next_chunk(&mut body).await.expect("the stream is open");
        assert!(chunk.starts_with(':'), "{chunk}");
        assert_eq!(before.elapsed().as_secs(), interval.as_secs());
    }
    // Every message restarts the keep-alive interval.
    advance(Duration::from_secs(10)).await;
    fixture.server.tools_changed();
    let chunk = next_chunk(&mut body).await.expect("the stream is open");
    assert!(chunk.contains("list_changed"), "{chunk}");
    let before = Instant::now();
    let chunk = next_chunk(&mut body).await.expect("the stream is open");
    assert!(chunk.starts_with(':'), "{chunk}");
    assert_eq!(before.elapsed().as_secs(), interval.as_secs());
}

#[tokio::test(start_paused = true)]
async fn response_is_json_before_the_quiet_period_and_a_stream_after_it() {
    let quiet = HttpLimits::default().quiet_period;
    assert_eq!(quiet, Duration::from_secs(5));
    for (needed, content_type) in [
        (quiet - MILLISECOND, "application/json"),
        (quiet + MILLISECOND, "text/event-stream"),
    ] {
        let slow = plain("slow", move |_: RequestContext| async move {
            tokio::time::sleep(needed).await;
            "done"
        });
        let service = HttpService::new(server().tool(slow), HttpOptions::new());
        let client = InProcessClient::new(&service);
        let session = client.open_session().await;
        let in_session = in_session(&session, &legacy(1, "tools/call", json!({"name": "slow"})));
        for request in [Request::modern(&call(1, "slow", json!({}))), in_session] {
            let began = Instant::now();
            let response = client.send(request).await;
            assert_eq!(
                response.headers()["content-type"],
                content_type,
                "{needed:?}"
            );
            let mut body = Box::pin(response.into_body());
            let mut received = String::new();
            while let Some(chunk) = next_chunk(&mut body).await {
                received += &chunk;
            }
            assert!(received.contains("\"done\""), "{received}");
            assert!(began.elapsed() >= needed);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn disconnected_stream_is_released_and_its_session_expires() {
    let fixture = Fixture::new();
    let service = HttpService::new(fixture.server.clone(), HttpOptions::new());
    let client = InProcessClient::new(&service);
    let session = client.open_session().await;
    let get = Request::get(&session, "2025-11-25");
    let mut body = Box::pin(client.send(get).await.into_body());
    next_chunk(&mut body).await.expect("the stream starts");
    drop(body);
    assert_eq!(service.load().streams, 0);
    // Messages for the client are buffered until its session expires.
    tokio::time::sleep(SESSION_IDLE * 2 + MILLISECOND).await;
    assert_eq!(service.load().sessions, 0);
    let response = client
        .request(in_session(
            &session,
            &notification("notifications/x", json!({})),
        ))
        .await;
    assert_eq!(response.status, 404);
}
