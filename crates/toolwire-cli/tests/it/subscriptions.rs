//! The clock notifies its subscribers.

use serde_json::{Value, json};

use crate::process::{Demo, Era};

const CLOCK: &str = "demo://clock";

#[tokio::test]
async fn both_subscriptions_receive_the_clock() {
    let mut demo = Demo::start(Era::Modern).await;
    let first = listen(&mut demo).await;
    let second = listen(&mut demo).await;
    for _ in 0..2 {
        tick_for(&mut demo, first).await;
        tick_for(&mut demo, second).await;
    }
    demo.send(&json!({
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": first},
    }))
    .await;
    // The round trip ensures that the cancellation was read.
    demo.call_text("echo", json!({"text": "up"})).await;
    demo.unsolicited.clear();
    tick_for(&mut demo, second).await;
    assert_eq!(demo.unsolicited, Vec::<Value>::new());
    demo.end_successfully().await;
}

/// Opens a stream and waits until it is acknowledged.
async fn listen(demo: &mut Demo) -> i64 {
    let wanted = json!({"notifications": {"resourceSubscriptions": [CLOCK]}});
    let id = demo.request("subscriptions/listen", wanted).await;
    let acknowledged = demo
        .next_unsolicited(|message| subscription_of(message) == id)
        .await;
    assert_eq!(
        acknowledged["method"],
        "notifications/subscriptions/acknowledged"
    );
    id
}

async fn tick_for(demo: &mut Demo, subscription: i64) {
    let tick = demo
        .next_unsolicited(|message| subscription_of(message) == subscription)
        .await;
    assert_eq!(tick["method"], "notifications/resources/updated");
    assert_eq!(tick["params"]["uri"], CLOCK);
}

fn subscription_of(message: &Value) -> &Value {
    &message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"]
}

#[tokio::test]
async fn legacy_subscriber_receives_the_clock() {
    let mut demo = Demo::start(Era::Legacy).await;
    let response = demo.ask("resources/subscribe", json!({"uri": CLOCK})).await;
    assert_eq!(response["result"], json!({}));
    let tick = demo.next_unsolicited(|_| true).await;
    assert_eq!(tick["method"], "notifications/resources/updated");
    assert_eq!(tick["params"], json!({"uri": CLOCK}));
    demo.ask("resources/unsubscribe", json!({"uri": CLOCK}))
        .await;
    demo.end_successfully().await;
}

#[tokio::test]
async fn open_subscriptions_do_not_delay_the_exit() {
    let mut demo = Demo::start(Era::Modern).await;
    listen(&mut demo).await;
    demo.end_successfully().await;
}

#[tokio::test]
async fn bump_changes_the_resource() {
    const COUNTER: &str = "demo://counter";
    for era in Era::BOTH {
        let mut demo = Demo::start(era).await;
        match era {
            Era::Modern => {
                let wanted = json!({"notifications": {"resourceSubscriptions": [COUNTER]}});
                demo.request("subscriptions/listen", wanted).await;
                demo.next_unsolicited(|message| {
                    message["method"] == "notifications/subscriptions/acknowledged"
                })
                .await;
            }
            Era::Legacy => {
                demo.ask("resources/subscribe", json!({"uri": COUNTER}))
                    .await;
            }
        }
        for count in 1..=2 {
            let bumped = demo.call_text("bump", json!({})).await;
            assert_eq!(bumped, count.to_string());
            let notification = demo.next_unsolicited(|_| true).await;
            assert_eq!(notification["method"], "notifications/resources/updated");
            assert_eq!(notification["params"]["uri"], COUNTER);
            let read = demo.ask("resources/read", json!({"uri": COUNTER})).await;
            assert_eq!(read["result"]["contents"][0]["text"], bumped);
        }
        demo.end_successfully().await;
    }
}

#[tokio::test]
async fn change_list_changes_every_list() {
    let mut demo = Demo::start(Era::Legacy).await;
    for (list, entry) in [
        ("tools", "extra_tool"),
        ("prompts", "extra_prompt"),
        ("resources", "extra"),
    ] {
        for expected in ["added", "removed"] {
            let done = demo.call_text("change_list", json!({"list": list})).await;
            assert_eq!(done, expected);
            let notification = demo.next_unsolicited(|_| true).await;
            assert_eq!(
                notification["method"],
                format!("notifications/{list}/list_changed")
            );
            let response = demo.ask(&format!("{list}/list"), json!({})).await;
            let entries = response["result"][list].as_array().unwrap();
            let listed = entries.iter().any(|listed| listed["name"] == entry);
            assert_eq!(listed, expected == "added", "{response}");
        }
    }
    demo.end_successfully().await;
}
