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

/// Returns a fingerprint that contains this number.
fn fingerprint(number: usize) -> [u8; 32] {
    let mut fingerprint = [0; 32];
    fingerprint[8..16].copy_from_slice(&number.to_le_bytes());
    fingerprint
}

async fn mark_used(
    store: &MemoryNonceStore,
    owner: &Principal,
    number: usize,
) -> Result<bool, StoreError> {
    store.mark_used(owner, &fingerprint(number), LIFETIME).await
}

#[tokio::test]
async fn store_meets_the_contract() {
    let store = Arc::new(MemoryNonceStore::default());
    contract::nonce_store(async || Arc::clone(&store)).await;
    contract::nonce_store_owner_bound(
        async || Arc::new(MemoryNonceStore::default().with_owner_limit(3)),
        3,
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn expired_nonce_is_removed() {
    let (store, ann) = (MemoryNonceStore::default(), user("ann"));
    assert!(mark_used(&store, &ann, 1).await.unwrap());
    tokio::time::advance(LIFETIME).await;
    assert!(!mark_used(&store, &ann, 1).await.unwrap());
    // Only whole seconds count.
    tokio::time::advance(Duration::from_secs(1)).await;
    assert!(mark_used(&store, &ann, 1).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn full_store_rejects_until_nonces_expire() {
    let (store, anonymous) = (MemoryNonceStore::new(2), Principal::anonymous());
    assert!(mark_used(&store, &anonymous, 1).await.unwrap());
    assert!(mark_used(&store, &anonymous, 2).await.unwrap());
    let full = mark_used(&store, &anonymous, 3).await;
    assert!(matches!(full, Err(StoreError::Full)));
    assert!(!mark_used(&store, &anonymous, 2).await.unwrap());
    tokio::time::advance(LIFETIME + Duration::from_secs(1)).await;
    assert!(mark_used(&store, &anonymous, 3).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn limit_of_one_owner_does_not_affect_others() {
    let store = MemoryNonceStore::default();
    let (ann, bob) = (user("ann"), user("bob"));
    for number in 0..DEFAULT_OWNER_LIMIT {
        assert!(mark_used(&store, &ann, number).await.unwrap(), "{number}");
    }
    let full = mark_used(&store, &ann, DEFAULT_OWNER_LIMIT).await;
    assert!(matches!(full, Err(StoreError::OwnerFull)));
    assert!(!mark_used(&store, &ann, 0).await.unwrap());
    for other in [&bob, &Principal::anonymous()] {
        assert!(mark_used(&store, other, DEFAULT_OWNER_LIMIT).await.unwrap());
    }
    // The owner is below its limit again after its nonces have expired.
    tokio::time::advance(LIFETIME + Duration::from_secs(1)).await;
    assert!(mark_used(&store, &ann, DEFAULT_OWNER_LIMIT).await.unwrap());
    let used = store.used.lock().unwrap();
    assert_eq!((used.owners.len(), used.counts.len()), (1, 1));
}

#[tokio::test]
async fn anonymous_principal_has_no_owner_limit() {
    let store = MemoryNonceStore::new(10).with_owner_limit(1);
    for number in 0..10 {
        let spent = mark_used(&store, &Principal::anonymous(), number).await;
        assert!(spent.unwrap());
    }
}

/// Returns the size of the tables. A table has a byte per bucket besides its content. A BTreeMap of seconds is
/// negligible.
fn bytes_of(used: &Used) -> usize {
    let owners = used.owners.capacity() * 8 / 7 * (size_of::<(Digest, OwnerHash)>() + 1);
    let counts = used.counts.capacity() * 8 / 7 * (size_of::<(OwnerHash, u32)>() + 1);
    let lists = used.by_expiry.values().map(Vec::capacity).sum::<usize>() * size_of::<Digest>();
    owners + counts + lists
}

#[tokio::test(start_paused = true)]
async fn nonce_size_is_as_documented() {
    // Tables are emptiest right after they have grown.
    let count = (1 << 16) * 7 / 8 + 1;
    let store = MemoryNonceStore::new(count);
    for number in 0..count {
        assert!(
            mark_used(&store, &user(&number.to_string()), number)
                .await
                .unwrap()
        );
    }
    let used = store.used.lock().unwrap();
    let each = bytes_of(&used) / count;
    assert!(each <= 140, "{each} bytes");
}
