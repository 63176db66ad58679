//! The clock ticks for whoever listens.

use serde_json::{Value, json};

use crate::process::{Demo, Era};

const CLOCK: &str = "demo://clock";

#[tokio::test]
async fn two_listeners_both_hear_the_clock() {
    let mut demo = Demo::start(Era::Newest).await;
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
    // The round trip makes sure that the cancellation was read.
    demo.call_text("echo", json!({"text": "up"})).await;
    demo.unasked.clear();
    tick_for(&mut demo, second).await;
    assert_eq!(demo.unasked, Vec::<Value>::new());
    demo.end_well().await;
}

/// Opens a stream and waits until it is acknowledged.
async fn listen(demo: &mut Demo) -> i64 {
    let wanted = json!({"notifications": {"resourceSubscriptions": [CLOCK]}});
    let id = demo.request("subscriptions/listen", wanted).await;
    let acknowledged = demo
        .unasked_where(|message| subscription_of(message) == id)
        .await;
    assert_eq!(
        acknowledged["method"],
        "notifications/subscriptions/acknowledged"
    );
    id
}

async fn tick_for(demo: &mut Demo, subscription: i64) {
    let tick = demo
        .unasked_where(|message| subscription_of(message) == subscription)
        .await;
    assert_eq!(tick["method"], "notifications/resources/updated");
    assert_eq!(tick["params"]["uri"], CLOCK);
}

fn subscription_of(message: &Value) -> &Value {
    &message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"]
}

#[tokio::test]
async fn a_subscriber_of_the_older_era_hears_the_clock() {
    let mut demo = Demo::start(Era::Handshake).await;
    let answer = demo.ask("resources/subscribe", json!({"uri": CLOCK})).await;
    assert_eq!(answer["result"], json!({}));
    let tick = demo.unasked_where(|_| true).await;
    assert_eq!(tick["method"], "notifications/resources/updated");
    assert_eq!(tick["params"], json!({"uri": CLOCK}));
    demo.ask("resources/unsubscribe", json!({"uri": CLOCK}))
        .await;
    demo.end_well().await;
}

#[tokio::test]
async fn open_streams_do_not_hold_the_process() {
    let mut demo = Demo::start(Era::Newest).await;
    listen(&mut demo).await;
    demo.end_well().await;
}

#[tokio::test]
async fn a_resource_changes_when_asked_to() {
    const COUNTER: &str = "demo://counter";
    for era in Era::BOTH {
        let mut demo = Demo::start(era).await;
        match era {
            Era::Newest => {
                let wanted = json!({"notifications": {"resourceSubscriptions": [COUNTER]}});
                demo.request("subscriptions/listen", wanted).await;
                demo.unasked_where(|message| {
                    message["method"] == "notifications/subscriptions/acknowledged"
                })
                .await;
            }
            Era::Handshake => {
                demo.ask("resources/subscribe", json!({"uri": COUNTER}))
                    .await;
            }
        }
        for count in 1..=2 {
            let bumped = demo.call_text("bump", json!({})).await;
            assert_eq!(bumped, count.to_string());
            let told = demo.unasked_where(|_| true).await;
            assert_eq!(told["method"], "notifications/resources/updated");
            assert_eq!(told["params"]["uri"], COUNTER);
            let read = demo.ask("resources/read", json!({"uri": COUNTER})).await;
            assert_eq!(read["result"]["contents"][0]["text"], bumped);
        }
        demo.end_well().await;
    }
}

#[tokio::test]
async fn lists_change_when_asked_to() {
    let mut demo = Demo::start(Era::Handshake).await;
    for (list, entry) in [
        ("tools", "extra_tool"),
        ("prompts", "extra_prompt"),
        ("resources", "extra"),
    ] {
        for expected in ["added", "removed"] {
            let done = demo.call_text("change_list", json!({"list": list})).await;
            assert_eq!(done, expected);
            let told = demo.unasked_where(|_| true).await;
            assert_eq!(told["method"], format!("notifications/{list}/list_changed"));
            let answer = demo.ask(&format!("{list}/list"), json!({})).await;
            let entries = answer["result"][list].as_array().unwrap();
            let listed = entries.iter().any(|listed| listed["name"] == entry);
            assert_eq!(listed, expected == "added", "{answer}");
        }
    }
    demo.end_well().await;
}
