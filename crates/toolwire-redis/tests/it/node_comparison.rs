//! The comparison of a node with the one that started before it.

use toolwire::{KeyRing, StateKey};
use toolwire_redis::{Redis, RedisOptions};

use crate::engine::Engine;

fn keys(byte: u8) -> KeyRing {
    KeyRing::new(StateKey::new([byte; 32]))
}

fn warns_of_seals(redis: &Redis) -> bool {
    let mut warnings = redis.warnings().iter();
    warnings.any(|warning| warning.remedy.contains("`with_sealing`"))
}

#[tokio::test]
async fn node_with_other_request_state_keys_is_reported_with_the_remedy() {
    let engine = Engine::start();
    let (one, two) = (engine.connect().await, engine.connect().await);
    let check = async |redis: &Redis, keys: KeyRing| {
        let warning = redis.check_request_state_keys(&keys).await.unwrap();
        warning.map(|warning| warning.remedy)
    };
    let remedy = Some("pass the same keys to `with_request_state_keys` on all nodes".to_owned());
    assert_eq!(check(&one, keys(1)).await, None);
    assert_eq!(check(&two, keys(1)).await, None);
    assert_eq!(check(&two, keys(2)).await, remedy);
    // The keys are rotated: first all nodes can open both.
    assert_eq!(check(&two, keys(1)).await, remedy);
    let prepared = keys(1).with_older(StateKey::new([3; 32]));
    let rotated = keys(3).with_older(StateKey::new([1; 32]));
    for ring in [
        prepared.clone(),
        prepared,
        rotated.clone(),
        rotated,
        keys(3),
    ] {
        assert_eq!(check(&one, ring).await, None);
    }
    assert_eq!(check(&two, keys(1)).await, remedy);
}

#[tokio::test]
async fn inspection_does_not_change_what_nodes_compare() {
    let engine = Engine::start();
    let sealed = || RedisOptions::new("test").with_sealing(keys(1));
    let node = engine.connect_with(sealed()).await;
    node.check_request_state_keys(&keys(1)).await.unwrap();

    let inspection = RedisOptions::new("test").with_inspection_only();
    let tool = engine.connect_with(inspection).await;
    assert!(!warns_of_seals(&tool), "a tool needs no keys");
    let warning = tool.check_request_state_keys(&keys(2)).await.unwrap();
    assert!(warning.is_some(), "keys that it has are compared");
    let other_seals = RedisOptions::new("test").with_sealing(keys(2));
    let tool = engine
        .connect_with(other_seals.with_inspection_only())
        .await;
    assert!(warns_of_seals(&tool));

    let next = engine.connect_with(sealed()).await;
    assert!(!warns_of_seals(&next), "{:?}", next.warnings());
    let warning = next.check_request_state_keys(&keys(1)).await.unwrap();
    assert_eq!(warning, None);
}
