//! Contract tests for nonce stores.

use std::sync::Arc;
use std::time::Duration;

use crate::engine::Principal;
use crate::store::contract::{in_time, ok, unique_name, user};
use crate::store::{NonceStore, StoreError};

const LIFETIME: Duration = Duration::from_secs(60);

/// The number of concurrent callers.
const CALLERS: usize = 32;

/// Checks a [`NonceStore`]. Each call of `connect` returns a connection to the same store, as each node has one.
///
/// # Panics
/// Panics if the store violates a rule. The message names the rule.
pub async fn nonce_store<S: NonceStore + 'static>(connect: impl AsyncFn() -> Arc<S>) {
    let store = connect().await;
    for owner in [new_owner(), Principal::anonymous()] {
        let (one, other) = (fingerprint(), fingerprint());
        assert!(
            ok("mark_used", store.mark_used(&owner, &one, LIFETIME).await),
            "a new nonce is unused"
        );
        assert!(
            !ok("mark_used", store.mark_used(&owner, &one, LIFETIME).await),
            "a nonce is used once"
        );
        assert!(
            ok("mark_used", store.mark_used(&owner, &other, LIFETIME).await),
            "nonces are independent"
        );
        assert!(
            ok(
                "mark_used",
                store.mark_used(&new_owner(), &one, LIFETIME).await
            ),
            "owners have separate nonces"
        );
    }

    let other = connect().await;
    let (owner, nonce) = (new_owner(), fingerprint());
    let used = store.mark_used(&owner, &nonce, LIFETIME).await;
    assert!(ok("mark_used", used), "a new nonce is unused");
    let used_again = other.mark_used(&owner, &nonce, LIFETIME).await;
    assert!(
        !ok("mark_used", used_again),
        "a nonce that one node has used is used for all"
    );

    let (owner, nonce) = (new_owner(), fingerprint());
    let tasks: Vec<_> = (0..CALLERS)
        .map(|caller| {
            let node = if caller.is_multiple_of(2) {
                &store
            } else {
                &other
            };
            let (store, owner) = (Arc::clone(node), owner.clone());
            tokio::spawn(async move { store.mark_used(&owner, &nonce, LIFETIME).await })
        })
        .collect();
    let mut winners = 0;
    for task in tasks {
        let outcome = in_time("every call returns", task).await;
        winners += usize::from(ok("mark_used", outcome.expect("no call panics")));
    }
    assert_eq!(
        winners, 1,
        "of concurrent calls on all nodes, one returns `true`"
    );
}

/// Checks the limit per owner of a [`NonceStore`]. `limit` is the maximum number of nonces of one owner.
pub async fn nonce_store_owner_bound<S: NonceStore + 'static>(
    connect: impl AsyncFn() -> Arc<S>,
    limit: usize,
) {
    let store = connect().await;
    let (owner, first) = (new_owner(), fingerprint());
    let unused = ok("mark_used", store.mark_used(&owner, &first, LIFETIME).await);
    assert!(unused, "a new nonce is unused");
    for _ in 1..limit {
        let unused = store.mark_used(&owner, &fingerprint(), LIFETIME).await;
        assert!(ok("mark_used", unused), "an owner may have {limit} nonces");
    }
    let rejected = store.mark_used(&owner, &fingerprint(), LIFETIME).await;
    assert!(
        matches!(rejected, Err(StoreError::OwnerFull)),
        "one more nonce of an owner is rejected"
    );
    assert!(
        !ok("mark_used", store.mark_used(&owner, &first, LIFETIME).await),
        "no nonce is evicted"
    );
    let unused = store
        .mark_used(&new_owner(), &fingerprint(), LIFETIME)
        .await;
    assert!(ok("mark_used", unused), "other owners are not affected");
}

/// Returns a principal without nonces.
fn new_owner() -> Principal {
    user(&unique_name("owner"))
}

/// Returns an unused fingerprint.
fn fingerprint() -> [u8; 32] {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).expect("random bytes");
    bytes
}
