//! Contract tests for cache stores.
//!
//! Run them from the tests of a [`CacheStore`] implementation. They check its documentation sentence by sentence, and panic
//! with the violated rule. They need a tokio runtime with time, use unique names, and remove what they store. A store may
//! drop entries at any time, but it needs space for the few small ones of the tests.
//!
//! ```
//! use std::sync::Arc;
//! use toolwire::cache::{MemoryCache, contract};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! // Each call is another connection to the same store, as another process would have.
//! let store = Arc::new(MemoryCache::new());
//! contract::cache_store(async || store.clone()).await;
//! # }
//! ```

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::time::timeout;
use toolwire_types::{ProtocolVersion, RawJson};

use crate::client::cache::{
    CacheEntry, CacheFilter, CacheFuture, CacheKey, CacheStore, random_name,
};

/// The timeout of operations that should complete at once. Only a broken store reaches it.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The number of concurrent tasks.
const CONCURRENT_TASKS: usize = 8;

/// The size of a result that a store may reject.
const LARGE: usize = 2 * 1024 * 1024;

/// The partition of the filters.
const OWN: &str = "own";

/// Checks a [`CacheStore`]. `connect` is called once per process that shares it.
pub async fn cache_store<S: CacheStore + 'static>(connect: impl AsyncFn() -> Arc<S>) {
    let (store, other) = (connect().await, connect().await);
    entries_are_shared(&*store, &*other).await;
    keys_are_compared_as_a_whole(&*store).await;
    outdated_entries_are_replaced(&*store).await;
    unusual_texts(&*store).await;
    removals(&*store, &*other).await;
    concurrent_writes(&store, &other).await;
}

async fn entries_are_shared(store: &impl CacheStore, other: &impl CacheStore) {
    let server = TestedServer::new();
    let key = server.key("tools/list", None, None);
    check(store, &key, None, "a key has no entry at first").await;
    put(store, &key, entry("one")).await;
    check(store, &key, Some("one"), "an entry is stored").await;
    check(other, &key, Some("one"), "other processes see it").await;
    put(other, &key, entry("two")).await;
    let rule = "a new entry replaces the previous one";
    check(store, &key, Some("two"), rule).await;
    clear(store, [&key]).await;
}

/// Equal keys mean equal requests, and no other key does.
async fn keys_are_compared_as_a_whole(store: &impl CacheStore) {
    let server = TestedServer::new();
    let read = |uri| server.key("resources/read", Some(uri), None);
    let mut older = server.key("tools/list", None, None);
    older.version = ProtocolVersion::ALL[0];
    let keys = [
        server.key("tools/list", None, None),
        older,
        server.key("prompts/list", None, None),
        server.key("tools/list", None, Some("")),
        server.key("tools/list", None, Some(OWN)),
        server.key("tools/list", None, Some("other")),
        read("a://b"),
        read("a://b/"),
        read("A://b"),
    ];
    for (number, key) in keys.iter().enumerate() {
        let rule = "keys that differ in one member are different";
        check(store, key, None, rule).await;
        put(store, key, entry(&number.to_string())).await;
    }
    for (number, key) in keys.iter().enumerate() {
        let rule = "entries of different keys are independent";
        check(store, key, Some(&number.to_string()), rule).await;
    }
    clear(store, &keys).await;
}

/// The new entry counts, also if the store does not store it.
async fn outdated_entries_are_replaced(store: &impl CacheStore) {
    let server = TestedServer::new();
    let key = server.key("tools/list", None, Some(OWN));
    let expired = CacheEntry::new(result("expired"), Duration::from_secs(1));
    for new in [expired, entry(&"x".repeat(LARGE))] {
        put(store, &key, entry("old")).await;
        put(store, &key, new.clone()).await;
        let found = get(store, &key).await;
        assert!(
            found.is_none_or(|found| found == new),
            "an entry that is expired or too large replaces the previous one"
        );
    }
    clear(store, [&key]).await;
}

