//! Sentinels that promote a replica.

use std::time::Duration;

use tokio::time::{sleep, timeout};
use toolwire::store::{Bus as _, BusDelivery, NonceStore as _, StoreError};
use toolwire::{Change, Principal};
use toolwire_redis::{ConnectError, Redis, RedisNonceStore, RedisOptions};

use crate::engine::{Engine, free_port};

/// The timeout of what takes a few seconds at most.
const TIMEOUT: Duration = Duration::from_secs(60);

async fn mark(nonces: &RedisNonceStore, number: u8) -> Result<bool, StoreError> {
    let lifetime = Duration::from_secs(60);
    let owner = Principal::anonymous();
    nonces.mark_used(&owner, &[number; 32], lifetime).await
}

/// Waits until a command to a sentinel returns something that satisfies a condition.
async fn wait_until(sentinel: &Engine, arguments: &[&str], is_met: impl Fn(&str) -> bool) {
    let mut commands = sentinel.commands().await;
    let met = async {
        loop {
            let mut ask = redis::cmd("SENTINEL");
            ask.arg(arguments);
            let response: redis::Value = ask.query_async(&mut commands).await.unwrap();
            if is_met(&format!("{response:?}")) {
                return;
            }
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(TIMEOUT, met).await.expect("the sentinel responds");
}

#[tokio::test]
async fn connection_follows_the_promoted_replica() {
    let ports = [free_port(), free_port(), free_port()];
    let [primary_port, replica_port, sentinel_port] = ports.map(|port| port.to_string());
    let mut primary = Engine::start_with(&["--port", &primary_port, "--save", ""]);
    let _replica = Engine::start_with(&[
        "--port",
        &replica_port,
        "--save",
        "",
        "--replicaof",
        &format!("127.0.0.1 {primary_port}"),
    ]);
    let sentinel = Engine::start_sentinel(&format!(
        "port {sentinel_port}\n\
         sentinel monitor main 127.0.0.1 {primary_port} 1\n\
         sentinel down-after-milliseconds main 500\n\
         sentinel failover-timeout main 3000\n"
    ));
    wait_until(&sentinel, &["REPLICAS", "main"], |text| {
        text.contains(&replica_port) && text.contains("master-link-status") && text.contains("ok")
    })
    .await;

    // A sentinel that is away is skipped.
    let absent = free_port();
    let url = format!("redis+sentinel://127.0.0.1:{absent},127.0.0.1:{sentinel_port}/main");
    let redis = Redis::connect(&url, RedisOptions::new("test")).await;
    let redis = redis.unwrap_or_else(|error| panic!("{error}"));
    let nonces = redis.nonces();
    assert!(mark(&nonces, 1).await.unwrap());
    let bus = redis.bus();
    let mut subscription = bus.subscribe().await.unwrap();

    primary.kill();
    assert!(mark(&nonces, 2).await.is_err());
    let follows = async {
        while mark(&nonces, 3).await.is_err() {
            sleep(Duration::from_millis(50)).await;
        }
    };
    let followed = timeout(TIMEOUT, follows).await;
    followed.expect("the promoted replica is used");
    // The bus works again, and reports that messages may have been lost.
    let change = toolwire::store::BusPayload::Change(Change::ResourceUpdated("a:b".into()));
    let message = toolwire::store::BusMessage::new("node", change);
    let heard = async {
        let mut was_reported = false;
        loop {
            let _ = bus.publish_all(std::slice::from_ref(&message)).await;
            match timeout(Duration::from_millis(100), subscription.next()).await {
                Ok(Some(BusDelivery::Lagged)) => was_reported = true,
                Ok(Some(_)) => return was_reported,
                Ok(None) => panic!("the bus closed"),
                Err(_) => {}
            }
        }
    };
    assert!(timeout(TIMEOUT, heard).await.expect("the bus works again"));
    let counters = redis.counters();
    assert!(counters.is_connected && counters.reconnects > 0);

    let unknown = format!("redis+sentinel://127.0.0.1:{sentinel_port}/other");
    let error = Redis::connect(&unknown, RedisOptions::new("test")).await;
    let error = error.unwrap_err();
    assert!(matches!(error, ConnectError::Unavailable(_)), "{error}");
    let text = error.to_string();
    assert!(text.contains("does not know the service"), "{text}");
}
