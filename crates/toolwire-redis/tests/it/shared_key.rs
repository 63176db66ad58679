//! The key that all nodes share.

use std::time::Duration;

use redis::AsyncCommands as _;
use tokio::time::{sleep, timeout};
use toolwire_redis::Redis;
use toolwire_tests::traces::Traces;

use crate::engine::Engine;

/// The timeout of what takes a few seconds at most.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The key of the engine.
const KEY: &str = "tw:test:key";

/// Waits until a condition is met. Each look uses the connection of a node, which notices that it was lost.
async fn wait_until(node: &Redis, mut is_met: impl AsyncFnMut() -> bool) {
    let met = async {
        while node.round_trip().await.is_err() || !is_met().await {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(TIMEOUT, met).await.expect("the condition is met");
}

#[tokio::test]
async fn key_survives_an_engine_that_loses_its_data() {
    let mut engine = Engine::start();
    let (one, two) = (engine.connect().await, engine.connect().await);
    let key = one.shared_key().await.unwrap();
    assert_eq!(two.shared_key().await.unwrap(), key);
    engine.kill();
    assert!(one.round_trip().await.is_err());
    engine.restart();
    let mut commands = engine.commands().await;
    wait_until(&one, async || commands.exists(KEY).await.unwrap()).await;
    let third = engine.connect().await;
    assert_eq!(third.shared_key().await.unwrap(), key);
    assert_eq!(one.shared_key().await.unwrap(), key);
}

#[tokio::test]
async fn different_key_of_another_node_is_reported() {
    let (traces, _recording) = Traces::record();
    let engine = Engine::start();
    let node = engine.connect().await;
    let key = node.shared_key().await.unwrap();
    let mut commands = engine.commands().await;
    let _: () = commands.set(KEY, &[7; 32]).await.unwrap();
    let mut kill = redis::cmd("CLIENT");
    kill.arg("KILL").arg("TYPE").arg("normal");
    kill.arg("SKIPME").arg("yes");
    let _: u32 = kill.query_async(&mut commands).await.unwrap();
    let is_reported = async || traces.text().contains("restart this node");
    wait_until(&node, is_reported).await;
    assert_eq!(
        node.shared_key().await.unwrap(),
        key,
        "the node uses its key until it restarts"
    );
}
