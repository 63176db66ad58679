//! The default store: a bounded cache in memory.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::client::cache::key::{CacheFilter, CacheKey};
use crate::client::cache::store::{CacheEntry, CacheFuture, CacheStore};
use crate::sync::lock;

const DEFAULT_ENTRIES: usize = 256;
const DEFAULT_BYTES: usize = 8 * 1024 * 1024;

/// A [`CacheStore`] in memory with at most 256 entries and 8 MiB of text.
///
/// It evicts the least recently used entry first. A result that exceeds the byte limit alone is not stored. Clients
/// that share one store share the results that their servers mark as public.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), toolwire::Error> {
/// use std::sync::Arc;
///
/// use toolwire::cache::MemoryCache;
/// use toolwire::{Client, Server};
///
/// let store = Arc::new(MemoryCache::new().with_entries(1000));
/// let builder = Client::builder("my-agent", "1.0.0").with_cache(store);
/// let client = builder.in_process(&Server::new("demo", "1.0.0")).await?;
/// # drop(client);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct MemoryCache {
    max_entries: usize,
    max_bytes: usize,
    state: Mutex<CacheState>,
}

#[derive(Debug, Default)]
struct CacheState {
    cached: HashMap<Arc<CacheKey>, CachedEntry>,
    /// The keys in the order of their last use, by the value of `uses` at that time.
    order: BTreeMap<u64, Arc<CacheKey>>,
    bytes: usize,
    /// Counts reads and writes.
    uses: u64,
}

#[derive(Debug)]
struct CachedEntry {
    entry: CacheEntry,
    bytes: usize,
    used: u64,
}

impl MemoryCache {
    /// Creates an empty store with the default limits.
    #[must_use]
    pub fn new() -> Self {
        Self {
            max_entries: DEFAULT_ENTRIES,
            max_bytes: DEFAULT_BYTES,
            state: Mutex::default(),
        }
    }

    /// Sets the maximum number of entries. Default: 256.
    #[must_use]
    pub fn with_entries(mut self, entries: usize) -> Self {
        self.max_entries = entries;
        self
    }

    /// Sets the maximum number of bytes of text, keys included. Default: 8 MiB.
    #[must_use]
    pub fn with_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Returns the number of entries, fresh or not.
    #[must_use]
    pub fn len(&self) -> usize {
        self.state().cached.len()
    }

    /// Returns `true` if the store has no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn state(&self) -> MutexGuard<'_, CacheState> {
        lock(&self.state)
    }
}

impl Default for MemoryCache {
    fn default() -> Self {
        Self::new()
    }
}

impl CacheStore for MemoryCache {
    fn get<'a>(&'a self, key: &'a CacheKey) -> CacheFuture<'a, Option<CacheEntry>> {
        let entry = self.state().get(key);
        Box::pin(async { Ok(entry) })
    }

    fn put(&self, key: CacheKey, entry: CacheEntry) -> CacheFuture<'_, ()> {
        let mut state = self.state();
        // The previous entry is outdated, even if the new one is too long to be stored.
        state.remove(&key);
        let bytes = key.bytes() + entry.result.get().len();
        if bytes <= self.max_bytes {
            state.insert(Arc::new(key), entry, bytes);
            while state.cached.len() > self.max_entries || state.bytes > self.max_bytes {
                state.remove_oldest();
            }
        }
        drop(state);
        Box::pin(async { Ok(()) })
    }

    fn remove<'a>(&'a self, filter: &'a CacheFilter) -> CacheFuture<'a, ()> {
        let mut state = self.state();
        let matching: Vec<_> = state
            .cached
            .keys()
            .filter(|key| filter.matches(key))
            .cloned()
            .collect();
        for key in matching {
            state.remove(&key);
        }
        drop(state);
        Box::pin(async { Ok(()) })
    }
}

impl CacheState {
    fn get(&mut self, key: &CacheKey) -> Option<CacheEntry> {
        let cached = self.cached.get_mut(key)?;
        self.uses += 1;
        let key = self
            .order
            .remove(&cached.used)
            .expect("every cached entry is in the order");
        cached.used = self.uses;
        self.order.insert(cached.used, key);
        Some(cached.entry.clone())
    }

    fn insert(&mut self, key: Arc<CacheKey>, entry: CacheEntry, bytes: usize) {
        self.uses += 1;
        self.bytes += bytes;
        self.order.insert(self.uses, Arc::clone(&key));
        let used = self.uses;
        self.cached.insert(key, CachedEntry { entry, bytes, used });
    }

