//! What a store of used request states has to do.

use std::sync::Arc;
use std::time::Duration;

use crate::store::NonceStore;
use crate::store::contract::{ok, soon};

const LIFETIME: Duration = Duration::from_secs(60);

/// Checks a [`NonceStore`]; `connect` is called once per node.
pub async fn nonce_store<S: NonceStore + 'static>(connect: impl AsyncFn() -> Arc<S>) {
    let store = connect().await;
    let (one, other) = (fingerprint(), fingerprint());
    assert!(
        ok("spend", store.spend(&one, LIFETIME).await),
        "a state is unused at first"
    );
    assert!(
        !ok("spend", store.spend(&one, LIFETIME).await),
        "a state is used once"
    );
    assert!(
        ok("spend", store.spend(&other, LIFETIME).await),
        "states do not use up each other"
    );

    let wanted = fingerprint();
    let tasks: Vec<_> = (0..16)
        .map(|_| {
            let store = Arc::clone(&store);
            tokio::spawn(async move { store.spend(&wanted, LIFETIME).await })
        })
        .collect();
    let mut winners = 0;
    for task in tasks {
        let outcome = soon("everybody is answered", task).await;
        winners += usize::from(ok("spend", outcome.expect("no call panics")));
    }
    assert_eq!(winners, 1, "of all who come at once, one is told `true`");
}

/// A fingerprint nobody has used.
fn fingerprint() -> [u8; 32] {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).expect("random bytes");
    bytes
}
