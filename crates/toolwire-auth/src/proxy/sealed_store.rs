//! Seals records for the store and cookies for browsers.
//!
//! Both are encrypted and bound to their purpose. A record that was moved to another key in the store does not open. A
//! cookie that another server made does not open either.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};
use toolwire::store::StoreError;
use toolwire_proto::request_state::{self, Binding, KeyRing};

use crate::clock::since_epoch;
use crate::proxy::records::{ProxyEntry, RecordDigest};
use crate::proxy::store::{NewProxyRecord, ProxyOwner, ProxyStore};
use crate::store_deadline::within_deadline;

/// The sealed text of a record as it was read. It has to be unchanged for a replacement.
pub(super) struct Sealed(String);

/// The lifetime and owner of a stored record.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordTerms {
    lifetime: Duration,
    protection: Duration,
    owner: Option<ProxyOwner>,
}

impl RecordTerms {
    /// Creates terms with a lifetime and no owner.
    pub(super) fn new(lifetime: Duration) -> Self {
        Self {
            lifetime,
            protection: lifetime,
            owner: None,
        }
    }

    /// Permits eviction of the record after a time.
    pub(super) fn with_protection(mut self, protection: Duration) -> Self {
        self.protection = protection;
        self
    }

    /// Sets the owner, if one is known.
    pub(super) fn with_owner(mut self, owner: Option<ProxyOwner>) -> Self {
        self.owner = owner;
        self
    }
}

/// A store that seals its records. Every call has a deadline.
#[derive(Debug)]
pub(super) struct SealedStore {
    pub(super) store: Arc<dyn ProxyStore>,
    pub(super) keys: KeyRing,
    /// The issuer of this proxy. Another proxy with the same keys cannot open its records.
    pub(super) issuer: String,
}

impl SealedStore {
    /// Stores a record.
    pub(super) async fn put<T: ProxyEntry>(
        &self,
        key: &RecordDigest,
        record: &T,
        terms: RecordTerms,
    ) -> Result<(), StoreError> {
        let new = self.new_record(key, record, terms)?;
        within_deadline(self.store.put(T::KIND, key, new)).await
    }

    /// Replaces a record if it is unchanged since it was read. Returns whether it was replaced.
    pub(super) async fn replace<T: ProxyEntry>(
        &self,
        key: &RecordDigest,
        read: &Sealed,
        record: &T,
        terms: RecordTerms,
    ) -> Result<bool, StoreError> {
        let new = self.new_record(key, record, terms)?;
        within_deadline(self.store.replace(T::KIND, key, &read.0, new)).await
    }

    fn new_record<T: ProxyEntry>(
        &self,
        key: &RecordDigest,
        record: &T,
        terms: RecordTerms,
    ) -> Result<NewProxyRecord, StoreError> {
        let sealed = self.seal(T::KIND.as_str(), &encoded_key(key), record, terms.lifetime)?;
        let mut new = NewProxyRecord::new(sealed, terms.lifetime);
        new.protection = terms.protection;
        new.owner = terms.owner;
        Ok(new)
    }

    /// Returns a record. A record that does not open counts as absent.
    pub(super) async fn get<T: ProxyEntry>(
        &self,
        key: &RecordDigest,
    ) -> Result<Option<T>, StoreError> {
        let read = self.read(key).await?;
        Ok(read.map(|(record, _)| record))
    }

    /// Returns a record that may be [replaced](Self::replace).
    pub(super) async fn read<T: ProxyEntry>(
        &self,
        key: &RecordDigest,
    ) -> Result<Option<(T, Sealed)>, StoreError> {
        let Some(sealed) = within_deadline(self.store.get(T::KIND, key)).await? else {
            return Ok(None);
        };
        let opened = self.open(T::KIND.as_str(), &encoded_key(key), &sealed);
        Ok(opened.map(|record| (record, Sealed(sealed))))
    }

    /// Removes and returns a record. Of concurrent callers, one gets it.
    pub(super) async fn take<T: ProxyEntry>(
        &self,
        key: &RecordDigest,
    ) -> Result<Option<T>, StoreError> {
        let sealed = within_deadline(self.store.take(T::KIND, key)).await?;
        Ok(sealed.and_then(|sealed| self.open(T::KIND.as_str(), &encoded_key(key), &sealed)))
    }

    /// Checks that the store can be used now.
    pub(super) async fn check(&self) -> Result<(), StoreError> {
        within_deadline(self.store.check()).await
    }

    /// Seals a value for a purpose and binds it to a name.
    pub(super) fn seal(
        &self,
        purpose: &str,
        name: &str,
        content: &impl Serialize,
        lifetime: Duration,
    ) -> Result<String, StoreError> {
        let content = serde_json::to_vec(content).map_err(StoreError::unavailable)?;
        let binding = self.binding(purpose, name);
        let nonce = random()?;
        request_state::seal(
            &self.keys,
            &binding,
            &content,
            since_epoch(),
            lifetime,
            nonce,
        )
        .map_err(StoreError::unavailable)
    }

    /// Opens a value that was sealed for the same purpose and name and has not expired.
    pub(super) fn open<T: DeserializeOwned>(
        &self,
        purpose: &str,
        name: &str,
        sealed: &str,
    ) -> Option<T> {
        let binding = self.binding(purpose, name);
        let content = request_state::open(&self.keys, &binding, sealed, since_epoch()).ok()?;
        serde_json::from_slice(&content).ok()
    }

    fn binding<'a>(&'a self, purpose: &'a str, name: &'a str) -> Binding<'a> {
        Binding {
            principal: None,
            method: purpose,
            name,
            params_digest: [0; 32],
            audience: &self.issuer,
        }
    }
}

