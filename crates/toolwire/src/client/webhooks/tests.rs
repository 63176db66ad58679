//! The receiver as servers see it: requests in, responses and items out.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use toolwire_proto::events::webhook::delivery::MAX_BODY_BYTES;
use toolwire_proto::events::webhook::secret::WebhookSecret;
use toolwire_proto::events::webhook::signature::sign;
use tower_service::Service as _;

use super::delivery_queue::{DeliveryQueue, MAX_QUEUED_ITEMS};
use super::*;
use crate::engine::since_epoch;

const SUBSCRIPTION: &str = "sub_1";

fn secret(byte: u8) -> WebhookSecret {
    WebhookSecret::new([byte; 32])
}

/// A receiver with one subscription.
struct Fixture {
    receiver: WebhookReceiver,
    items: mpsc::Receiver<WebhookItem>,
}

impl Fixture {
    fn new() -> Self {
        let receiver = WebhookReceiver::new("https://app.example/hooks");
        let (queue, items) = DeliveryQueue::new(secret(7));
        receiver.queues.add(SUBSCRIPTION.to_owned(), queue);
        Self { receiver, items }
    }

    async fn send(&self, request: Request<Full<Bytes>>) -> Response<Full<Bytes>> {
        let response = self.receiver.clone().call(request).await;
        response.unwrap_or_else(|never| match never {})
    }

    /// Sends an event in the background, because the response waits for the application.
    fn send_event(&self, id: &str) -> tokio::task::JoinHandle<StatusCode> {
        let (mut receiver, request) = (self.receiver.clone(), event(id));
        tokio::spawn(async move {
            let response = receiver.call(request).await;
            response.unwrap_or_else(|never| match never {}).status()
        })
    }

    async fn next_event(&mut self) -> WebhookEvent {
        match self.items.recv().await {
            Some(WebhookItem::Event(event)) => event,
            other => panic!("no event: {other:?}"),
        }
    }
}

/// Returns a request that is signed now.
fn signed(
    secret: &WebhookSecret,
    subscription: &str,
    id: &str,
    body: &str,
) -> Request<Full<Bytes>> {
    signed_at(since_epoch().as_secs(), secret, subscription, id, body)
}

fn signed_at(
    timestamp: u64,
    secret: &WebhookSecret,
    subscription: &str,
    id: &str,
    body: &str,
) -> Request<Full<Bytes>> {
    Request::post("/hooks")
        .header("webhook-id", id)
        .header("webhook-timestamp", timestamp)
        .header(
            "webhook-signature",
            sign([secret], id, timestamp, body.as_bytes()),
        )
        .header("x-mcp-subscription-id", subscription)
        .body(Full::new(Bytes::from(body.to_owned())))
        .unwrap()
}

fn event_body(id: &str) -> String {
    let event = json!({"eventId": id, "name": "mail", "timestamp": "2026-10-05T12:00:00Z", "data": {"n": 1}});
    event.to_string()
}

fn event(id: &str) -> Request<Full<Bytes>> {
    signed(&secret(7), SUBSCRIPTION, id, &event_body(id))
}

async fn body(response: Response<Full<Bytes>>) -> Value {
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    serde_json::from_slice(&bytes).unwrap()
}

