//! The store that is used when no other one is given: in memory, within bounds.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::client::cache::key::{CacheFilter, CacheKey};
use crate::client::cache::store::{CacheEntry, CacheFuture, CacheStore};

const DEFAULT_ENTRIES: usize = 256;
const DEFAULT_BYTES: usize = 8 * 1024 * 1024;

/// Keeps answers in memory: at most 256 of them, and at most 8 MiB of text.
///
/// What was not used for the longest time goes first. An answer that is longer than the bound on its own is not kept.
/// Give one store to several clients, and they share what their servers call public.
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
    entries: usize,
    bytes: usize,
    kept: Mutex<CacheState>,
}

#[derive(Debug, Default)]
struct CacheState {
    slots: HashMap<Arc<CacheKey>, CacheSlot>,
    /// The keys by their last use, which a counter tells.
    order: BTreeMap<u64, Arc<CacheKey>>,
    bytes: usize,
    uses: u64,
}

#[derive(Debug)]
struct CacheSlot {
    entry: CacheEntry,
    bytes: usize,
    used: u64,
}

impl MemoryCache {
    /// An empty store with the default bounds.
    #[must_use]
    pub fn new() -> Self {
        Self {
            entries: DEFAULT_ENTRIES,
            bytes: DEFAULT_BYTES,
            kept: Mutex::default(),
        }
    }

    /// Keeps at most this many answers. Default: 256.
    #[must_use]
    pub fn with_entries(mut self, entries: usize) -> Self {
        self.entries = entries;
        self
    }

    /// Keeps at most this many bytes of text, keys included. Default: 8 MiB.
    #[must_use]
    pub fn with_bytes(mut self, bytes: usize) -> Self {
        self.bytes = bytes;
        self
    }

    /// How many answers are kept, fresh or not.
    #[must_use]
    pub fn len(&self) -> usize {
        self.kept().slots.len()
    }

    /// True when nothing is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn kept(&self) -> MutexGuard<'_, CacheState> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for MemoryCache {
    fn default() -> Self {
        Self::new()
    }
}

impl CacheStore for MemoryCache {
    fn get<'a>(&'a self, key: &'a CacheKey) -> CacheFuture<'a, Option<CacheEntry>> {
        let found = self.kept().get(key);
        Box::pin(async { Ok(found) })
    }

    fn put(&self, key: CacheKey, entry: CacheEntry) -> CacheFuture<'_, ()> {
        let mut kept = self.kept();
        // What was there is out of date, even if its successor is too long to be kept.
        kept.forget(&key);
        let bytes = key.bytes() + entry.result.get().len();
        if bytes <= self.bytes {
            kept.insert(Arc::new(key), entry, bytes);
            while kept.slots.len() > self.entries || kept.bytes > self.bytes {
                kept.forget_oldest();
            }
        }
        drop(kept);
        Box::pin(async { Ok(()) })
    }

    fn remove<'a>(&'a self, filter: &'a CacheFilter) -> CacheFuture<'a, ()> {
        let mut kept = self.kept();
        let doomed: Vec<_> = kept
            .slots
            .keys()
            .filter(|key| filter.matches(key))
            .cloned()
            .collect();
        for key in doomed {
            kept.forget(&key);
        }
        drop(kept);
        Box::pin(async { Ok(()) })
    }
}

impl CacheState {
    fn get(&mut self, key: &CacheKey) -> Option<CacheEntry> {
        let slot = self.slots.get_mut(key)?;
        self.uses += 1;
        let key = self
            .order
            .remove(&slot.used)
            .expect("every slot has its place in the order");
        slot.used = self.uses;
        self.order.insert(slot.used, key);
        Some(slot.entry.clone())
    }

    fn insert(&mut self, key: Arc<CacheKey>, entry: CacheEntry, bytes: usize) {
        self.uses += 1;
        self.bytes += bytes;
        self.order.insert(self.uses, Arc::clone(&key));
        let used = self.uses;
        self.slots.insert(key, CacheSlot { entry, bytes, used });
    }

