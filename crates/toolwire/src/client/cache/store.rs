//! Where answers are kept: the trait a store implements, and what it is given.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use toolwire_proto::cache::Freshness;
use toolwire_types::RawJson;

use crate::client::cache::key::{CacheFilter, CacheKey};
use crate::engine::BoxFuture;

/// What every call of a store returns.
pub type CacheFuture<'a, T> = BoxFuture<'a, Result<T, CacheError>>;

/// Keeps answers of servers, for one client or for many.
///
/// A store keeps what it is given and hands it back for an equal key; what may be kept, for whom, and whether it is still
/// fresh is decided by the client. It may forget anything at any time. A store that fails, or takes longer than two
/// seconds, never fails a call: the client warns and asks the server.
///
/// ```
/// use std::collections::HashMap;
/// use std::sync::Mutex;
///
/// use toolwire::cache::{CacheEntry, CacheFilter, CacheFuture, CacheKey, CacheStore};
///
/// /// Keeps everything for ever: fine for a short program, and for nothing else.
/// #[derive(Debug, Default)]
/// struct KeepAll(Mutex<HashMap<CacheKey, CacheEntry>>);
///
/// impl CacheStore for KeepAll {
///     fn get<'a>(&'a self, key: &'a CacheKey) -> CacheFuture<'a, Option<CacheEntry>> {
///         let found = self.0.lock().unwrap().get(key).cloned();
///         Box::pin(async { Ok(found) })
///     }
///
///     fn put(&self, key: CacheKey, entry: CacheEntry) -> CacheFuture<'_, ()> {
///         self.0.lock().unwrap().insert(key, entry);
///         Box::pin(async { Ok(()) })
///     }
///
///     fn remove<'a>(&'a self, filter: &'a CacheFilter) -> CacheFuture<'a, ()> {
///         self.0.lock().unwrap().retain(|key, _| !filter.matches(key));
///         Box::pin(async { Ok(()) })
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no store for answers",
    note = "implement `toolwire::cache::CacheStore`, or use `toolwire::cache::MemoryCache`"
)]
pub trait CacheStore: fmt::Debug + Send + Sync {
    /// What is kept under a key, fresh or not.
    fn get<'a>(&'a self, key: &'a CacheKey) -> CacheFuture<'a, Option<CacheEntry>>;

    /// Keeps an answer, in place of what was there. Nobody asks for it after it has expired.
    fn put(&self, key: CacheKey, entry: CacheEntry) -> CacheFuture<'_, ()>;

    /// Forgets everything the filter matches. It may forget more, but not less.
    fn remove<'a>(&'a self, filter: &'a CacheFilter) -> CacheFuture<'a, ()>;
}

/// A kept answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CacheEntry {
    /// The result as the server sent it.
    pub result: RawJson,
    /// When it stops being fresh, as the time since 1970-01-01 UTC. Machines that share a store need clocks that agree.
    pub expires: Duration,
}

impl CacheEntry {
    /// An answer that is fresh until a moment, counted from 1970-01-01 UTC.
    #[must_use]
    pub fn new(result: RawJson, expires: Duration) -> Self {
        Self { result, expires }
    }

    /// True while the answer may be used at `now`, counted from 1970-01-01 UTC.
    #[must_use]
    pub fn is_fresh(&self, now: Duration) -> bool {
        Freshness::until(self.expires).is_fresh(now)
    }
}

/// Why a store did not do what it was asked.
#[derive(Debug)]
pub struct CacheError(Box<dyn StdError + Send + Sync>);

impl CacheError {
    /// The store does not work, for this reason.
    pub fn new(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self(source.into())
    }
}

impl fmt::Display for CacheError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the store for answers does not work")
    }
}

impl StdError for CacheError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&*self.0)
    }
}
