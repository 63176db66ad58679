//! Sealing: records on their way into the store, and what browsers keep for the proxy.
//!
//! Both are encrypted and bound to what they are for. A record that was moved to another place in the store, or a cookie
//! that was made by anybody else, does not open.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};
use toolwire_proto::request_state::{self, Binding, KeyRing};

use super::records::{Key, Record};
use crate::engine::since_epoch;
use crate::store::{ProxyStore, StoreError};

/// Seals, and keeps what was sealed.
#[derive(Debug)]
pub(super) struct Vault {
    pub(super) store: Arc<dyn ProxyStore>,
    pub(super) keys: KeyRing,
    /// Which proxy this is: another one with the same keys opens nothing of it.
    pub(super) issuer: String,
}

impl Vault {
    /// Keeps a record for a time.
    pub(super) async fn put<T: Record>(
        &self,
        key: &Key,
        record: &T,
        lifetime: Duration,
    ) -> Result<(), StoreError> {
        let sealed = self.seal(T::KIND.as_str(), &named(key), record, lifetime)?;
        self.store.put(T::KIND, key, sealed, lifetime).await
    }

    /// Keeps a record for a time if one is there, and says whether one was.
    pub(super) async fn replace<T: Record>(
        &self,
        key: &Key,
        record: &T,
        lifetime: Duration,
    ) -> Result<bool, StoreError> {
        let sealed = self.seal(T::KIND.as_str(), &named(key), record, lifetime)?;
        self.store.replace(T::KIND, key, sealed, lifetime).await
    }

    /// Reads a record. One that does not open is treated as one that is not there.
    pub(super) async fn get<T: Record>(&self, key: &Key) -> Result<Option<T>, StoreError> {
        let sealed = self.store.get(T::KIND, key).await?;
        Ok(sealed.and_then(|sealed| self.open(T::KIND.as_str(), &named(key), &sealed)))
    }

    /// Takes a record away; one of all who want it gets it.
    pub(super) async fn take<T: Record>(&self, key: &Key) -> Result<Option<T>, StoreError> {
        let sealed = self.store.take(T::KIND, key).await?;
        Ok(sealed.and_then(|sealed| self.open(T::KIND.as_str(), &named(key), &sealed)))
    }

    /// Seals something for a purpose, bound to a name.
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

    /// Opens what was sealed for the same purpose and name, in time.
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

fn named(key: &Key) -> String {
    URL_SAFE_NO_PAD.encode(key)
}

/// What something secret is found by. A digest takes the same time for every text, and tells nobody who reads the store
/// what the text was.
pub(super) fn key_of(secret: &str) -> Key {
    Sha256::digest(secret).into()
}

/// Bytes that nobody can guess.
pub(super) fn random<const N: usize>() -> Result<[u8; N], StoreError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|_| StoreError::unavailable("the system gives no random bytes"))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use toolwire_proto::request_state::StateKey;

    use super::*;
    use crate::auth::proxy::records::RefreshToken;
    use crate::store::{MemoryProxyStore, ProxyRecord};

    const HOUR: Duration = Duration::from_secs(3600);

    fn vault(store: &Arc<MemoryProxyStore>, key: u8, issuer: &str) -> Vault {
        Vault {
            store: Arc::<MemoryProxyStore>::clone(store),
            keys: KeyRing::new(StateKey::new([key; 32])),
            issuer: issuer.to_owned(),
        }
    }

    fn record() -> RefreshToken {
        RefreshToken {
            client_id: "visible".to_owned(),
            scopes: String::new(),
        }
    }

    #[tokio::test]
    async fn the_store_learns_nothing_and_can_swap_nothing() {
        let store = Arc::new(MemoryProxyStore::default());
        let vault = vault(&store, 1, "https://a");
        let (one, other) = (key_of("one"), key_of("other"));
        vault.put(&one, &record(), HOUR).await.unwrap();
        let sealed = store.get(ProxyRecord::RefreshToken, &one).await.unwrap();
        let sealed = sealed.unwrap();
        assert!(!sealed.contains("visible"));
        let moved = store.put(ProxyRecord::RefreshToken, &other, sealed, HOUR);
        moved.await.unwrap();
        assert!(vault.get::<RefreshToken>(&other).await.unwrap().is_none());
        let found = vault.take::<RefreshToken>(&one).await.unwrap().unwrap();
        assert_eq!(found.client_id, "visible");
    }

    #[tokio::test]
    async fn other_keys_and_other_proxies_open_nothing() {
        let store = Arc::new(MemoryProxyStore::default());
        let key = key_of("one");
        let own = vault(&store, 1, "https://a");
        own.put(&key, &record(), HOUR).await.unwrap();
        for stranger in [vault(&store, 2, "https://a"), vault(&store, 1, "https://b")] {
            assert!(stranger.get::<RefreshToken>(&key).await.unwrap().is_none());
        }
        let same = vault(&store, 1, "https://a");
        assert!(same.get::<RefreshToken>(&key).await.unwrap().is_some());
    }
}
