//! The store of an OAuth proxy.

use std::sync::Arc;
use std::time::Duration;

use redis::AsyncCommands as _;
use toolwire::store::StoreError;
use toolwire_auth::proxy::store::{
    NewProxyRecord, OwnerLimit, ProxyOwner, ProxyRecord, ProxyStore as _, contract,
};
use toolwire_redis::{RedisOptions, RedisProxyStore};

use crate::engine::Engine;

/// The time to live of records whose end tests wait for.
const TTL: Duration = Duration::from_millis(600);

const HOUR: Duration = Duration::from_secs(3600);

fn record(text: &str) -> NewProxyRecord {
    NewProxyRecord::new(text, HOUR)
}

#[tokio::test]
async fn contract_holds() {
    check_contract(&Engine::start()).await;
}

/// Checks the contract with an engine.
pub(crate) async fn check_contract(engine: &Engine) {
    let connect = async || Arc::new(engine.connect().await.proxy_store());
    contract::proxy_store(connect, TTL).await;
    let limited = RedisOptions::new("limited")
        .with_proxy_clients(3)
        .with_proxy_logins(3)
        .with_proxy_grants(3);
    let store = engine.connect_with(limited).await.proxy_store();
    contract::proxy_store_bound(&store, 3, TTL).await;
}

#[tokio::test]
async fn each_call_is_one_command() {
    let engine = Engine::start();
    let redis = engine.connect().await;
    let (store, kind, key) = (redis.proxy_store(), ProxyRecord::Grant, [1; 32]);
    store.put(kind, &key, record("a")).await.unwrap();
    store.get(kind, &key).await.unwrap();
    let replaced = store.replace(kind, &key, "a", record("b"));
    assert!(replaced.await.unwrap());
    store.take(kind, &key).await.unwrap();
    let counters = redis.counters();
    let mut calls = counters.calls.iter();
    let calls = calls.find(|calls| calls.store == "proxy").unwrap();
    assert_eq!(calls.succeeded, 4);
}

#[tokio::test]
async fn everything_expires() {
    let engine = Engine::start();
    let store = engine.connect().await.proxy_store();
    let owner = ProxyOwner::new([1; 32], 5, OwnerLimit::Reject);
    let kind = ProxyRecord::Grant;
    let put = store.put(kind, &[1; 32], record("a").with_owner(owner));
    put.await.unwrap();
    let put = store.put(kind, &[2; 32], record("b").with_owner(owner));
    put.await.unwrap();
    store.take(kind, &[2; 32]).await.unwrap();
    let mut commands = engine.commands().await;
    let keys: Vec<String> = commands.keys("*{*").await.unwrap();
    // Two records, and the sorted sets of the kind and of the owner.
    assert_eq!(keys.len(), 5, "{keys:?}");
    for key in keys {
        let ttl: i64 = commands.pttl(&key).await.unwrap();
        assert!(ttl > 0, "{key} never expires");
    }
}

#[tokio::test]
async fn lost_responses_are_repeated_with_one_effect() {
    let engine = Engine::start();
    let store = engine.connect().await.proxy_store();
    let kind = ProxyRecord::Grant;
    let mut commands = engine.commands().await;
    for number in 0..5 {
        let key = [number; 32];
        close_connections(&mut commands).await;
        store.put(kind, &key, record("a")).await.unwrap();
        close_connections(&mut commands).await;
        assert!(store.replace(kind, &key, "a", record("b")).await.unwrap());
        close_connections(&mut commands).await;
        let taken = store.take(kind, &key).await.unwrap();
        assert_eq!(taken.as_deref(), Some("b"));
        assert_eq!(store.take(kind, &key).await.unwrap(), None);
    }
}

async fn close_connections(commands: &mut redis::aio::MultiplexedConnection) {
    let mut kill = redis::cmd("CLIENT");
    kill.arg("KILL").arg("TYPE").arg("normal");
    kill.arg("SKIPME").arg("yes");
    let _: u32 = kill.query_async(commands).await.unwrap();
}

#[tokio::test]
async fn full_engine_rejects_new_records_and_serves_stored_ones() {
    let engine = Engine::start();
    let store = engine.connect().await.proxy_store();
    let kind = ProxyRecord::Grant;
    put(&store, 1).await.unwrap();
    let mut commands = engine.commands().await;
    let mut set = redis::cmd("CONFIG");
    set.arg("SET").arg("maxmemory").arg("1");
    set.exec_async(&mut commands).await.unwrap();
    let rejected = put(&store, 2).await;
    assert!(matches!(rejected, Err(StoreError::Full)), "{rejected:?}");
    let replaced = store.replace(kind, &[1; 32], "a", record("b")).await;
    assert!(replaced.unwrap(), "a user who has logged in stays so");
    let taken = store.take(kind, &[1; 32]).await.unwrap();
    assert_eq!(taken.as_deref(), Some("b"));
}

async fn put(store: &RedisProxyStore, number: u8) -> Result<(), StoreError> {
    let kind = ProxyRecord::Grant;
    store.put(kind, &[number; 32], record("a")).await
}

#[tokio::test]
async fn engine_that_is_away_is_reported() {
    let mut engine = Engine::start();
    let store = engine.connect().await.proxy_store();
    store.check().await.unwrap();
    engine.kill();
    assert!(store.check().await.is_err());
    assert!(store.get(ProxyRecord::Grant, &[1; 32]).await.is_err());
}
