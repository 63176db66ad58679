//! Used request states in memory.

use std::collections::{BTreeSet, HashSet};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::engine::after;
use crate::store::{NonceStore, StoreError, StoreFuture};

/// Remembers used request states in the memory of this process.
///
/// It holds 100 000 of them by default; when all of these may still come back, further ones are refused until the oldest
/// have expired.
#[derive(Debug)]
pub struct MemoryNonceStore {
    limit: usize,
    used: Mutex<Used>,
}

#[derive(Debug, Default)]
struct Used {
    known: HashSet<[u8; 32]>,
    by_expiry: BTreeSet<(Instant, [u8; 32])>,
}

impl MemoryNonceStore {
    /// A store that holds at most `limit` states.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            used: Mutex::default(),
        }
    }

    fn spend_now(&self, fingerprint: &[u8; 32], lifetime: Duration) -> Result<bool, StoreError> {
        let now = Instant::now();
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let Used { known, by_expiry } = &mut *used;
        while let Some(&(expiry, oldest)) = by_expiry.first()
            && expiry <= now
        {
            by_expiry.pop_first();
            known.remove(&oldest);
        }
        if known.contains(fingerprint) {
            return Ok(false);
        }
        if known.len() >= self.limit {
            return Err(StoreError::Full);
        }
        known.insert(*fingerprint);
        by_expiry.insert((after(now, lifetime), *fingerprint));
        Ok(true)
    }
}

impl Default for MemoryNonceStore {
    fn default() -> Self {
        Self::new(100_000)
    }
}

impl NonceStore for MemoryNonceStore {
    fn spend<'a>(&'a self, fingerprint: &'a [u8; 32], lifetime: Duration) -> StoreFuture<'a, bool> {
        let outcome = self.spend_now(fingerprint, lifetime);
        Box::pin(std::future::ready(outcome))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::store::contract;

    const LIFETIME: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn it_keeps_the_contract() {
        contract::nonce_store(async || Arc::new(MemoryNonceStore::default())).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_state_is_forgotten_when_it_has_expired() {
        let store = MemoryNonceStore::default();
        assert!(store.spend(&[1; 32], LIFETIME).await.unwrap());
        tokio::time::advance(LIFETIME - Duration::from_millis(1)).await;
        assert!(!store.spend(&[1; 32], LIFETIME).await.unwrap());
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(store.spend(&[1; 32], LIFETIME).await.unwrap());
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_store_refuses_until_there_is_room() {
        let store = MemoryNonceStore::new(2);
        assert!(store.spend(&[1; 32], LIFETIME).await.unwrap());
        assert!(store.spend(&[2; 32], LIFETIME).await.unwrap());
        let full = store.spend(&[3; 32], LIFETIME).await;
        assert!(matches!(full, Err(StoreError::Full)));
        assert!(!store.spend(&[2; 32], LIFETIME).await.unwrap());
        tokio::time::advance(LIFETIME).await;
        assert!(store.spend(&[3; 32], LIFETIME).await.unwrap());
    }
}
