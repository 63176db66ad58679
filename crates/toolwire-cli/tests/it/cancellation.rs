//! Cancelled requests stop and get no response.

use serde_json::{Value, json};

use crate::process::{Demo, Era, within};

#[tokio::test]
async fn cancelled_countdown_stops_and_gets_no_response() {
    for era in Era::BOTH {
        let mut demo = Demo::start(era).await;
        let countdown = demo.start_countdown(100_000, 5).await;
        assert_eq!(demo.call_text("active", json!({})).await, "1");
        demo.send(&cancel_notification(countdown)).await;
        within(wait_until_idle(&mut demo)).await;
        let ended = demo.end().await;
        assert!(ended.status.success());
        assert!(!ended.responses.contains_key(&countdown));
    }
}

#[tokio::test]
async fn cancellation_affects_one_request() {
    let mut demo = Demo::start(Era::Modern).await;
    let endless = demo.start_countdown(100_000, 5).await;
    let short = demo
        .start_call("countdown", json!({"from": 20, "delay_ms": 5}))
        .await;
    demo.send(&cancel_notification(endless)).await;
    let response = demo.response(short).await;
    assert_eq!(
        response["result"]["content"][0]["text"],
        "counted down from 20"
    );
    within(wait_until_idle(&mut demo)).await;
    demo.end_successfully().await;
}

#[tokio::test]
async fn cancellation_of_unknown_requests_is_ignored() {
    for era in Era::BOTH {
        let mut demo = Demo::start(era).await;
        demo.call_text("echo", json!({"text": "done"})).await;
        for id in [1, 2, 99] {
            demo.send(&cancel_notification(id)).await;
        }
        demo.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled"}))
            .await;
        assert_eq!(demo.call_text("echo", json!({"text": "up"})).await, "up");
        demo.end_successfully().await;
    }
}

fn cancel_notification(id: i64) -> Value {
    let params = json!({"requestId": id, "reason": "changed my mind"});
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
}

/// Polls until no countdown runs. A cancelled countdown is dropped by another task than the one that reads messages.
async fn wait_until_idle(demo: &mut Demo) {
    while demo.call_text("active", json!({})).await != "0" {}
}
