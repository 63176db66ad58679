//! What an OAuth proxy remembers, in memory.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::engine::after;
use crate::store::{ProxyRecord, ProxyStore, StoreFuture};

type Key = [u8; 32];

/// Remembers what an OAuth proxy has to in the memory of this process: all users log in again after a restart.
///
/// It holds 10,000 records of each kind by default, and 50,000 grants and tokens. When there is one more, the one goes
/// that would expire first: a flood of registrations costs no client that was ever used.
#[derive(Debug)]
pub struct MemoryProxyStore {
    limits: MemoryProxyLimits,
    shelves: Mutex<HashMap<ProxyRecord, Shelf>>,
}

/// The bounds of a [`MemoryProxyStore`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryProxyLimits {
    /// How many clients, logins and codes there may be, of each. 10,000.
    pub clients_and_logins: usize,
    /// How many grants, access tokens and refresh tokens there may be, of each. 50,000.
    pub tokens: usize,
}

impl Default for MemoryProxyLimits {
    fn default() -> Self {
        Self {
            clients_and_logins: 10_000,
            tokens: 50_000,
        }
    }
}

impl MemoryProxyStore {
    /// A store with other bounds.
    #[must_use]
    pub fn new(limits: MemoryProxyLimits) -> Self {
        Self {
            limits,
            shelves: Mutex::default(),
        }
    }

    fn limit(&self, kind: ProxyRecord) -> usize {
        match kind {
            ProxyRecord::Client | ProxyRecord::Login | ProxyRecord::Code => {
                self.limits.clients_and_logins
            }
            ProxyRecord::Grant | ProxyRecord::AccessToken | ProxyRecord::RefreshToken => {
                self.limits.tokens
            }
        }
    }

    fn with_shelf<T>(&self, kind: ProxyRecord, work: impl FnOnce(&mut Shelf) -> T) -> T {
        let mut shelves: MutexGuard<'_, _> =
            self.shelves.lock().unwrap_or_else(PoisonError::into_inner);
        let shelf = shelves.entry(kind).or_default();
        shelf.drop_expired(Instant::now());
        work(shelf)
    }
}

impl Default for MemoryProxyStore {
    fn default() -> Self {
        Self::new(MemoryProxyLimits::default())
    }
}

/// The records of one kind.
#[derive(Default)]
struct Shelf {
    records: HashMap<Key, (Instant, String)>,
    by_expiry: BTreeSet<(Instant, Key)>,
}

impl std::fmt::Debug for Shelf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shelf")
            .field("records", &self.records.len())
            .finish_non_exhaustive()
    }
}

impl Shelf {
    fn drop_expired(&mut self, now: Instant) {
        while let Some(&(expiry, key)) = self.by_expiry.first()
            && expiry <= now
        {
            self.by_expiry.pop_first();
            self.records.remove(&key);
        }
    }

    fn put(&mut self, key: Key, record: String, expiry: Instant, limit: usize) {
        self.take(&key);
        self.records.insert(key, (expiry, record));
        self.by_expiry.insert((expiry, key));
        while self.records.len() > limit
            && let Some((_, first)) = self.by_expiry.pop_first()
        {
            self.records.remove(&first);
        }
    }

    fn take(&mut self, key: &Key) -> Option<String> {
        let (expiry, record) = self.records.remove(key)?;
        self.by_expiry.remove(&(expiry, *key));
        Some(record)
    }
}

