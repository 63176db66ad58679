//! How streams of events end.

use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use toolwire_tests::peer::Peer;

use crate::sources::{Controlled, SUBSCRIPTION, desk, next, stream};

/// Expects the empty result of a stream.
async fn expect_result(peer: &mut Peer, id: &str) {
    let result = peer.receive().await;
    assert_eq!(result["id"], id, "{result}");
    assert_eq!(
        result["result"],
        json!({"resultType": "complete", "_meta": {SUBSCRIPTION: id}})
    );
}

#[tokio::test]
async fn removed_type_terminates_its_streams() {
    let (server, _incidents) = desk();
    let mut peer = Peer::connect(&server);
    peer.send(stream("s", json!({}))).await;
    next(&mut peer, &json!("s"), "active").await;
    assert!(server.remove_event("incident.created"));
    let terminated = next(&mut peer, &json!("s"), "terminated").await;
    assert_eq!(terminated["error"]["code"], -32023, "{terminated}");
    assert_eq!(terminated["error"]["data"], json!({"kind": "event"}));
    expect_result(&mut peer, "s").await;
    // The extension stays declared, and its list is empty.
    let list = toolwire_tests::peer::modern(1, "events/list", json!({}));
    assert_eq!(peer.result_of(list).await["events"], json!([]));
}

#[tokio::test]
async fn caller_that_loses_its_right_is_terminated() {
    let source = Controlled::default();
    let server = toolwire_tests::peer::server().event("topic.changed", source.clone());
    let mut peer = Peer::connect(&server);
    let params = json!({"name": "topic.changed", "arguments": {"topic": "a"}});
    peer.send(stream("s", params.clone())).await;
    next(&mut peer, &json!("s"), "active").await;
    source.is_forbidden.store(true, Ordering::Relaxed);
    source.signal.send();
    let terminated = next(&mut peer, &json!("s"), "terminated").await;
    assert_eq!(terminated["error"]["code"], -32024, "{terminated}");
    expect_result(&mut peer, "s").await;
    peer.error_of(stream("t", params), -32024).await;
}

#[tokio::test]
async fn shutdown_ends_a_stream_with_its_result() {
    let (server, _incidents) = desk();
    let mut peer = Peer::connect(&server);
    peer.send(stream("s", json!({}))).await;
    next(&mut peer, &json!("s"), "active").await;
    server.shutdown();
    expect_result(&mut peer, "s").await;
    peer.expect_end().await;
}

#[tokio::test(start_paused = true)]
async fn end_of_the_input_does_not_wait_for_streams() {
    let (server, _incidents) = desk();
    let mut peer = Peer::connect(&server);
    peer.send(stream("s", json!({}))).await;
    next(&mut peer, &json!("s"), "active").await;
    let before = Instant::now();
    peer.close_input();
    peer.expect_end().await;
    assert!(
        before.elapsed() < Duration::from_secs(1),
        "{:?}",
        before.elapsed()
    );
}