#[tokio::test(start_paused = true)]
async fn event_is_accepted_when_the_application_accepts_it() {
    let mut fixture = Fixture::new();
    let response = fixture.send_event("e1");
    let waiting = fixture.next_event().await;
    assert_eq!(waiting.event().event_id, "e1");
    assert!(!response.is_finished());
    assert_eq!(waiting.accept().data.get(), r#"{"n":1}"#);
    assert_eq!(response.await.unwrap(), 204);
    // The server repeats the event, because it lost the response.
    assert_eq!(fixture.send_event("e1").await.unwrap(), 204);
    assert!(fixture.items.try_recv().is_err());
}

#[tokio::test(start_paused = true)]
async fn dropped_event_is_received_again() {
    let mut fixture = Fixture::new();
    let response = fixture.send_event("e1");
    drop(fixture.next_event().await);
    assert_eq!(response.await.unwrap(), 503);
    let response = fixture.send_event("e1");
    drop(fixture.next_event().await.accept());
    assert_eq!(response.await.unwrap(), 204);
}

#[tokio::test(start_paused = true)]
async fn slow_application_gets_an_event_once() {
    let mut fixture = Fixture::new();
    let response = fixture.send_event("e1");
    let waiting = fixture.next_event().await;
    assert_eq!(response.await.unwrap(), 503, "after 8 s");
    assert_eq!(fixture.send_event("e1").await.unwrap(), 503);
    drop(waiting.accept());
    assert_eq!(fixture.send_event("e1").await.unwrap(), 204);
    assert!(fixture.items.try_recv().is_err());
}

#[tokio::test(start_paused = true)]
async fn only_signed_and_current_requests_are_received() {
    let mut fixture = Fixture::new();
    let now = since_epoch().as_secs();
    let text = event_body("e1");
    let check = async |request: Request<Full<Bytes>>, expected: u16| {
        assert_eq!(fixture.send(request).await.status(), expected);
    };
    check(signed(&secret(8), SUBSCRIPTION, "e1", &text), 401).await;
    let old = signed_at(now - 302, &secret(7), SUBSCRIPTION, "e1", &text);
    check(old, 401).await;
    let future = signed_at(now + 310, &secret(7), SUBSCRIPTION, "e1", &text);
    check(future, 401).await;
    let mut changed = event("e1");
    *changed.body_mut() = Full::from(text.replace('1', "2"));
    check(changed, 401).await;
    for header in [
        "webhook-id",
        "webhook-timestamp",
        "webhook-signature",
        "x-mcp-subscription-id",
    ] {
        let mut request = event("e1");
        request.headers_mut().remove(header);
        check(request, 400).await;
    }
    check(Request::get("/hooks").body(Full::default()).unwrap(), 405).await;
    let unknown = signed(&secret(7), SUBSCRIPTION, "m", r#"{"type":"later"}"#);
    check(unknown, 204).await;
    for malformed in ["", "{}", r#"{"type":"gap","cursor":1}"#] {
        let malformed = signed(&secret(7), SUBSCRIPTION, "m", malformed);
        check(malformed, 400).await;
    }
    assert!(fixture.items.try_recv().is_err());
}

#[tokio::test(start_paused = true)]
async fn body_may_have_256_kib() {
    let fixture = Fixture::new();
    let start = r#"{"type":"later","text":""}"#.len();
    let check = async |bytes: usize, expected: u16| {
        let text = format!(
            r#"{{"type":"later","text":"{}"}}"#,
            "x".repeat(bytes - start)
        );
        assert_eq!(text.len(), bytes);
        let request = signed(&secret(7), SUBSCRIPTION, "m", &text);
        assert_eq!(fixture.send(request).await.status(), expected);
    };
    check(MAX_BODY_BYTES, 204).await;
    check(MAX_BODY_BYTES + 1, 413).await;
}

#[tokio::test(start_paused = true)]
async fn challenge_of_a_subscription_in_flight_gets_its_response() {
    let fixture = Fixture::new();
    let challenge = |byte: u8| {
        let body = r#"{"type":"verification","challenge":"abc"}"#;
        signed(&secret(byte), "sub_new", "msg_verification_1", body)
    };
    assert_eq!(fixture.send(challenge(9)).await.status(), 503);
    let pending = fixture.receiver.queues.add_pending(secret(9));
    let response = fixture.send(challenge(9)).await;
    assert_eq!(response.status(), 200);
    assert_eq!(body(response).await, json!({"challenge": "abc"}));
    assert_eq!(fixture.send(challenge(8)).await.status(), 503);
    // An event of that subscription is sent again when the id is known.
    let early = signed(&secret(9), "sub_new", "e1", &event_body("e1"));
    assert_eq!(fixture.send(early).await.status(), 503);
    drop(pending);
    assert_eq!(fixture.send(challenge(9)).await.status(), 503);
}

#[tokio::test(start_paused = true)]
async fn number_of_queued_events_equals_the_limit() {
    let mut fixture = Fixture::new();
    let early = fixture.send_event("early");
    drop(fixture.next_event().await.accept());
    assert_eq!(early.await.unwrap(), 204);
    let gap = || signed(&secret(7), SUBSCRIPTION, "gap", r#"{"type":"gap"}"#);
    assert_eq!(fixture.send(gap()).await.status(), 204);
    assert!(matches!(fixture.items.recv().await, Some(WebhookItem::Gap)));
    let queued: Vec<_> = (0..MAX_QUEUED_ITEMS)
        .map(|number| fixture.send_event(&number.to_string()))
        .collect();
    while fixture.items.len() < MAX_QUEUED_ITEMS {
        tokio::task::yield_now().await;
    }
    assert_eq!(fixture.send_event("late").await.unwrap(), 503);
    // What was accepted before does not need room in the queue.
    assert_eq!(fixture.send_event("early").await.unwrap(), 204);
    assert_eq!(fixture.send(gap()).await.status(), 204);
    for response in queued {
        drop(fixture.next_event().await.accept());
        assert_eq!(response.await.unwrap(), 204);
    }
}

#[tokio::test(start_paused = true)]
async fn gaps_and_the_end_are_items() {
    let mut fixture = Fixture::new();
    let control = |id: &str, body: &str| signed(&secret(7), SUBSCRIPTION, id, body);
    let gap = || control("msg_gap_1", r#"{"type":"gap","cursor":"c"}"#);
    assert_eq!(fixture.send(gap()).await.status(), 204);
    assert_eq!(fixture.send(gap()).await.status(), 204);
    let end =
        r#"{"type":"terminated","error":{"code":-32023,"message":"gone","data":{"kind":"event"}}}"#;
    let end = control("msg_terminated_1", end);
    assert_eq!(fixture.send(end).await.status(), 204);
    assert!(matches!(fixture.items.recv().await, Some(WebhookItem::Gap)));
    match fixture.items.recv().await {
        Some(WebhookItem::Ended(error)) => assert_eq!(error.code, -32023),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn removed_subscription_is_unknown() {
    let fixture = Fixture::new();
    let queue = fixture.receiver.queues.get(SUBSCRIPTION).unwrap();
    let (other, _items) = DeliveryQueue::new(secret(7));
    fixture.receiver.queues.remove(SUBSCRIPTION, &other);
    assert!(fixture.receiver.queues.get(SUBSCRIPTION).is_some());
    fixture.receiver.queues.remove(SUBSCRIPTION, &queue);
    assert_eq!(fixture.send(event("e1")).await.status(), 503);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(Arc::strong_count(&queue), 1);
}