fn encoded_key(key: &RecordDigest) -> String {
    URL_SAFE_NO_PAD.encode(key)
}

/// Returns the key of a secret. Hashing takes the same time for every text, and the digest does not reveal the secret
/// to readers of the store.
pub(super) fn key_of(secret: &str) -> RecordDigest {
    Sha256::digest(secret).into()
}

/// Returns random bytes from the operating system.
pub(super) fn random<const N: usize>() -> Result<[u8; N], StoreError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|_| StoreError::unavailable("the operating system returned no random bytes"))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;
    use toolwire::BoxFuture;
    use toolwire::store::contract::{Fault, Faulty};
    use toolwire_proto::request_state::StateKey;

    use super::*;
    use crate::proxy::records::ClientRecord;
    use crate::proxy::store::{MemoryProxyStore, ProxyRecord};
    use crate::store_deadline::STORE_DEADLINE;

    fn hour() -> RecordTerms {
        RecordTerms::new(Duration::from_secs(3600))
    }

    fn sealed_store(store: &Arc<MemoryProxyStore>, key: u8, issuer: &str) -> SealedStore {
        SealedStore {
            store: Arc::<MemoryProxyStore>::clone(store),
            keys: KeyRing::new(StateKey::new([key; 32])),
            issuer: issuer.to_owned(),
        }
    }

    fn record(client_id: &str) -> ClientRecord {
        ClientRecord {
            client_id: client_id.to_owned(),
            secret: None,
            redirect_uris: Vec::new(),
            name: None,
            first_user: None,
            prolonged_at: None,
        }
    }

    #[tokio::test]
    async fn records_are_encrypted_and_bound_to_their_key() {
        let store = Arc::new(MemoryProxyStore::default());
        let sealed_store = sealed_store(&store, 1, "https://a");
        let (one, other) = (key_of("one"), key_of("other"));
        sealed_store
            .put(&one, &record("visible"), hour())
            .await
            .unwrap();
        let sealed = store.get(ProxyRecord::Client, &one).await.unwrap();
        let sealed = sealed.unwrap();
        assert!(!sealed.contains("visible"));
        let moved = NewProxyRecord::new(sealed, Duration::from_secs(3600));
        let moved = store.put(ProxyRecord::Client, &other, moved);
        moved.await.unwrap();
        assert!(
            sealed_store
                .get::<ClientRecord>(&other)
                .await
                .unwrap()
                .is_none()
        );
        let record = sealed_store
            .take::<ClientRecord>(&one)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(record.client_id, "visible");
    }

    #[tokio::test]
    async fn other_keys_and_other_proxies_cannot_open_records() {
        let store = Arc::new(MemoryProxyStore::default());
        let key = key_of("one");
        let own = sealed_store(&store, 1, "https://a");
        own.put(&key, &record("visible"), hour()).await.unwrap();
        for other in [
            sealed_store(&store, 2, "https://a"),
            sealed_store(&store, 1, "https://b"),
        ] {
            assert!(other.get::<ClientRecord>(&key).await.unwrap().is_none());
        }
        let same = sealed_store(&store, 1, "https://a");
        assert!(same.get::<ClientRecord>(&key).await.unwrap().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn calls_of_a_store_that_hangs_end_at_the_deadline() {
        let hanging = Arc::new(Faulty::new(Arc::new(MemoryProxyStore::default())));
        let shared: Arc<dyn ProxyStore> = hanging.clone();
        let store = SealedStore {
            store: shared,
            keys: KeyRing::new(StateKey::new([1; 32])),
            issuer: "https://a".to_owned(),
        };
        let (key, client) = (key_of("one"), record("visible"));
        store.put(&key, &client, hour()).await.unwrap();
        let (_, read) = store.read::<ClientRecord>(&key).await.unwrap().unwrap();
        for method in ["put", "get", "take", "replace", "check"] {
            hanging.inject(method, Fault::Hang, usize::MAX);
        }
        let check = async |call: BoxFuture<'_, Result<(), StoreError>>| {
            let start = Instant::now();
            let error = call.await.unwrap_err();
            assert!(matches!(error, StoreError::Unknown(_)), "{error:?}");
            assert_eq!(start.elapsed().as_secs(), STORE_DEADLINE.as_secs());
        };
        check(Box::pin(store.put(&key, &client, hour()))).await;
        check(Box::pin(async {
            store.get::<ClientRecord>(&key).await.map(drop)
        }))
        .await;
        check(Box::pin(async {
            store.take::<ClientRecord>(&key).await.map(drop)
        }))
        .await;
        check(Box::pin(async {
            let replaced = store.replace(&key, &read, &client, hour());
            replaced.await.map(drop)
        }))
        .await;
        check(Box::pin(store.check())).await;
    }

    #[tokio::test]
    async fn one_of_two_concurrent_replacements_succeeds() {
        let store = Arc::new(MemoryProxyStore::default());
        let (one, other) = (
            sealed_store(&store, 1, "https://a"),
            sealed_store(&store, 1, "https://a"),
        );
        let key = key_of("one");
        one.put(&key, &record("first"), hour()).await.unwrap();
        let (_, read_by_one) = one.read::<ClientRecord>(&key).await.unwrap().unwrap();
        let (_, read_by_other) = other.read::<ClientRecord>(&key).await.unwrap().unwrap();
        let (second, third) = (record("second"), record("third"));
        let replaced = one.replace(&key, &read_by_one, &second, hour());
        assert!(replaced.await.unwrap());
        let replaced = other.replace(&key, &read_by_other, &third, hour());
        assert!(!replaced.await.unwrap());
        let stored = one.get::<ClientRecord>(&key).await.unwrap().unwrap();
        assert_eq!(stored.client_id, "second");
    }
}
