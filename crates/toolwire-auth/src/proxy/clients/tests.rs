use toolwire_proto::request_state::{KeyRing, StateKey};

use super::*;
use crate::documents::ClientMetadata;
use crate::proxy::store::{MemoryProxyLimits, MemoryProxyStore};

const LOGIN_TIME: Duration = Duration::from_secs(30 * 24 * 60 * 60);

fn vault(limit: usize) -> SealedStore {
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
    Clients::new(DocumentFetcher::new(), LOGIN_TIME)
}

async fn register(
    clients: &Clients,
    vault: &SealedStore,
    owner: Option<ProxyOwner>,
) -> Result<String, StoreError> {
    let metadata = ClientMetadata::new().with_redirect_uris(["https://a/cb"]);
    let accepted = AcceptedRegistration::judge(&metadata).unwrap();
    let registered = clients.register(vault, &accepted, owner).await?;
    Ok(registered.client_id)
}

async fn is_known(clients: &Clients, vault: &SealedStore, id: &str) -> bool {
    clients.find(vault, id, None).await.is_ok()
}

#[tokio::test(start_paused = true)]
async fn used_registrations_are_retained_longer() {
    let (clients, vault) = (clients(), vault(10));
    let unused = register(&clients, &vault, None).await.unwrap();
    let used = register(&clients, &vault, None).await.unwrap();
    assert_ne!(unused, used);
    tokio::time::advance(UNUSED_TIME - Duration::from_millis(1)).await;
    assert!(is_known(&clients, &vault, &unused).await);
    clients.mark_used(&vault, &used, [1; 32]).await.unwrap();
    tokio::time::advance(Duration::from_millis(1)).await;
    assert!(!is_known(&clients, &vault, &unused).await);
    assert!(is_known(&clients, &vault, &used).await);
    tokio::time::advance(USED_TIME).await;
    assert!(!is_known(&clients, &vault, &used).await);
}

#[tokio::test(start_paused = true)]
async fn full_table_rejects_registrations_until_one_is_old_and_unused() {
    let (clients, vault) = (clients(), vault(2));
    let used = register(&clients, &vault, None).await.unwrap();
    clients.mark_used(&vault, &used, [1; 32]).await.unwrap();
    let unused = register(&clients, &vault, None).await.unwrap();
    tokio::time::advance(PROTECTED_TIME - Duration::from_millis(1)).await;
    let rejected = register(&clients, &vault, None).await;
    assert!(matches!(rejected, Err(StoreError::Full)));
    assert!(is_known(&clients, &vault, &unused).await);
    tokio::time::advance(Duration::from_millis(1)).await;
    let next = register(&clients, &vault, None).await.unwrap();
    assert!(!is_known(&clients, &vault, &unused).await);
    // A used client is evicted only after all logins through it have ended.
    tokio::time::advance(PROTECTED_TIME).await;
    clients.mark_used(&vault, &next, [1; 32]).await.unwrap();
    let rejected = register(&clients, &vault, None).await;
    assert!(matches!(rejected, Err(StoreError::Full)));
    tokio::time::advance(LOGIN_TIME - PROTECTED_TIME).await;
    register(&clients, &vault, None).await.unwrap();
    assert!(!is_known(&clients, &vault, &used).await);
    assert!(is_known(&clients, &vault, &next).await);
}

#[tokio::test]
async fn source_removes_unused_registrations_of_its_own_only() {
    let (clients, vault) = (clients(), vault(100));
    let source = |key| Some(ProxyOwner::new([key; 32], 3, OwnerLimit::RemoveFirst));
    let honest = register(&clients, &vault, source(2)).await.unwrap();
    let used = register(&clients, &vault, source(1)).await.unwrap();
    clients.mark_used(&vault, &used, [9; 32]).await.unwrap();
    let first = register(&clients, &vault, source(1)).await.unwrap();
    for _ in 0..3 {
        register(&clients, &vault, source(1)).await.unwrap();
    }
    assert!(!is_known(&clients, &vault, &first).await);
    // The source no longer owns a used client.
    assert!(is_known(&clients, &vault, &used).await);
    assert!(is_known(&clients, &vault, &honest).await);
}

#[tokio::test]
async fn user_of_many_clients_removes_those_it_was_the_first_to_use() {
    let (clients, vault) = (clients(), vault(100));
    let (attacker, other) = ([1; 32], [2; 32]);
    let shared = register(&clients, &vault, None).await.unwrap();
    clients.mark_used(&vault, &shared, other).await.unwrap();
    clients.mark_used(&vault, &shared, attacker).await.unwrap();
    let mut own = Vec::new();
    for _ in 0..=MAX_CLIENTS_OF_USER {
        let id = register(&clients, &vault, None).await.unwrap();
        clients.mark_used(&vault, &id, attacker).await.unwrap();
        own.push(id);
    }
    let (first, rest) = own.split_first().unwrap();
    assert!(!is_known(&clients, &vault, first).await);
    for id in rest.iter().chain([&shared]) {
        assert!(is_known(&clients, &vault, id).await);
    }
}
