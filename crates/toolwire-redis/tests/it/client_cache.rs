//! The cached results of a client.

use std::sync::Arc;
use std::time::Duration;

use redis::AsyncCommands as _;
use serde_json::json;
use toolwire::cache::{CacheEntry, CacheFilter, CacheKey, CacheStore as _, contract};
use toolwire::types::RawJson;
use toolwire_redis::RedisCache;

use crate::engine::Engine;

fn key(method: &str, uri: Option<&str>, partition: Option<&str>) -> CacheKey {
    let params = uri.map_or_else(|| json!({}), |uri| json!({ "uri": uri }));
    serde_json::from_value(json!({
        "server": "https://a", "version": "2026-07-28", "method": method, "uri": uri,
        "params": params.to_string(), "partition": partition,
    }))
    .unwrap()
}

fn filter(server: &str, methods: &[&str], uri: Option<&str>) -> CacheFilter {
    serde_json::from_value(json!({
        "server": server, "partition": "me", "methods": methods, "uri": uri, "params": null,
    }))
    .unwrap()
}

fn entry(text: &str) -> CacheEntry {
    CacheEntry::new(RawJson::from_value(&text.into()), Duration::MAX)
}

async fn put(cache: &RedisCache, key: &CacheKey, text: &str) {
    cache.put(key.clone(), entry(text)).await.unwrap();
}

#[tokio::test]
async fn contract_holds() {
    check_contract(&Engine::start()).await;
}

/// Checks the contract with an engine.
pub(crate) async fn check_contract(engine: &Engine) {
    let connect = async || Arc::new(engine.connect().await.client_cache());
    contract::cache_store(connect).await;
}

#[tokio::test]
async fn removals_concern_little_else() {
    let engine = Engine::start();
    let cache = engine.connect().await.client_cache();
    let tools = key("tools/list", None, None);
    let mine = key("tools/list", None, Some("me"));
    let yours = key("tools/list", None, Some("you"));
    let resource = key("resources/read", Some("a://b/c"), None);
    let other = key("resources/read", Some("a://b/d"), None);
    let all = [&tools, &mine, &yours, &resource, &other];
    for key in all {
        put(&cache, key, &key.method).await;
    }
    let check = async |expected: [bool; 5]| {
        for (key, is_cached) in all.into_iter().zip(expected) {
            let expected = is_cached.then(|| entry(&key.method));
            assert_eq!(cache.get(key).await.unwrap(), expected, "{key:?}");
        }
    };
    let remove = async |filter: CacheFilter| cache.remove(&filter).await.unwrap();
    remove(filter("https://b", &[], None)).await;
    check([true, true, true, true, true]).await;
    remove(filter("https://a", &["resources/read"], Some("a://b/c/x"))).await;
    check([true, true, true, false, true]).await;
    remove(filter("https://a", &["tools/list"], None)).await;
    check([false, false, true, false, true]).await;
    put(&cache, &tools, "tools/list").await;
    remove(filter("https://a", &[], None)).await;
    check([false, false, true, false, false]).await;
}

#[tokio::test]
async fn results_and_tags_are_limited_and_expire() {
    let engine = Engine::start();
    let cache = engine.connect().await.client_cache();
    let key = key("resources/read", Some("a://b"), None);
    let largest = 1024 * 1024 - serde_json::to_string(&entry("")).unwrap().len();
    put(&cache, &key, &"x".repeat(largest)).await;
    assert!(cache.get(&key).await.unwrap().is_some());
    put(&cache, &key, &"x".repeat(largest + 1)).await;
    assert_eq!(cache.get(&key).await.unwrap(), None, "outdated entry");
    let expired = CacheEntry::new(RawJson::from_value(&"x".into()), Duration::from_secs(1));
    cache.put(key.clone(), expired).await.unwrap();
    assert_eq!(cache.get(&key).await.unwrap(), None);

    put(&cache, &key, "a").await;
    let changed = filter("https://a", &["resources/read"], Some("a://other"));
    cache.remove(&changed).await.unwrap();
    assert!(cache.get(&key).await.unwrap().is_some());
    let mut commands = engine.commands().await;
    let stored: Vec<String> = commands.keys("*{*").await.unwrap();
    assert_eq!(stored.len(), 2, "{stored:?}");
    for key in &stored {
        let ttl: i64 = commands.pttl(key).await.unwrap();
        assert!((1..=24 * 3600 * 1000).contains(&ttl), "{key} {ttl}");
    }
    // The next two tags are too many, so everything is outdated.
    let tags = stored.iter().find(|key| key.ends_with("tags")).unwrap();
    for number in 0..9_997 {
        let _: () = commands.hset(tags, number, 1).await.unwrap();
    }
    cache
        .remove(&filter("https://a", &["x"], None))
        .await
        .unwrap();
    assert_eq!(cache.get(&key).await.unwrap(), None);
    let count: usize = commands.hlen(tags).await.unwrap();
    assert_eq!(count, 1);
    put(&cache, &key, "b").await;
    assert_eq!(cache.get(&key).await.unwrap(), Some(entry("b")));
}
