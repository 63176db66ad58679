use std::sync::Arc;
use std::time::Duration;

use toolwire::store::StoreError;

use super::*;
use crate::proxy::store::{OwnerLimit, ProxyOwner, contract};

const HOUR: Duration = Duration::from_secs(3600);

fn key(number: usize) -> RecordKey {
    let mut key = [0; 32];
    for (byte, digit) in key.iter_mut().zip(number.to_be_bytes()) {
        *byte = digit;
    }
    key
}

fn small(limit: usize) -> MemoryProxyStore {
    MemoryProxyStore::new(MemoryProxyLimits {
        clients: limit,
        logins: limit,
        grants: limit,
        ..MemoryProxyLimits::default()
    })
}

fn empty() -> NewProxyRecord {
    NewProxyRecord::new("", HOUR)
}

async fn put(
    store: &MemoryProxyStore,
    kind: ProxyRecord,
    number: usize,
    record: NewProxyRecord,
) -> bool {
    match store.put(kind, &key(number), record).await {
        Ok(()) => true,
        Err(StoreError::Full) => false,
        Err(error) => panic!("{error}"),
    }
}

async fn has(store: &MemoryProxyStore, kind: ProxyRecord, number: usize) -> bool {
    store.get(kind, &key(number)).await.unwrap().is_some()
}

#[tokio::test]
async fn store_meets_the_contract() {
    let shortest = Duration::from_millis(100);
    let store = Arc::new(MemoryProxyStore::default());
    contract::proxy_store(async || Arc::clone(&store), shortest).await;
    contract::proxy_store_bound(&small(3), 3, shortest).await;
}

#[tokio::test]
async fn default_limits_reject_one_more_record() {
    for (kind, limit) in [
        (ProxyRecord::Client, 50_000),
        (ProxyRecord::Login, 10_000),
        (ProxyRecord::Grant, 50_000),
    ] {
        let store = MemoryProxyStore::default();
        for number in 0..limit {
            assert!(put(&store, kind, number, empty()).await, "{kind:?}");
        }
        assert!(!put(&store, kind, limit, empty()).await, "{kind:?}");
        assert!(has(&store, kind, 0).await, "{kind:?}");
        // A record that replaces another needs no more space.
        assert!(put(&store, kind, 0, empty()).await, "{kind:?}");
        store.take(kind, &key(1)).await.unwrap();
        assert!(put(&store, kind, limit, empty()).await, "{kind:?}");
    }
}

#[tokio::test]
async fn bytes_of_a_kind_are_limited() {
    let store = MemoryProxyStore::new(MemoryProxyLimits {
        bytes: 10,
        ..MemoryProxyLimits::default()
    });
    let kind = ProxyRecord::Client;
    let of_length = |length: usize| NewProxyRecord::new("a".repeat(length), HOUR);
    assert!(put(&store, kind, 1, of_length(4)).await);
    assert!(!put(&store, kind, 2, of_length(7)).await);
    assert!(put(&store, kind, 2, of_length(6)).await);
    assert!(!put(&store, kind, 3, of_length(1)).await);
    // Other kinds have separate space, and removal frees space.
    assert!(put(&store, ProxyRecord::Login, 3, of_length(10)).await);
    store.take(kind, &key(1)).await.unwrap();
    assert!(put(&store, kind, 3, of_length(4)).await);
    // The new record evicts as many unprotected records as it needs.
    let unprotected = of_length(3).with_protection(Duration::ZERO);
    for number in [2, 3] {
        assert!(put(&store, kind, number, unprotected.clone()).await);
    }
    assert!(put(&store, kind, 4, of_length(9)).await);
    assert!(!has(&store, kind, 2).await && !has(&store, kind, 3).await);
}

#[tokio::test(start_paused = true)]
async fn unprotected_records_are_evicted_oldest_first() {
    let store = small(3);
    let kind = ProxyRecord::Client;
    let minute = Duration::from_secs(60);
    assert!(put(&store, kind, 0, empty()).await);
    for number in [1, 2] {
        let record = empty().with_protection(minute);
        assert!(put(&store, kind, number, record).await);
        tokio::time::advance(Duration::from_secs(1)).await;
    }
    assert!(!put(&store, kind, 3, empty()).await);
    tokio::time::advance(minute - Duration::from_secs(2)).await;
    assert!(put(&store, kind, 3, empty()).await);
    assert!(!has(&store, kind, 1).await);
    assert!(!put(&store, kind, 4, empty()).await);
    tokio::time::advance(Duration::from_secs(1)).await;
    assert!(put(&store, kind, 4, empty()).await);
    assert!(!has(&store, kind, 2).await);
    assert!(has(&store, kind, 0).await, "protected until it expires");
}

#[tokio::test]
async fn rejected_record_removes_nothing() {
    let store = small(2);
    let kind = ProxyRecord::Grant;
    let owner = ProxyOwner::new([1; 32], 1, OwnerLimit::RemoveFirst);
    assert!(put(&store, kind, 1, empty().with_owner(owner)).await);
    assert!(put(&store, kind, 2, empty()).await);
    let other = ProxyOwner::new([2; 32], 1, OwnerLimit::RemoveFirst);
    assert!(!put(&store, kind, 3, empty().with_owner(other)).await);
    assert!(has(&store, kind, 1).await && has(&store, kind, 2).await);
    // In a full table, an owner can still replace its own record.
    assert!(put(&store, kind, 3, empty().with_owner(owner)).await);
    assert!(!has(&store, kind, 1).await && has(&store, kind, 2).await);
}

#[tokio::test(start_paused = true)]
async fn record_expires_after_its_lifetime() {
    let store = MemoryProxyStore::default();
    let (kind, one) = (ProxyRecord::Login, key(1));
    let lifetime = Duration::from_secs(60);
    let record = NewProxyRecord::new("", lifetime);
    assert!(put(&store, kind, 1, record.clone()).await);
    tokio::time::advance(lifetime - Duration::from_millis(1)).await;
    assert!(has(&store, kind, 1).await);
    tokio::time::advance(Duration::from_millis(1)).await;
    assert_eq!(store.take(kind, &one).await.unwrap(), None);
    assert!(!store.replace(kind, &one, "", record).await.unwrap());
}
