use toolwire_proto::request_state::{KeyRing, StateKey};

use super::*;
use crate::documents::ClientMetadata;
use crate::proxy::store::{MemoryProxyLimits, MemoryProxyStore, ProxyRecord};

const LOGIN_TTL: Duration = Duration::from_secs(30 * 24 * 60 * 60);

fn store(limit: usize) -> SealedStore {
    let limits = MemoryProxyLimits {
        clients: limit,
        ..MemoryProxyLimits::default()
    };
    SealedStore {
        store: Arc::new(MemoryProxyStore::new(limits)),
        keys: KeyRing::new(StateKey::new([1; 32])),
        issuer: "https://a".to_owned(),
    }
}

fn clients() -> Clients {
    Clients::new(DocumentFetcher::new(), LOGIN_TTL)
}

async fn register(
    clients: &Clients,
    store: &SealedStore,
    owner: Option<ProxyOwner>,
) -> Result<String, StoreError> {
    let metadata = ClientMetadata::new().with_redirect_uris(["https://a/cb"]);
    let accepted = AcceptedRegistration::check(&metadata).unwrap();
    let registered = clients.register(store, &accepted, owner).await?;
    Ok(registered.client_id)
}

/// Marks a client as used by this user now, as if it had authenticated.
async fn mark_used(clients: &Clients, store: &SealedStore, id: &str, user: RecordDigest) {
    mark_used_at(clients, store, id, user, since_epoch().as_secs()).await;
}

async fn mark_used_at(
    clients: &Clients,
    store: &SealedStore,
    id: &str,
    user: RecordDigest,
    now: u64,
) {
    let client = AuthenticatedClient {
        id: id.to_owned(),
        registration: store.read(&key_of(id)).await.unwrap(),
    };
    clients.mark_used(store, client, user, now).await.unwrap();
}

async fn is_known(clients: &Clients, store: &SealedStore, id: &str) -> bool {
    clients.find(store, id, None).await.is_ok()
}

#[tokio::test(start_paused = true)]
async fn used_registrations_are_retained_longer() {
    let (clients, store) = (clients(), store(10));
    let unused = register(&clients, &store, None).await.unwrap();
    let used = register(&clients, &store, None).await.unwrap();
    assert_ne!(unused, used);
    tokio::time::advance(UNUSED_TTL - Duration::from_millis(1)).await;
    assert!(is_known(&clients, &store, &unused).await);
    mark_used(&clients, &store, &used, [1; 32]).await;
    tokio::time::advance(Duration::from_millis(1)).await;
    assert!(!is_known(&clients, &store, &unused).await);
    assert!(is_known(&clients, &store, &used).await);
    tokio::time::advance(USED_TTL).await;
    assert!(is_known(&clients, &store, &used).await);
    tokio::time::advance(PROLONGATION_INTERVAL).await;
    assert!(!is_known(&clients, &store, &used).await);
}

#[tokio::test]
async fn registration_is_prolonged_once_in_an_interval() {
    let (clients, store) = (clients(), store(10));
    let id = register(&clients, &store, None).await.unwrap();
    let key = key_of(&id);
    let stored = async || store.store.get(ProxyRecord::Client, &key).await.unwrap();
    let first = since_epoch().as_secs();
    let interval = PROLONGATION_INTERVAL.as_secs();
    let mut before = stored().await;
    // Clocks of nodes differ, so a prolongation may be in the future.
    for (seconds, prolongs) in [
        (0, true),
        (interval - 1, false),
        (interval, true),
        (interval - 1, false),
        (0, true),
    ] {
        mark_used_at(&clients, &store, &id, [1; 32], first + seconds).await;
        let after = stored().await;
        assert_eq!(after != before, prolongs, "after {seconds} s");
        before = after;
    }
}

#[tokio::test(start_paused = true)]
async fn full_table_rejects_registrations_until_one_is_old_and_unused() {
    let (clients, store) = (clients(), store(2));
    let used = register(&clients, &store, None).await.unwrap();
    mark_used(&clients, &store, &used, [1; 32]).await;
    let unused = register(&clients, &store, None).await.unwrap();
    tokio::time::advance(PROTECTED_TIME - Duration::from_millis(1)).await;
    let rejected = register(&clients, &store, None).await;
    assert!(matches!(rejected, Err(StoreError::Full)));
    assert!(is_known(&clients, &store, &unused).await);
    tokio::time::advance(Duration::from_millis(1)).await;
    let next = register(&clients, &store, None).await.unwrap();
    assert!(!is_known(&clients, &store, &unused).await);
    // A used client is evicted only after all logins through it have ended.
    tokio::time::advance(PROTECTED_TIME).await;
    mark_used(&clients, &store, &next, [1; 32]).await;
    let rejected = register(&clients, &store, None).await;
    assert!(matches!(rejected, Err(StoreError::Full)));
    tokio::time::advance(LOGIN_TTL + PROLONGATION_INTERVAL - PROTECTED_TIME).await;
    register(&clients, &store, None).await.unwrap();
    assert!(!is_known(&clients, &store, &used).await);
    assert!(is_known(&clients, &store, &next).await);
}

#[tokio::test]
async fn source_removes_unused_registrations_of_its_own_only() {
    let (clients, store) = (clients(), store(100));
    let source = |key| Some(ProxyOwner::new([key; 32], 3, OwnerLimit::RemoveFirst));
    let honest = register(&clients, &store, source(2)).await.unwrap();
    let used = register(&clients, &store, source(1)).await.unwrap();
    mark_used(&clients, &store, &used, [9; 32]).await;
    let first = register(&clients, &store, source(1)).await.unwrap();
    for _ in 0..3 {
        register(&clients, &store, source(1)).await.unwrap();
    }
    assert!(!is_known(&clients, &store, &first).await);
    // The source no longer owns a used client.
    assert!(is_known(&clients, &store, &used).await);
    assert!(is_known(&clients, &store, &honest).await);
}

#[tokio::test]
async fn user_of_many_clients_removes_those_it_was_the_first_to_use() {
    let (clients, store) = (clients(), store(100));
    let (attacker, other) = ([1; 32], [2; 32]);
    let shared = register(&clients, &store, None).await.unwrap();
    mark_used(&clients, &store, &shared, other).await;
    mark_used(&clients, &store, &shared, attacker).await;
    let mut own = Vec::new();
    for _ in 0..=MAX_CLIENTS_OF_USER {
        let id = register(&clients, &store, None).await.unwrap();
        mark_used(&clients, &store, &id, attacker).await;
        own.push(id);
    }
    let (first, rest) = own.split_first().unwrap();
    assert!(!is_known(&clients, &store, first).await);
    for id in rest.iter().chain([&shared]) {
        assert!(is_known(&clients, &store, id).await);
    }
}
