//! The webhook subscriptions of a server.

use redis::AsyncCommands as _;
use toolwire::store::{SubscriptionRecord, SubscriptionStore as _, contract};
use toolwire::{KeyRing, StateKey};

use crate::engine::Engine;

fn keys(byte: u8) -> KeyRing {
    KeyRing::new(StateKey::new([byte; 32]))
}

fn record(id: &str) -> SubscriptionRecord {
    let record = serde_json::json!({
        "id": id, "caller": {"valid": false, "scopes": [], "claims": {}}, "url": "https://visible.example/", "name": "mail", "secret": "whsec_visible",
    });
    serde_json::from_value(record).unwrap()
}

#[tokio::test]
async fn contract_holds() {
    check_contract(&Engine::start()).await;
}

/// Checks the contract with an engine.
pub(crate) async fn check_contract(engine: &Engine) {
    let redis = engine.connect().await;
    contract::subscriptions(&redis.subscriptions("one", keys(1))).await;
}

#[tokio::test]
async fn subscriptions_are_sealed_survive_a_restart_and_belong_to_their_process() {
    let mut engine = Engine::start_persistent();
    let redis = engine.connect().await;
    let store = redis.subscriptions("one", keys(1));
    assert!(store.is_durable());
    for id in ["a", "b"] {
        store.put(record(id)).await.unwrap();
    }
    let mut commands = engine.commands().await;
    let stored: Vec<String> = commands.keys("*:subscriptions").await.unwrap();
    assert_eq!(stored.len(), 1, "{stored:?}");
    let mut values: Vec<String> = commands.hvals(&stored[0]).await.unwrap();
    assert!(values.iter().all(|value| !value.contains("visible")));
    // A record that was moved to another id does not open.
    let _: () = commands
        .hset(&stored[0], "c", values.remove(0))
        .await
        .unwrap();
    drop((redis, store, commands));

    engine.kill();
    engine.restart();
    let redis = engine.connect().await;
    let loaded = async |process: &str, byte: u8| {
        let loaded = redis.subscriptions(process, keys(byte)).load().await;
        let mut ids: Vec<String> = loaded.unwrap().into_iter().map(|one| one.id).collect();
        ids.sort();
        ids
    };
    assert_eq!(loaded("one", 1).await, ["a", "b"]);
    assert_eq!(loaded("two", 1).await, [""; 0]);
    assert_eq!(loaded("one", 2).await, [""; 0]);
}
