//! The tokens of a client.

use std::sync::Arc;
use std::time::Duration;

use redis::AsyncCommands as _;
use tokio::time::timeout;
use toolwire::{KeyRing, StateKey};
use toolwire_auth::client::{TokenStore as _, contract};
use toolwire_auth::documents::Secret;

use crate::engine::Engine;

fn keys(byte: u8) -> KeyRing {
    KeyRing::new(StateKey::new([byte; 32]))
}

#[tokio::test]
async fn contract_holds() {
    check_contract(&Engine::start()).await;
}

/// Checks the contract with an engine.
pub(crate) async fn check_contract(engine: &Engine) {
    let connect = async || Arc::new(engine.connect().await.token_store("ann", keys(1)));
    contract::token_store(connect).await;
}

#[tokio::test]
async fn tokens_are_sealed_and_belong_to_their_user() {
    let engine = Engine::start();
    let redis = engine.connect().await;
    let (ann, bob) = (
        redis.token_store("ann", keys(1)),
        redis.token_store("bob", keys(1)),
    );
    ann.put("token", &Secret::from("visible")).await.unwrap();
    assert_eq!(bob.get("token").await.unwrap(), None);
    let other_keys = redis.token_store("ann", keys(2));
    assert_eq!(other_keys.get("token").await.unwrap(), None);

    let mut commands = engine.commands().await;
    let stored: Vec<String> = commands.keys("*{*").await.unwrap();
    assert_eq!(stored.len(), 1, "{stored:?}");
    let value: String = commands.get(&stored[0]).await.unwrap();
    assert!(!value.contains("visible"));
    assert!(!stored[0].contains("ann") && !stored[0].contains("token"));
    let ttl: i64 = commands.pttl(&stored[0]).await.unwrap();
    assert!(ttl > 0, "a token that is not used any more expires");
    assert_eq!(
        ann.get("token").await.unwrap(),
        Some(Secret::from("visible"))
    );
}

#[tokio::test]
async fn lock_of_a_lost_process_ends_with_its_lease() {
    let engine = Engine::start();
    let store = engine.connect().await.token_store("ann", keys(1));
    let lock = store.lock("token").await.unwrap();
    let mut commands = engine.commands().await;
    let locks: Vec<String> = commands.keys("*:lock:*").await.unwrap();
    let lease: u64 = commands.pttl(&locks[0]).await.unwrap();
    assert!((1..=30_000).contains(&lease), "{lease}");

    // The owner was stopped for longer than the lease, and another process has the lock now.
    let _: () = commands.set(&locks[0], "another").await.unwrap();
    let stored = store.put("token", &Secret::from("late")).await;
    let error = stored.unwrap_err().to_string();
    assert!(error.contains("the lock of the token was lost"), "{error}");
    assert_eq!(store.get("token").await.unwrap(), None);
    drop(lock);
    // The release of the lost lock must not release that of the other process. It runs in the background.
    tokio::time::sleep(Duration::from_millis(50)).await;
    let owner: String = commands.get(&locks[0]).await.unwrap();
    assert_eq!(owner, "another");
    let _: () = commands.del(&locks[0]).await.unwrap();
    drop(store.lock("token").await.unwrap());
    store.put("token", &Secret::from("new")).await.unwrap();
}

#[tokio::test]
async fn lost_lock_does_not_pass_to_another_caller_of_the_store() {
    let engine = Engine::start();
    let store = engine.connect().await.token_store("ann", keys(1));
    let lost = store.lock("token").await.unwrap();
    let mut commands = engine.commands().await;
    let locks: Vec<String> = commands.keys("*:lock:*").await.unwrap();
    let _: () = commands.del(&locks).await.unwrap();

    // Another caller would store its values under its own lock, and so would the one that lost its lock.
    let waiting = timeout(Duration::from_millis(100), store.lock("token")).await;
    assert!(waiting.is_err(), "the lost lock still exists");
    let stored = store.put("token", &Secret::from("late")).await;
    let error = stored.unwrap_err().to_string();
    assert!(error.contains("the lock of the token was lost"), "{error}");
    drop(lost);
    let _lock = store.lock("token").await.unwrap();
    store.put("token", &Secret::from("new")).await.unwrap();
}