/// Keys contain URIs and parameters, and results contain text, which can have any character.
async fn unusual_texts(store: &impl CacheStore) {
    let server = TestedServer::new();
    let long = format!("https://example.com/{}", "a/".repeat(1000));
    for uri in [
        &long,
        "\"quoted\" \\ ünïcode/../ %2F {brace} * \n",
        "\u{0}",
        "",
    ] {
        let key = server.key("resources/read", Some(uri), Some("a b*{}\n"));
        for text in ["", "{\"a\": \"b\"}", "\u{0}ü€😀\r\n"] {
            put(store, &key, entry(text)).await;
            check(store, &key, Some(text), "every text is stored unchanged").await;
        }
        clear(store, [&key]).await;
    }
}

async fn removals(store: &impl CacheStore, other: &impl CacheStore) {
    let server = TestedServer::new();
    remove(store, &server.filter()).await;
    let mut keys = Vec::new();
    for partition in [None, Some(OWN), Some("other")] {
        keys.push(server.key("tools/list", None, partition));
        keys.push(server.key("prompts/list", None, partition));
        for uri in ["a://b/c", "a://b/c/d", "a://b/x"] {
            keys.push(server.key("resources/read", Some(uri), partition));
        }
    }
    let of_uri = |uri: &str| {
        let mut filter = server.filter().with_method("resources/read");
        filter.uri = Some(uri.to_owned());
        filter
    };
    for filter in [
        server.filter(),
        server.filter().with_method("tools/list"),
        server.filter().with_request(&keys[0]),
        of_uri("a://b/c"),
        of_uri("a://b/c/d"),
        of_uri(&format!("a://b{}", "/c".repeat(100))),
    ] {
        for key in &keys {
            put(store, key, entry("outdated")).await;
        }
        remove(store, &filter).await;
        let rule = format!("everything that {filter:?} matches is removed");
        for key in keys.iter().filter(|key| filter.matches(key)) {
            check(store, key, None, &rule).await;
            check(other, key, None, &rule).await;
        }
        for key in &keys {
            put(other, key, entry("new")).await;
            let rule = "a removal does not concern later entries";
            check(store, key, Some("new"), rule).await;
        }
    }
    clear(store, &keys).await;
}

async fn concurrent_writes<S: CacheStore + 'static>(store: &Arc<S>, other: &Arc<S>) {
    let server = TestedServer::new();
    let key = |number: usize| server.key("resources/read", Some(&format!("a://{number}")), None);
    let keys: Vec<_> = (0..CONCURRENT_TASKS).map(key).collect();
    let tasks: Vec<_> = keys
        .iter()
        .zip([store, other].into_iter().cycle())
        .map(|(key, store)| {
            let (key, store) = (key.clone(), Arc::clone(store));
            tokio::spawn(async move { put(&*store, &key, entry(&key.params)).await })
        })
        .collect();
    for task in tasks {
        task.await.expect("no call panics");
    }
    for key in &keys {
        let rule = "concurrent writes lose no entry";
        check(&**store, key, Some(&key.params), rule).await;
    }
    clear(&**store, &keys).await;
}

/// A server that no other test uses.
struct TestedServer(String);

impl TestedServer {
    fn new() -> Self {
        let name = random_name().expect("the operating system provides random bytes");
        Self(format!("https://{name}.example.com/mcp"))
    }

    fn key(&self, method: &str, uri: Option<&str>, partition: Option<&str>) -> CacheKey {
        let params = uri.map(|uri| RawJson::from(json!({ "uri": uri })));
        let version = ProtocolVersion::LATEST;
        let key = CacheKey::of(&self.0, version, method, params.as_ref());
        key.expect("the parameters are an object")
            .in_partition(partition)
    }

    /// Returns a filter for everything of this server that one partition may use.
    fn filter(&self) -> CacheFilter {
        CacheFilter::everything(&self.0, OWN)
    }
}