    fn forget(&mut self, key: &CacheKey) {
        if let Some(slot) = self.slots.remove(key) {
            self.bytes -= slot.bytes;
            self.order.remove(&slot.used);
        }
    }

    fn forget_oldest(&mut self) {
        if let Some((_, key)) = self.order.pop_first()
            && let Some(slot) = self.slots.remove(&key)
        {
            self.bytes -= slot.bytes;
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

    async fn keep(store: &MemoryCache, name: &str, text: &str) {
        store.put(key(name), entry(text)).await.unwrap();
    }

    async fn has(store: &MemoryCache, name: &str) -> bool {
        store.get(&key(name)).await.unwrap().is_some()
    }

    /// The bound counts keys, too; what is kept is always what the slots say.
    fn check_sum(store: &MemoryCache) {
        let kept = store.kept();
        let sum: usize = kept.slots.values().map(|slot| slot.bytes).sum();
        assert_eq!(kept.bytes, sum);
        assert_eq!(kept.order.len(), kept.slots.len());
        assert!(sum <= store.bytes && kept.slots.len() <= store.entries);
    }

    #[tokio::test]
    async fn one_entry_too_many_pushes_out_the_one_unused_longest() {
        let store = MemoryCache::new();
        for number in 0..DEFAULT_ENTRIES {
            keep(&store, &number.to_string(), "x").await;
        }
        assert_eq!(store.len(), 256);
        assert!(has(&store, "0").await);
        keep(&store, "one more", "x").await;
        assert_eq!(store.len(), 256);
        assert!(has(&store, "0").await);
        assert!(!has(&store, "1").await);
        assert!(has(&store, "2").await);
        check_sum(&store);
    }

    #[tokio::test]
    async fn bytes_are_bounded_too() {
        let one = key("a").bytes() + r#""0123456789""#.len();
        let store = MemoryCache::new().with_bytes(2 * one);
        keep(&store, "a", "0123456789").await;
        keep(&store, "b", "0123456789").await;
        assert_eq!(store.len(), 2);
        keep(&store, "c", "").await;
        assert!(!has(&store, "a").await);
        assert!(has(&store, "b").await && has(&store, "c").await);
        check_sum(&store);
    }

    #[tokio::test]
    async fn an_entry_longer_than_the_bound_is_not_kept_and_nothing_else_goes_for_it() {
        let fits = key("a").bytes() + r#""0123456789""#.len();
        let store = MemoryCache::new().with_bytes(fits);
        keep(&store, "a", "0123456789").await;
        keep(&store, "b", "0123456789+").await;
        assert!(has(&store, "a").await);
        assert!(!has(&store, "b").await);
        keep(&store, "a", "0123456789+").await;
        assert!(!has(&store, "a").await, "an outdated answer stayed");
        check_sum(&store);
        assert_eq!(MemoryCache::default().bytes, 8 * 1024 * 1024);
    }

    #[tokio::test]
    async fn a_second_answer_replaces_the_first() {
        let store = MemoryCache::new();
        keep(&store, "a", "old").await;
        keep(&store, "a", "new").await;
        assert_eq!(store.get(&key("a")).await.unwrap(), Some(entry("new")));
        assert_eq!(store.len(), 1);
        check_sum(&store);
    }

    #[tokio::test]
    async fn a_store_without_room_keeps_nothing() {
        let store = MemoryCache::new().with_entries(0);
        keep(&store, "a", "x").await;
        assert!(store.is_empty());
        check_sum(&store);
    }

    #[tokio::test]
    async fn what_a_filter_matches_is_forgotten() {
        let store = MemoryCache::new();
        keep(&store, "a", "x").await;
        keep(&store, "b", "x").await;
        let filter = CacheFilter::everything("s", "me").with_request(&key("a"));
        store.remove(&filter).await.unwrap();
        assert!(!has(&store, "a").await);
        assert!(has(&store, "b").await);
        check_sum(&store);
    }
}
