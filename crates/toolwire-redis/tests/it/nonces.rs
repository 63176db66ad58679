//! The store of used nonces.

use std::sync::Arc;
use std::time::Duration;

use redis::AsyncCommands as _;
use toolwire::Principal;
use toolwire::store::{NonceStore as _, contract};
use toolwire_redis::RedisOptions;

use crate::engine::Engine;

#[tokio::test]
async fn contract_holds() {
    check_contract(&Engine::start()).await;
}

/// Checks the contract with an engine.
pub(crate) async fn check_contract(engine: &Engine) {
    let connect = async || Arc::new(engine.connect().await.nonces());
    contract::nonce_store(connect).await;
    let limited = RedisOptions::new("limited").with_nonces_per_owner(5);
    let connect = async || Arc::new(engine.connect_with(limited.clone()).await.nonces());
    contract::nonce_store_owner_bound(connect, 5).await;
}

#[tokio::test]
async fn nonces_expire() {
    let engine = Engine::start();
    let options = RedisOptions::new("test").with_nonces_per_owner(1);
    let nonces = engine.connect_with(options).await.nonces();
    let lifetime = Duration::from_millis(50);
    for owner in [Principal::anonymous(), Principal::from_stored(Some("ann"))] {
        assert!(nonces.mark_used(&owner, &[1; 32], lifetime).await.unwrap());
        tokio::time::sleep(lifetime * 2).await;
        // The limit of the owner is one, so the first nonce does not count any more.
        assert!(nonces.mark_used(&owner, &[2; 32], lifetime).await.unwrap());
    }
    tokio::time::sleep(lifetime * 2).await;
    let mut commands = engine.commands().await;
    let keys: Vec<String> = commands.keys("*{*").await.unwrap();
    assert_eq!(keys, [""; 0], "expired nonces leave nothing behind");
}

#[tokio::test]
async fn services_are_separate() {
    let engine = Engine::start();
    let owner = Principal::anonymous();
    for service in ["one", "two"] {
        let nonces = engine
            .connect_with(RedisOptions::new(service))
            .await
            .nonces();
        let unused = nonces.mark_used(&owner, &[1; 32], Duration::from_secs(60));
        assert!(unused.await.unwrap(), "{service}");
    }
}
