use std::sync::Arc;

use super::*;
use crate::engine::TokenInfo;
use crate::store::contract;

const LIFETIME: Duration = Duration::from_secs(60);

fn user(name: &str) -> Principal {
    Principal::of(&TokenInfo {
        valid: true,
        subject: Some(name.to_owned()),
        ..TokenInfo::default()
    })
}

/// A fingerprint with this number in it.
fn fingerprint(number: usize) -> [u8; 32] {
    let mut fingerprint = [0; 32];
    fingerprint[8..16].copy_from_slice(&number.to_le_bytes());
    fingerprint
}

async fn spend(
    store: &MemoryNonceStore,
    owner: &Principal,
    number: usize,
) -> Result<bool, StoreError> {
    store.mark_used(owner, &fingerprint(number), LIFETIME).await
}

#[tokio::test]
async fn it_keeps_the_contract() {
    contract::nonce_store(async || Arc::new(MemoryNonceStore::default())).await;
    contract::nonce_store_owner_bound(
        async || Arc::new(MemoryNonceStore::default().with_owner_limit(3)),
        3,
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_nonce_is_forgotten_when_it_has_expired() {
    let (store, ann) = (MemoryNonceStore::default(), user("ann"));
    assert!(spend(&store, &ann, 1).await.unwrap());
    tokio::time::advance(LIFETIME).await;
    assert!(!spend(&store, &ann, 1).await.unwrap());
    // Whole seconds count.
    tokio::time::advance(Duration::from_secs(1)).await;
    assert!(spend(&store, &ann, 1).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_full_store_rejects_until_there_is_room() {
    let (store, anonymous) = (MemoryNonceStore::new(2), Principal::anonymous());
    assert!(spend(&store, &anonymous, 1).await.unwrap());
    assert!(spend(&store, &anonymous, 2).await.unwrap());
    let full = spend(&store, &anonymous, 3).await;
    assert!(matches!(full, Err(StoreError::Full)));
    assert!(!spend(&store, &anonymous, 2).await.unwrap());
    tokio::time::advance(LIFETIME + Duration::from_secs(1)).await;
    assert!(spend(&store, &anonymous, 3).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn one_owner_fills_its_own_share_only() {
    let store = MemoryNonceStore::default();
    let (ann, bob) = (user("ann"), user("bob"));
    for number in 0..DEFAULT_OWNER_LIMIT {
        assert!(spend(&store, &ann, number).await.unwrap(), "{number}");
    }
    let full = spend(&store, &ann, DEFAULT_OWNER_LIMIT).await;
    assert!(matches!(full, Err(StoreError::OwnerFull)));
    assert!(!spend(&store, &ann, 0).await.unwrap());
    for other in [&bob, &Principal::anonymous()] {
        assert!(spend(&store, other, DEFAULT_OWNER_LIMIT).await.unwrap());
    }
    // Its share is free again when its nonces have expired.
    tokio::time::advance(LIFETIME + Duration::from_secs(1)).await;
    assert!(spend(&store, &ann, DEFAULT_OWNER_LIMIT).await.unwrap());
    let used = store.used.lock().unwrap();
    assert_eq!((used.owners.len(), used.counts.len()), (1, 1));
}

#[tokio::test]
async fn the_anonymous_principal_has_no_share() {
    let store = MemoryNonceStore::new(10).with_owner_limit(1);
    for number in 0..10 {
        let spent = spend(&store, &Principal::anonymous(), number).await;
        assert!(spent.unwrap());
    }
}

/// Tables have a byte for each place besides what is in it; a BTreeMap of seconds is negligible.
fn bytes_of(used: &Used) -> usize {
    let owners = used.owners.capacity() * 8 / 7 * (size_of::<(Digest, OwnerHash)>() + 1);
    let counts = used.counts.capacity() * 8 / 7 * (size_of::<(OwnerHash, u32)>() + 1);
    let lists = used.by_expiry.values().map(Vec::capacity).sum::<usize>() * size_of::<Digest>();
    owners + counts + lists
}

#[tokio::test(start_paused = true)]
async fn a_nonce_takes_as_many_bytes_as_documented() {
    // Right after tables have grown is when they are emptiest.
    let count = (1 << 16) * 7 / 8 + 1;
    let store = MemoryNonceStore::new(count);
    for number in 0..count {
        assert!(
            spend(&store, &user(&number.to_string()), number)
                .await
                .unwrap()
        );
    }
    let used = store.used.lock().unwrap();
    let each = bytes_of(&used) / count;
    assert!(each <= 140, "{each} bytes");
}
