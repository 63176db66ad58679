//! The cached results of a client.

use toolwire::cache::{CacheEntry, CacheFilter, CacheKey, CacheStore, MemoryCache};

use super::*;

#[derive(Debug, Clone)]
enum CacheOperation {
    Get { key: usize },
    Put { key: usize },
    Remove { filter: usize },
}

struct Caches<C>([Arc<C>; 2]);

fn keys() -> Vec<CacheKey> {
    let uris = [None, None, Some("a://b"), Some("a://b/c")];
    let mut keys = Vec::new();
    for partition in [None, Some("me"), Some("you")] {
        for (number, uri) in uris.into_iter().enumerate() {
            let method = [
                "tools/list",
                "prompts/list",
                "resources/read",
                "resources/read",
            ][number];
            let params = json!({ "uri": uri }).to_string();
            let key = json!({
                "server": "https://a", "version": "2026-07-28", "method": method, "uri": uri, "params": params,
                "partition": partition,
            });
            keys.push(serde_json::from_value(key).unwrap());
        }
    }
    keys
}

fn filters() -> Vec<CacheFilter> {
    let filters = [
        ("https://a", "me", json!([]), None),
        ("https://a", "you", json!(["tools/list"]), None),
        ("https://a", "me", json!(["resources/read"]), Some("a://b")),
        (
            "https://a",
            "me",
            json!(["resources/read"]),
            Some("a://b/c"),
        ),
        ("https://b", "me", json!([]), None),
    ];
    let filters = filters.into_iter().map(|(server, partition, methods, uri)| {
        let filter = json!({
            "server": server, "partition": partition, "methods": methods, "uri": uri, "params": null,
        });
        serde_json::from_value(filter).unwrap()
    });
    filters.collect()
}

impl<C: CacheStore> Operated<CacheOperation> for Caches<C> {
    async fn run(&mut self, operation: &CacheOperation, number: usize) -> String {
        let cache = &self.0[number % 2];
        match operation {
            CacheOperation::Get { key } => format!("{:?}", cache.get(&keys()[*key]).await),
            CacheOperation::Put { key } => {
                let result = RawJson::from_value(&json!(number));
                let entry = CacheEntry::new(result, Duration::MAX);
                format!("{:?}", cache.put(keys()[*key].clone(), entry).await)
            }
            CacheOperation::Remove { filter } => {
                format!("{:?}", cache.remove(&filters()[*filter]).await)
            }
        }
    }
}

#[test]
fn cached_results_are_those_of_memory() {
    let key = || 0..keys().len();
    let operation = prop_oneof![
        4 => key().prop_map(|key| CacheOperation::Get { key }),
        3 => key().prop_map(|key| CacheOperation::Put { key }),
        1 => (0..filters().len()).prop_map(|filter| CacheOperation::Remove { filter }),
    ];
    compare(
        &options(),
        operation,
        async |redis| Caches(redis.map(|redis| Arc::new(redis.client_cache()))),
        async || Caches(both(MemoryCache::default())),
    );
}
