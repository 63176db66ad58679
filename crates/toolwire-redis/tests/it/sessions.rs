//! The store of sessions.

use std::sync::Arc;
use std::time::Duration;

use redis::AsyncCommands as _;
use toolwire::Principal;
use toolwire::store::{SessionRecord, SessionStore as _, StoreError, contract};
use toolwire::types::ProtocolVersion;
use toolwire_redis::RedisOptions;

use crate::engine::Engine;

/// The time to live of sessions whose end tests wait for.
const TTL: Duration = Duration::from_millis(600);

#[tokio::test]
async fn contract_holds() {
    let engine = Engine::start();
    let connect = async || Arc::new(engine.connect().await.sessions());
    contract::session_store(connect, TTL).await;
    let limited = RedisOptions::new("limited").with_sessions_per_principal(3);
    let sessions = engine.connect_with(limited).await.sessions();
    contract::session_store_bound(&sessions, 3, TTL).await;
}

#[tokio::test]
async fn session_is_created_with_two_requests() {
    let engine = Engine::start();
    let redis = engine.connect().await;
    let owner = Principal::from_stored(Some("ann"));
    let record = SessionRecord::new(ProtocolVersion::V2025_11_25, Default::default(), None);
    let created = redis.sessions().create("a", &owner, record, TTL).await;
    created.unwrap();
    let counters = redis.counters();
    let mut calls = counters.calls.iter();
    let calls = calls.find(|calls| calls.store == "sessions").unwrap();
    // One script adds it to the sessions of its principal, which have one key.
    assert_eq!(calls.succeeded, 2);
}

#[tokio::test]
async fn everything_expires() {
    let engine = Engine::start();
    let sessions = engine.connect().await.sessions();
    let owner = Principal::from_stored(Some("ann"));
    let record = SessionRecord::new(ProtocolVersion::V2025_11_25, Default::default(), None);
    let created = sessions.create("a", &owner, record, TTL).await;
    created.unwrap();
    let mut commands = engine.commands().await;
    let keys: Vec<String> = commands.keys("*{*").await.unwrap();
    assert_eq!(keys.len(), 2, "{keys:?}");
    for key in keys {
        let ttl: i64 = commands.pttl(&key).await.unwrap();
        assert!(ttl > 0, "{key} never expires");
    }
}

#[tokio::test]
async fn session_of_a_newer_version_is_an_error() {
    let engine = Engine::start();
    let sessions = engine.connect().await.sessions();
    let owner = Principal::anonymous();
    let record = SessionRecord::new(ProtocolVersion::V2025_11_25, Default::default(), None);
    let created = sessions.create("a", &owner, record, TTL * 100).await;
    created.unwrap();
    let mut commands = engine.commands().await;
    let key = "tw:test:{s:a}:s:-";
    let mut value: Vec<u8> = commands.get(key).await.unwrap();
    value[8] += 1;
    let _: () = commands.set(key, value).await.unwrap();
    let error = sessions.load("a", &owner, TTL, None).await.unwrap_err();
    assert!(matches!(error, StoreError::UnsupportedFormat), "{error:?}");
}

#[tokio::test]
async fn all_ended_sessions_make_room_for_new_ones() {
    const LIMIT: usize = 600;
    let engine = Engine::start();
    let options = RedisOptions::new("test").with_sessions_per_principal(LIMIT);
    let sessions = engine.connect_with(options).await.sessions();
    let owner = Principal::from_stored(Some("ann"));
    let create = async |id: String| {
        let record = SessionRecord::new(ProtocolVersion::V2025_11_25, Default::default(), None);
        sessions.create(&id, &owner, record, TTL * 1000).await
    };
    for number in 0..LIMIT {
        create(format!("{number:03}")).await.unwrap();
    }
    let rejected = create("rejected".to_owned()).await;
    assert!(matches!(rejected, Err(StoreError::Full)), "{rejected:?}");
    // The newest session ends as if it had expired.
    let mut commands = engine.commands().await;
    let ended: Vec<String> = commands.keys("tw:test:{s:599}:s:*").await.unwrap();
    let removed: usize = commands.del(&ended).await.unwrap();
    assert_eq!(removed, 1);
    create("new".to_owned()).await.unwrap();
    let rejected = create("rejected".to_owned()).await;
    assert!(matches!(rejected, Err(StoreError::Full)), "{rejected:?}");
}