impl ProxyStore for MemoryProxyStore {
    fn put<'a>(
        &'a self,
        kind: ProxyRecord,
        key: &'a Key,
        record: String,
        lifetime: Duration,
    ) -> StoreFuture<'a, ()> {
        let (expiry, limit) = (after(Instant::now(), lifetime), self.limit(kind));
        self.with_shelf(kind, |shelf| shelf.put(*key, record, expiry, limit));
        Box::pin(std::future::ready(Ok(())))
    }

    fn get<'a>(&'a self, kind: ProxyRecord, key: &'a Key) -> StoreFuture<'a, Option<String>> {
        let found = self.with_shelf(kind, |shelf| {
            let found = shelf.records.get(key);
            found.map(|(_, record)| record.clone())
        });
        Box::pin(std::future::ready(Ok(found)))
    }

    fn take<'a>(&'a self, kind: ProxyRecord, key: &'a Key) -> StoreFuture<'a, Option<String>> {
        let taken = self.with_shelf(kind, |shelf| shelf.take(key));
        Box::pin(std::future::ready(Ok(taken)))
    }

    fn replace<'a>(
        &'a self,
        kind: ProxyRecord,
        key: &'a Key,
        record: String,
        lifetime: Duration,
    ) -> StoreFuture<'a, bool> {
        let (expiry, limit) = (after(Instant::now(), lifetime), self.limit(kind));
        let replaced = self.with_shelf(kind, |shelf| {
            let is_there = shelf.records.contains_key(key);
            if is_there {
                shelf.put(*key, record, expiry, limit);
            }
            is_there
        });
        Box::pin(std::future::ready(Ok(replaced)))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::store::contract;

    const HOUR: Duration = Duration::from_secs(3600);

    fn key(number: usize) -> Key {
        let mut key = [0; 32];
        for (byte, digit) in key.iter_mut().zip(number.to_be_bytes()) {
            *byte = digit;
        }
        key
    }

    #[tokio::test]
    async fn it_keeps_the_contract() {
        let shortest = Duration::from_millis(100);
        contract::proxy_store(async || Arc::new(MemoryProxyStore::default()), shortest).await;
    }

    /// Keeps an empty record.
    async fn put(store: &MemoryProxyStore, kind: ProxyRecord, number: usize, lifetime: Duration) {
        let key = key(number);
        let put = store.put(kind, &key, String::new(), lifetime);
        put.await.unwrap();
    }

    async fn has(store: &MemoryProxyStore, kind: ProxyRecord, number: usize) -> bool {
        store.get(kind, &key(number)).await.unwrap().is_some()
    }

    #[tokio::test]
    async fn the_bounds_are_where_they_are_said_to_be() {
        for kind in ProxyRecord::ALL {
            let limit = match kind {
                ProxyRecord::Client | ProxyRecord::Login | ProxyRecord::Code => 10_000,
                _ => 50_000,
            };
            let store = MemoryProxyStore::default();
            for number in 0..limit {
                put(&store, kind, number, HOUR).await;
            }
            assert!(has(&store, kind, 0).await, "{kind:?}");
            put(&store, kind, limit, HOUR * 2).await;
            assert!(!has(&store, kind, 0).await, "{kind:?}");
            assert!(has(&store, kind, 1).await);
            assert!(has(&store, kind, limit).await);
        }
    }

    #[tokio::test]
    async fn a_flood_of_short_records_costs_no_long_one() {
        let limits = MemoryProxyLimits {
            clients_and_logins: 3,
            ..MemoryProxyLimits::default()
        };
        let store = MemoryProxyStore::new(limits);
        let (kind, used) = (ProxyRecord::Client, usize::MAX);
        put(&store, kind, used, HOUR * 24).await;
        for number in 0..100 {
            put(&store, kind, number, HOUR).await;
        }
        assert!(has(&store, kind, used).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_record_is_gone_when_its_time_is_over() {
        let store = MemoryProxyStore::default();
        let (kind, one) = (ProxyRecord::Code, key(1));
        let lifetime = Duration::from_secs(60);
        put(&store, kind, 1, lifetime).await;
        tokio::time::advance(lifetime - Duration::from_millis(1)).await;
        assert!(has(&store, kind, 1).await);
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(store.take(kind, &one).await.unwrap(), None);
        let replaced = store.replace(kind, &one, String::new(), lifetime);
        assert!(!replaced.await.unwrap());
    }
}
