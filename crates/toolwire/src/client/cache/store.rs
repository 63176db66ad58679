//! The trait of a cache store, its entries and its error.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use toolwire_proto::cache::Freshness;
use toolwire_types::RawJson;

use crate::client::cache::key::{CacheFilter, CacheKey};
use crate::engine::BoxFuture;

/// The future that every operation of a store returns.
pub(crate) type CacheFuture<'a, T> = BoxFuture<'a, Result<T, CacheError>>;

/// A store for cached results of servers, for one client or for many.
///
/// A store returns the entry that was put under an equal key. The client decides which results are stored, for which
/// clients, and whether they are fresh. A store may drop any entry at any time. A store that fails, or takes longer
/// than 2 s, never fails a call: the client logs a warning and sends the request to the server.
///
/// [`contract`](crate::cache::contract) contains the tests that every store has to pass.
///
/// ```
/// use std::collections::HashMap;
/// use std::sync::Mutex;
///
/// use toolwire::BoxFuture;
/// use toolwire::cache::{CacheEntry, CacheError, CacheFilter, CacheKey, CacheStore};
///
/// /// Stores everything without a limit. Suitable only for short programs.
/// #[derive(Debug, Default)]
/// struct KeepAll(Mutex<HashMap<CacheKey, CacheEntry>>);
///
/// impl CacheStore for KeepAll {
///     fn get<'a>(
///         &'a self,
///         key: &'a CacheKey,
///     ) -> BoxFuture<'a, Result<Option<CacheEntry>, CacheError>> {
///         let entry = self.0.lock().unwrap().get(key).cloned();
///         Box::pin(async { Ok(entry) })
///     }
///
///     fn put(&self, key: CacheKey, entry: CacheEntry) -> BoxFuture<'_, Result<(), CacheError>> {
///         self.0.lock().unwrap().insert(key, entry);
///         Box::pin(async { Ok(()) })
///     }
///
///     fn remove<'a>(&'a self, filter: &'a CacheFilter) -> BoxFuture<'a, Result<(), CacheError>> {
///         self.0.lock().unwrap().retain(|key, _| !filter.matches(key));
///         Box::pin(async { Ok(()) })
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a cache store",
    note = "implement `toolwire::cache::CacheStore`, or use `toolwire::cache::MemoryCache`"
)]
pub trait CacheStore: fmt::Debug + Send + Sync {
    /// Returns the entry under a key, fresh or not.
    fn get<'a>(&'a self, key: &'a CacheKey) -> CacheFuture<'a, Option<CacheEntry>>;

    /// Stores an entry and replaces the previous one. The client does not use an entry after it has expired.
    fn put(&self, key: CacheKey, entry: CacheEntry) -> CacheFuture<'_, ()>;

    /// Removes every entry that the filter matches. It may remove more, but not less.
    fn remove<'a>(&'a self, filter: &'a CacheFilter) -> CacheFuture<'a, ()>;
}

/// A cached result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CacheEntry {
    /// The result as the server sent it.
    pub result: RawJson,
    /// The expiry time, as the time since 1970-01-01 UTC. Machines that share a store need synchronized clocks.
    pub expires: Duration,
}

impl CacheEntry {
    /// Creates an entry that is fresh until `expires`, counted from 1970-01-01 UTC.
    #[must_use]
    pub fn new(result: RawJson, expires: Duration) -> Self {
        Self { result, expires }
    }

    /// Returns `true` if the entry is fresh at `now`, counted from 1970-01-01 UTC.
    #[must_use]
    pub fn is_fresh(&self, now: Duration) -> bool {
        Freshness::until(self.expires).is_fresh(now)
    }
}

/// The error of a failed store operation.
#[derive(Debug)]
pub struct CacheError(Box<dyn StdError + Send + Sync>);

impl CacheError {
    /// Creates an error with its cause.
    pub fn new(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self(source.into())
    }
}

impl fmt::Display for CacheError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the cache store failed")
    }
}

impl StdError for CacheError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&*self.0)
    }
}
