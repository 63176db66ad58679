//! The hooks of a source for the first and the last subscription.

use std::time::Duration;

use serde_json::{Value, json};
use toolwire_tests::peer::{Peer, notification, server};

use crate::sources::{Controlled, next, poll, stream};

fn topic(topic: &str) -> Value {
    json!({"name": "topic.changed", "arguments": {"topic": topic}})
}

async fn open(peer: &mut Peer, id: i64, name: &str) {
    peer.send(stream(id, topic(name))).await;
    next(peer, &json!(id), "active").await;
}

async fn cancel(peer: &mut Peer, id: i64) {
    let params = json!({"requestId": id});
    peer.send(notification("notifications/cancelled", params))
        .await;
    peer.expect_silence().await;
}

#[tokio::test]
async fn hooks_run_for_the_first_and_the_last_stream_of_a_key() {
    let source = Controlled::default();
    let server = server().event("topic.changed", source.clone());
    let mut peer = Peer::connect(&server);
    open(&mut peer, 1, "a").await;
    open(&mut peer, 2, "a").await;
    open(&mut peer, 3, "b").await;
    assert_eq!(source.take_log(), ["subscribed a", "subscribed b"]);
    cancel(&mut peer, 1).await;
    assert!(source.take_log().is_empty(), "another stream is open");
    cancel(&mut peer, 2).await;
    assert_eq!(source.take_log(), ["unsubscribed a"]);
    open(&mut peer, 4, "a").await;
    assert_eq!(source.take_log(), ["subscribed a"]);
    drop(peer);
    while source.log.lock().unwrap().len() < 2 {
        source.logged.notified().await;
    }
    let mut log = source.take_log();
    log.sort();
    assert_eq!(log, ["unsubscribed a", "unsubscribed b"]);
}

#[tokio::test(start_paused = true)]
async fn poll_is_a_subscription_for_five_minutes() {
    let source = Controlled::default();
    let server = server().event("topic.changed", source.clone());
    let mut peer = Peer::connect(&server);
    peer.result_of(poll(1, topic("a"))).await;
    assert_eq!(source.take_log(), ["subscribed a"]);
    tokio::time::sleep(Duration::from_secs(299)).await;
    peer.result_of(poll(2, topic("a"))).await;
    tokio::time::sleep(Duration::from_secs(299)).await;
    assert!(
        source.take_log().is_empty(),
        "the second poll extended the lease"
    );
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(source.take_log(), ["unsubscribed a"]);
    peer.result_of(poll(3, topic("a"))).await;
    assert_eq!(source.take_log(), ["subscribed a"]);
}