/// Removes entries.
async fn clear<'a>(store: &impl CacheStore, keys: impl IntoIterator<Item = &'a CacheKey>) {
    for key in keys {
        let partition = key.partition.as_deref().unwrap_or(OWN);
        remove(store, &CacheFilter::everything(&key.server, partition)).await;
        check(store, key, None, "a removed entry is absent").await;
    }
}

fn result(text: &str) -> RawJson {
    RawJson::from(json!({ "text": text }))
}

fn entry(text: &str) -> CacheEntry {
    CacheEntry::new(result(text), Duration::MAX)
}

async fn check(store: &impl CacheStore, key: &CacheKey, expected: Option<&str>, rule: &str) {
    let expected = expected.map(entry);
    assert_eq!(get(store, key).await, expected, "{rule}: {key:?}");
}

async fn get(store: &impl CacheStore, key: &CacheKey) -> Option<CacheEntry> {
    complete("getting an entry", store.get(key)).await
}

async fn put(store: &impl CacheStore, key: &CacheKey, entry: CacheEntry) {
    complete("storing an entry", store.put(key.clone(), entry)).await;
}

async fn remove(store: &impl CacheStore, filter: &CacheFilter) {
    complete("removing entries", store.remove(filter)).await;
}

/// Returns the value of a call that should succeed at once.
async fn complete<T>(what: &str, call: CacheFuture<'_, T>) -> T {
    let completed = timeout(TIMEOUT, call).await;
    let completed = completed.unwrap_or_else(|_| panic!("{what} timed out after {TIMEOUT:?}"));
    completed.unwrap_or_else(|error| panic!("{what}: the store failed: {error:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::cache::MemoryCache;

    #[tokio::test]
    async fn memory_meets_the_contract() {
        let store = Arc::new(MemoryCache::new());
        cache_store(async || Arc::clone(&store)).await;
    }

    /// A store that breaks one rule.
    #[derive(Debug)]
    struct Broken {
        store: MemoryCache,
        breaks: Rule,
    }

    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Rule {
        PartitionOfKey,
        Replacement,
        RemovalOfPublicEntries,
    }

    impl CacheStore for Broken {
        fn get<'a>(&'a self, key: &'a CacheKey) -> CacheFuture<'a, Option<CacheEntry>> {
            Box::pin(async move {
                let partition = key.partition.as_deref();
                let partition = partition.filter(|_| self.breaks != Rule::PartitionOfKey);
                self.store.get(&key.in_partition(partition)).await
            })
        }

        fn put(&self, key: CacheKey, entry: CacheEntry) -> CacheFuture<'_, ()> {
            Box::pin(async move {
                let partition = key.partition.as_deref();
                let partition = partition.filter(|_| self.breaks != Rule::PartitionOfKey);
                let is_large = entry.result.get().len() > LARGE;
                if is_large && self.breaks == Rule::Replacement {
                    return Ok(());
                }
                self.store.put(key.in_partition(partition), entry).await
            })
        }

        fn remove<'a>(&'a self, filter: &'a CacheFilter) -> CacheFuture<'a, ()> {
            Box::pin(async move {
                if self.breaks == Rule::RemovalOfPublicEntries && filter.uri.is_some() {
                    return Ok(());
                }
                self.store.remove(filter).await
            })
        }
    }

    async fn breaks(breaks: Rule) {
        let store = MemoryCache::new();
        let store = Arc::new(Broken { store, breaks });
        cache_store(async || Arc::clone(&store)).await;
    }

    #[tokio::test]
    #[should_panic(expected = "keys that differ in one member are different")]
    async fn ignored_partition_is_found() {
        breaks(Rule::PartitionOfKey).await;
    }

    #[tokio::test]
    #[should_panic(expected = "an entry that is expired or too large replaces the previous one")]
    async fn outdated_entry_is_found() {
        breaks(Rule::Replacement).await;
    }

    #[tokio::test]
    #[should_panic(expected = "matches is removed")]
    async fn missing_removal_is_found() {
        breaks(Rule::RemovalOfPublicEntries).await;
    }
}
