//! Malformed messages that a webhook receiver gets.

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use serde_json::json;
use toolwire::Client;
use toolwire::events::WebhookReceiver;
use toolwire_proto::events::webhook::secret::WebhookSecret;
use toolwire_proto::events::webhook::signature::sign;
use toolwire_tests::peer::within;
use toolwire_tests::traces::Traces;
use tower_service::Service as _;

use crate::client::{connect, with_events};

/// Returns the current time as the header of a request has it.
fn now() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.unwrap().as_secs()
}

#[tokio::test]
async fn long_text_of_a_malformed_message_is_not_logged() {
    let (client, mut script) = connect(Client::builder("c", "1"), with_events()).await;
    let mut receiver = WebhookReceiver::new("https://app.example/hooks");
    let subscribing = receiver.clone();
    let subscribing = async { subscribing.subscribe(&client, "x", json!({})).await };
    let responding = async {
        let request = script.expect("events/subscribe").await;
        let result = json!({"resultType": "complete", "id": "sub_1", "truncated": false});
        script.respond(&request, result).await;
        request
    };
    let (subscription, request) = within(async { tokio::join!(subscribing, responding) }).await;
    let _subscription = subscription.unwrap();
    let secret = request.params["delivery"]["secret"].as_str().unwrap();
    let secret = WebhookSecret::parse(secret).unwrap();
    let body = json!({"type": "terminated", "error": "x".repeat(100_000)}).to_string();
    let now = now();
    let message = Request::post("/hooks")
        .header("webhook-id", "m")
        .header("webhook-timestamp", now)
        .header(
            "webhook-signature",
            sign([&secret], "m", now, body.as_bytes()),
        )
        .header("x-mcp-subscription-id", "sub_1")
        .body(Full::new(Bytes::from(body)))
        .unwrap();
    let (traces, _guard) = Traces::record();
    let response = receiver.call(message).await;
    let response = response.unwrap_or_else(|never| match never {});
    assert_eq!(response.status(), 400);
    let text = traces.text();
    assert!(text.contains("a webhook message is malformed"), "{text}");
    assert!(text.contains("xxx"), "the start of the text is logged");
    assert!(!text.contains(&"x".repeat(200)));
}
