//! The cached results of a client.
//!
//! Entries are not searched when results become outdated. Each entry has a few tags, and the versions that the tags had
//! when it was stored. A removal changes the versions of tags, so that the entries with these tags do not count any more.

mod tags;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use redis::{Script, cmd};
use toolwire::BoxFuture;
use toolwire::cache::{CacheEntry, CacheError, CacheFilter, CacheKey, CacheStore};
use toolwire::store::StoreError;

use crate::connection::{Connection, Repeat, milliseconds};
use crate::keys::Keys;

/// The longest time that a result is stored.
const LONGEST_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);

/// The maximum size of a stored result.
const MAX_BYTES: usize = 1024 * 1024;

/// The maximum number of tags of one server with a version. One more makes all results of the server outdated.
const MAX_TAGS: usize = 10_000;

type CacheFuture<'a, T> = BoxFuture<'a, Result<T, CacheError>>;

/// A cache of results that all nodes of a client share ([`Redis::client_cache`](crate::Redis::client_cache)).
///
/// A result is stored for at most 24 hours, and not at all if it is larger than 1 MiB. The memory of the engine limits
/// all results together. Give a large cache an engine of its own: this one evicts nothing.
///
/// A resource may be outdated after a change of 10,000 different URIs of its server, although it did not change.
#[derive(Clone)]
pub struct RedisCache {
    connection: Connection,
    keys: Keys,
    scripts: Arc<CacheScripts>,
}

struct CacheScripts {
    get: Script,
    put: Script,
    remove: Script,
}

impl RedisCache {
    pub(crate) fn new(connection: Connection, keys: Keys) -> Self {
        Self {
            connection,
            keys,
            scripts: Arc::new(CacheScripts {
                get: Script::new(include_str!("../scripts/cache/get.lua")),
                put: Script::new(include_str!("../scripts/cache/put.lua")),
                remove: Script::new(include_str!("../scripts/cache/remove.lua")),
            }),
        }
    }

    async fn read(&self, key: &CacheKey) -> Result<Option<Vec<u8>>, StoreError> {
        let mut invocation = self.scripts.get.prepare_invoke();
        invocation
            .key(self.entry_key(key)?)
            .key(self.keys.cache_tags(&key.server))
            .arg(tags::of_key(key));
        self.connection.send(&invocation, Repeat::Harmless).await
    }

    async fn write(&self, key: &CacheKey, entry: &CacheEntry) -> Result<(), StoreError> {
        let entry_key = self.entry_key(key)?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let lifetime = entry.expires.saturating_sub(now.unwrap_or_default());
        let text = serde_json::to_vec(entry).map_err(StoreError::unavailable)?;
        if lifetime.is_zero() || text.len() > MAX_BYTES {
            // The previous entry is outdated, even if the new one is not stored.
            let mut delete = cmd("DEL");
            delete.arg(entry_key);
            return self.connection.send(&delete, Repeat::Harmless).await;
        }
        let mut invocation = self.scripts.put.prepare_invoke();
        invocation
            .key(entry_key)
            .key(self.keys.cache_tags(&key.server))
            .arg(text)
            .arg(milliseconds(lifetime.min(LONGEST_LIFETIME)))
            .arg(tags::of_key(key));
        // A repetition after a removal by another node would store an outdated result.
        self.connection.send(&invocation, Repeat::Harmful).await
    }

    async fn outdate(&self, filter: &CacheFilter) -> Result<(), StoreError> {
        let mut invocation = self.scripts.remove.prepare_invoke();
        invocation
            .key(self.keys.cache_tags(&filter.server))
            .arg(milliseconds(LONGEST_LIFETIME))
            .arg(MAX_TAGS)
            .arg(tags::EVERYTHING)
            .arg(tags::of_filter(filter));
        self.connection.send(&invocation, Repeat::Harmless).await
    }

    fn entry_key(&self, key: &CacheKey) -> Result<String, StoreError> {
        let json = serde_json::to_vec(key).map_err(StoreError::unavailable)?;
        Ok(self.keys.cache_entry(&key.server, &json))
    }
}

impl fmt::Debug for RedisCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisCache").finish_non_exhaustive()
    }
}

impl CacheStore for RedisCache {
    fn get<'a>(&'a self, key: &'a CacheKey) -> CacheFuture<'a, Option<CacheEntry>> {
        Box::pin(async move {
            let text = self.read(key).await.map_err(CacheError::new)?;
            // An entry of another version of this crate counts as absent.
            Ok(text.and_then(|text| serde_json::from_slice(&text).ok()))
        })
    }

    fn put(&self, key: CacheKey, entry: CacheEntry) -> CacheFuture<'_, ()> {
        Box::pin(async move { self.write(&key, &entry).await.map_err(CacheError::new) })
    }

    fn remove<'a>(&'a self, filter: &'a CacheFilter) -> CacheFuture<'a, ()> {
        Box::pin(async move { self.outdate(filter).await.map_err(CacheError::new) })
    }
}