    fn remove(&mut self, key: &CacheKey) {
        if let Some(cached) = self.cached.remove(key) {
            self.bytes -= cached.bytes;
            self.order.remove(&cached.used);
        }
    }

    fn remove_oldest(&mut self) {
        if let Some((_, key)) = self.order.pop_first()
            && let Some(cached) = self.cached.remove(&key)
        {
            self.bytes -= cached.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use toolwire_types::{ProtocolVersion, RawJson};

    use super::*;

    fn key(name: &str) -> CacheKey {
        let params = RawJson::from(serde_json::json!({ "cursor": name }));
        CacheKey::of(
            "s",
            ProtocolVersion::V2026_07_28,
            "tools/list",
            Some(&params),
        )
        .unwrap()
    }

    fn entry(text: &str) -> CacheEntry {
        CacheEntry::new(RawJson::from_value(&text.into()), Duration::MAX)
    }

    async fn put(store: &MemoryCache, name: &str, text: &str) {
        store.put(key(name), entry(text)).await.unwrap();
    }

    async fn has(store: &MemoryCache, name: &str) -> bool {
        store.get(&key(name)).await.unwrap().is_some()
    }

    /// Checks that the recorded size, keys included, is the sum of the entries and within the limits.
    fn check_sum(store: &MemoryCache) {
        let state = store.state();
        let sum: usize = state.cached.values().map(|cached| cached.bytes).sum();
        assert_eq!(state.bytes, sum);
        assert_eq!(state.order.len(), state.cached.len());
        assert!(sum <= store.max_bytes && state.cached.len() <= store.max_entries);
    }

    #[tokio::test]
    async fn full_store_evicts_the_least_recently_used_entry() {
        let store = MemoryCache::new();
        for number in 0..DEFAULT_ENTRIES {
            put(&store, &number.to_string(), "x").await;
        }
        assert_eq!(store.len(), 256);
        assert!(has(&store, "0").await);
        put(&store, "one more", "x").await;
        assert_eq!(store.len(), 256);
        assert!(has(&store, "0").await);
        assert!(!has(&store, "1").await);
        assert!(has(&store, "2").await);
        check_sum(&store);
    }

    #[tokio::test]
    async fn byte_limit_evicts_entries() {
        let one = key("a").bytes() + r#""0123456789""#.len();
        let store = MemoryCache::new().with_bytes(2 * one);
        put(&store, "a", "0123456789").await;
        put(&store, "b", "0123456789").await;
        assert_eq!(store.len(), 2);
        put(&store, "c", "").await;
        assert!(!has(&store, "a").await);
        assert!(has(&store, "b").await && has(&store, "c").await);
        check_sum(&store);
    }

    #[tokio::test]
    async fn entry_above_the_byte_limit_is_not_stored_and_evicts_only_its_predecessor() {
        let fits = key("a").bytes() + r#""0123456789""#.len();
        let store = MemoryCache::new().with_bytes(fits);
        put(&store, "a", "0123456789").await;
        put(&store, "b", "0123456789+").await;
        assert!(has(&store, "a").await);
        assert!(!has(&store, "b").await);
        put(&store, "a", "0123456789+").await;
        assert!(!has(&store, "a").await, "an outdated entry stayed");
        check_sum(&store);
        assert_eq!(MemoryCache::default().max_bytes, 8 * 1024 * 1024);
    }

    #[tokio::test]
    async fn second_entry_of_a_key_replaces_the_first() {
        let store = MemoryCache::new();
        put(&store, "a", "old").await;
        put(&store, "a", "new").await;
        assert_eq!(store.get(&key("a")).await.unwrap(), Some(entry("new")));
        assert_eq!(store.len(), 1);
        check_sum(&store);
    }

    #[tokio::test]
    async fn store_with_zero_entries_stores_nothing() {
        let store = MemoryCache::new().with_entries(0);
        put(&store, "a", "x").await;
        assert!(store.is_empty());
        check_sum(&store);
    }

    #[tokio::test]
    async fn remove_deletes_the_entries_that_match_the_filter() {
        let store = MemoryCache::new();
        put(&store, "a", "x").await;
        put(&store, "b", "x").await;
        let filter = CacheFilter::everything("s", "me").with_request(&key("a"));
        store.remove(&filter).await.unwrap();
        assert!(!has(&store, "a").await);
        assert!(has(&store, "b").await);
        check_sum(&store);
    }
}
