//! Renewals of webhook subscriptions, with a scripted server.

use serde_json::{Value, json};
use tokio::time::Instant;
use toolwire::events::{
    DeliveryMode, EventItem, EventSubscription, EventSubscriptionState, WebhookReceiver,
};
use toolwire::testing::{ReceivedMessage, ScriptedServer};
use toolwire::{Client, Error};
use toolwire_tests::peer::within;

use crate::client::{connect, with_events};

/// Subscribes after the cursor `c0`. The server accepts it at the cursor `c1`.
async fn subscribe() -> (Client, EventSubscription, ScriptedServer) {
    let (client, mut script) = connect(Client::builder("c", "1"), with_events()).await;
    let receiver = WebhookReceiver::new("https://app.example/hooks");
    let state = json!({"name": "x", "arguments": {}, "cursor": "c0"});
    let state: EventSubscriptionState = serde_json::from_value(state).unwrap();
    let resuming = client
        .resume_events(state)
        .with_max_age(std::time::Duration::from_secs(60))
        .with_mode(DeliveryMode::Webhook)
        .with_receiver(&receiver);
    let resuming = tokio::spawn(resuming.into_future());
    let request = script.expect("events/subscribe").await;
    assert_eq!(request.params["cursor"], "c0");
    assert_eq!(request.params["maxAgeMs"], 60_000);
    respond(&script, &request, json!("c1"), false).await;
    let subscription = within(resuming).await.unwrap().unwrap();
    (client, subscription, script)
}

async fn respond(
    script: &ScriptedServer,
    request: &ReceivedMessage,
    cursor: Value,
    truncated: bool,
) {
    // A date in the past: the client waits for the shortest time.
    let result = json!({
        "resultType": "complete", "id": "sub_1", "cursor": cursor, "truncated": truncated,
        "refreshBefore": "2026-01-01T00:00:00Z",
    });
    script.respond(request, result).await;
}

#[tokio::test(start_paused = true)]
async fn renewal_continues_at_the_last_cursor() {
    let (_client, mut subscription, mut script) = subscribe().await;
    let reading = tokio::spawn(async move { subscription.next().await });
    for (expected, next) in [(json!("c1"), json!("c2")), (json!("c2"), Value::Null)] {
        let renewal = script.expect("events/subscribe").await;
        assert_eq!(renewal.params["cursor"], expected);
        assert_eq!(renewal.params.get("maxAgeMs"), None);
        respond(&script, &renewal, next, false).await;
    }
    let renewal = script.expect("events/subscribe").await;
    assert_eq!(renewal.params["cursor"], Value::Null);
    respond(&script, &renewal, Value::Null, true).await;
    assert_eq!(reading.await.unwrap().unwrap(), Some(EventItem::Gap));
}

#[tokio::test(start_paused = true)]
async fn rejected_renewal_ends_the_subscription() {
    for code in [-32023, -32024, -32026, -32602, -32601] {
        let (_client, mut subscription, mut script) = subscribe().await;
        let renewal = script.expect("events/subscribe").await;
        script
            .respond_error(&renewal, code, "no", Value::Null)
            .await;
        let error: Error = within(subscription.next()).await.unwrap_err();
        assert_eq!(error.rpc().unwrap().code, code);
        assert_eq!(subscription.next().await.unwrap(), None);
    }
}

#[tokio::test(start_paused = true)]
async fn failed_renewal_is_repeated_with_growing_pauses() {
    let (_client, _subscription, mut script) = subscribe().await;
    let mut last = Instant::now();
    let mut pauses = Vec::new();
    for code in [-32603, -32025, -32027, -32603, -32603, -32603, -32603] {
        let renewal = script.expect("events/subscribe").await;
        pauses.push(last.elapsed().as_secs());
        last = Instant::now();
        assert_eq!(renewal.params["cursor"], "c1");
        script
            .respond_error(&renewal, code, "later", Value::Null)
            .await;
    }
    assert_eq!(pauses, [10, 10, 20, 40, 80, 160, 300]);
    let renewal = script.expect("events/subscribe").await;
    respond(&script, &renewal, json!("c2"), false).await;
}

#[tokio::test(start_paused = true)]
async fn calls_for_one_subscription_wait_for_each_other() {
    let (client, mut script) = connect(Client::builder("c", "1"), with_events()).await;
    let receiver = WebhookReceiver::new("https://app.example/hooks");
    let subscribe = |name: &'static str, arguments: Value| {
        let (client, receiver) = (client.clone(), receiver.clone());
        tokio::spawn(async move { receiver.subscribe(&client, name, arguments).await })
    };
    let first = subscribe("x", json!({"a": 1, "b": 2}));
    let first_request = script.expect("events/subscribe").await;
    let second = subscribe("x", json!({"b": 2, "a": 1}));
    let other = subscribe("y", json!({}));
    let other_request = script.expect("events/subscribe").await;
    assert_eq!(other_request.params["name"], "y");
    let result = json!({"resultType": "complete", "id": "sub_y", "truncated": false});
    script.respond(&other_request, result).await;
    within(other).await.unwrap().unwrap();
    script.expect_silence().await;
    let result = json!({"resultType": "complete", "id": "sub_1", "truncated": false});
    script.respond(&first_request, result.clone()).await;
    let mut first = within(first).await.unwrap().unwrap();
    let second_request = script.expect("events/subscribe").await;
    script.respond(&second_request, result).await;
    let second = within(second).await.unwrap().unwrap();
    assert!(within(first.next()).await.is_none(), "it is replaced");
    // The first one does not end the second one at the server, which does it itself.
    within(first.unsubscribe()).await.unwrap();
    let ending = tokio::spawn(second.unsubscribe());
    let request = script.expect("events/unsubscribe").await;
    script
        .respond(&request, json!({"resultType": "complete"}))
        .await;
    within(ending).await.unwrap().unwrap();
}
