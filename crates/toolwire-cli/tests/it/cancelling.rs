//! Cancelled requests stop and get no response.

use serde_json::{Value, json};

use crate::process::{Demo, Era, within};

#[tokio::test]
async fn cancelled_countdown_stops_and_gets_no_response() {
    for era in Era::BOTH {
        let mut demo = Demo::start(era).await;
        let countdown = demo.start_countdown(100_000, 5).await;
        assert_eq!(demo.call_text("active", json!({})).await, "1");
        demo.send(&cancelled(countdown)).await;
        within(nothing_runs(&mut demo)).await;
        let ended = demo.end().await;
        assert!(ended.status.success());
        assert!(!ended.responses.contains_key(&countdown));
    }
}

#[tokio::test]
async fn cancellation_affects_one_request() {
    let mut demo = Demo::start(Era::Newest).await;
    let endless = demo.start_countdown(100_000, 5).await;
    let short = demo
        .start_call("countdown", json!({"from": 20, "delay_ms": 5}))
        .await;
    demo.send(&cancelled(endless)).await;
    let response = demo.response(short).await;
    assert_eq!(
        response["result"]["content"][0]["text"],
        "counted down from 20"
    );
    within(nothing_runs(&mut demo)).await;
    demo.end_well().await;
}

#[tokio::test]
async fn cancellation_of_unknown_requests_is_ignored() {
    for era in Era::BOTH {
        let mut demo = Demo::start(era).await;
        demo.call_text("echo", json!({"text": "done"})).await;
        for id in [1, 2, 99] {
            demo.send(&cancelled(id)).await;
        }
        demo.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled"}))
            .await;
        assert_eq!(demo.call_text("echo", json!({"text": "up"})).await, "up");
        demo.end_well().await;
    }
}

fn cancelled(id: i64) -> Value {
    let params = json!({"requestId": id, "reason": "changed my mind"});
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
}

/// Polls until no countdown runs. A cancelled one is dropped at once, but not in the task that reads.
async fn nothing_runs(demo: &mut Demo) {
    while demo.call_text("active", json!({})).await != "0" {}
}
