//! What a store of used nonces has to do.

use std::sync::Arc;
use std::time::Duration;

use crate::engine::Principal;
use crate::store::contract::{fresh, ok, soon, user};
use crate::store::{NonceStore, StoreError};

const LIFETIME: Duration = Duration::from_secs(60);

/// Checks a [`NonceStore`]; `connect` is called once per node.
pub async fn nonce_store<S: NonceStore + 'static>(connect: impl AsyncFn() -> Arc<S>) {
    let store = connect().await;
    for owner in [new_owner(), Principal::anonymous()] {
        let (one, other) = (fingerprint(), fingerprint());
        assert!(
            ok("spend", store.mark_used(&owner, &one, LIFETIME).await),
            "a nonce is unused at first"
        );
        assert!(
            !ok("spend", store.mark_used(&owner, &one, LIFETIME).await),
            "a nonce is used once"
        );
        assert!(
            ok("spend", store.mark_used(&owner, &other, LIFETIME).await),
            "nonces do not use up each other"
        );
        assert!(
            ok("spend", store.mark_used(&new_owner(), &one, LIFETIME).await),
            "owners do not use up each other's nonces"
        );
    }

    let (owner, wanted) = (new_owner(), fingerprint());
    let tasks: Vec<_> = (0..16)
        .map(|_| {
            let (store, owner) = (Arc::clone(&store), owner.clone());
            tokio::spawn(async move { store.mark_used(&owner, &wanted, LIFETIME).await })
        })
        .collect();
    let mut winners = 0;
    for task in tasks {
        let outcome = soon("everybody is answered", task).await;
        winners += usize::from(ok("spend", outcome.expect("no call panics")));
    }
    assert_eq!(winners, 1, "of all who come at once, one is told `true`");
}

/// Checks the bound that a [`NonceStore`] has for each owner; `limit` is how many nonces one owner may have.
pub async fn nonce_store_owner_bound<S: NonceStore + 'static>(
    connect: impl AsyncFn() -> Arc<S>,
    limit: usize,
) {
    let store = connect().await;
    let (owner, first) = (new_owner(), fingerprint());
    let unused = ok("spend", store.mark_used(&owner, &first, LIFETIME).await);
    assert!(unused, "a nonce is unused at first");
    for _ in 1..limit {
        let unused = store.mark_used(&owner, &fingerprint(), LIFETIME).await;
        assert!(ok("spend", unused), "an owner may have {limit} nonces");
    }
    let rejected = store.mark_used(&owner, &fingerprint(), LIFETIME).await;
    assert!(
        matches!(rejected, Err(StoreError::OwnerFull)),
        "one more nonce of an owner is rejected"
    );
    assert!(
        !ok("spend", store.mark_used(&owner, &first, LIFETIME).await),
        "no nonce is removed to make room"
    );
    let unused = store
        .mark_used(&new_owner(), &fingerprint(), LIFETIME)
        .await;
    assert!(ok("spend", unused), "other owners are not affected");
}

/// A principal that has used nothing.
fn new_owner() -> Principal {
    user(&fresh("owner"))
}

/// A fingerprint nobody has used.
fn fingerprint() -> [u8; 32] {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).expect("random bytes");
    bytes
}
