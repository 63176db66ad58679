//! Caches results for as long as the server permits, and for the clients that the server permits.
//!
//! Only revisions with cache hints permit caching, and only for six methods: `server/discover`, the four lists (page by
//! page) and `resources/read`. A result without a positive `ttlMs` is not cached. A result without a scope is private.
//! Results of requests that carried input responses are never cached. A change notification overrides the remaining
//! ttl: the results that it concerns are not used again, even if they are still in flight.

mod changes;
mod clock;
pub mod contract;
mod key;
mod memory;
mod options;
mod store;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use toolwire_proto::cache::{Freshness, invalidated_by, is_cacheable_method, may_cache, parse};
use toolwire_proto::features::VersionFeatures;
use toolwire_proto::subscriptions::Change;
use toolwire_types::{CacheScope, ProtocolVersion, RawJson, code};

use crate::client::cache::changes::Changes;
use crate::client::cache::clock::Clock;
use crate::client::cache::store::CacheFuture;
use crate::error::Error;
use crate::sync::lock;

pub use key::{CacheFilter, CacheKey};
pub use memory::MemoryCache;
pub use options::CacheMode;
pub(crate) use options::{CacheLocation, CacheOptions};
pub use store::{CacheEntry, CacheError, CacheStore};

/// How long a store operation may take. After that, the call continues without the cache.
const STORE_TIMEOUT: Duration = Duration::from_secs(2);

/// The cached results of one server that one client may use.
#[derive(Debug)]
pub(crate) struct Cache {
    /// `None` disables the cache.
    store: Option<Arc<dyn CacheStore>>,
    server: String,
    partition: String,
    clock: Clock,
    changes: Mutex<Changes>,
    /// Serializes writes and removals, so that no outdated result is stored after its removal.
    writing: tokio::sync::Mutex<()>,
}

/// The result of a cache lookup before a request is sent.
#[derive(Debug)]
pub(crate) enum Lookup {
    /// The cached result.
    Hit(RawJson),
    /// The request has to be sent. The ticket permits storing its result.
    Miss(Box<Ticket>),
    /// The request has to be sent. Its result must not be stored.
    Uncached,
}

/// Permits storing the result of one request, unless a change concerns it before it arrives.
#[derive(Debug)]
pub(crate) struct Ticket {
    cache: Arc<Cache>,
    number: u64,
    key: CacheKey,
    /// Whether the result replaces a cached result that may still be fresh.
    replaces: bool,
}

impl Ticket {
    /// Returns `true` if no change since the request concerns the result.
    fn is_valid(&self) -> bool {
        self.cache.changes().is_open(self.number)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.cache.changes().close(self.number);
    }
}

impl Cache {
    /// Creates the cache of a client. A server without a name shares its entries with no other client.
    pub(crate) fn new(options: &CacheOptions, server: String) -> Self {
        let store: Option<Arc<dyn CacheStore>> = match &options.location {
            CacheLocation::Own => Some(Arc::new(MemoryCache::new())),
            CacheLocation::Shared(store) => Some(Arc::clone(store)),
            CacheLocation::Disabled => None,
        };
        let unique_name = random_name();
        if unique_name.is_none() {
            tracing::warn!(
                "results are not cached, because the system provides no random bytes for cache names"
            );
        }
        let store = store.filter(|_| unique_name.is_some());
        let unique_name = unique_name.unwrap_or_default();
        Self {
            store,
            server: if server.is_empty() {
                // No URL has this form, so no server can choose this name.
                format!("unnamed {unique_name}")
            } else {
                server
            },
            partition: options.partition.clone().unwrap_or(unique_name),
            clock: Clock::start(),
            changes: Mutex::default(),
            writing: tokio::sync::Mutex::default(),
        }
    }

    /// Returns `true` if results of this method are looked up and stored.
    pub(crate) fn applies_to(
        &self,
        version: ProtocolVersion,
        method: &str,
        mode: CacheMode,
    ) -> bool {
        self.store.is_some()
            && mode != CacheMode::Bypass
            && version.has_cache_hints()
            && is_cacheable_method(method)
    }

    /// Looks up the result of a request before the request is sent.
    pub(crate) async fn look_up(
        self: &Arc<Self>,
        version: ProtocolVersion,
        method: &str,
        params: Option<&RawJson>,
        mode: CacheMode,
    ) -> Lookup {
        let possible = self.applies_to(version, method, mode)
            && may_cache(method, params.map(RawJson::as_raw_value));
        let key = possible.then(|| CacheKey::of(&self.server, version, method, params));
        let Some(key) = key.flatten() else {
            return Lookup::Uncached;
        };
        let replaces = mode == CacheMode::Refresh;
        let ticket = self.ticket(key, replaces);
        if replaces {
            return Lookup::Miss(Box::new(ticket));
        }
        match self.get_fresh(&ticket.key).await {
            // A change during the lookup may concern the entry that the store returned.
            Some(result) if ticket.is_valid() => Lookup::Hit(result),
            _ if ticket.is_valid() => Lookup::Miss(Box::new(ticket)),
            _ => Lookup::Miss(Box::new(self.ticket(ticket.key.clone(), replaces))),
        }
    }

    /// Stores a received result, if the server permits it.
    pub(crate) async fn store_result(&self, ticket: Ticket, result: &RawJson) {
        let Some(store) = &self.store else {
            return;
        };
        let received = self.clock.now();
        if ticket.replaces {
            self.changes()
                .invalidate_older(ticket.number, self.everything().with_request(&ticket.key));
            self.sweep().await;
        }
        let Some(hint) = parse(result.as_raw_value()).filter(|hint| !hint.ttl.is_zero()) else {
            return;
        };
        let partition = match hint.scope {
            CacheScope::Public => None,
            _ => Some(self.partition.as_str()),
        };
        let key = ticket.key.in_partition(partition);
        let expires = Freshness::of(hint, received).expires();
        let entry = CacheEntry::new(result.clone(), expires);
        let _guard = self.writing.lock().await;
        if ticket.is_valid() {
            attempt("store a result", store.put(key, entry)).await;
        }
    }

    /// Invalidates the cached results that a change concerns, with immediate effect.
    pub(crate) fn invalidate(self: &Arc<Self>, change: &Change) {
        if let Some(outdated) = invalidated_by(change) {
            self.invalidate_matching(self.everything().with_outdated(outdated));
        }
    }

    /// Handles a rejected request. A rejected cursor means that the cached pages before it belong to an outdated list.
    ///
    /// Spec 2026-07-28, server/utilities/caching: all pages of the list are dropped then.
    pub(crate) fn on_rejected(
        self: &Arc<Self>,
        method: &str,
        params: Option<&RawJson>,
        error: &Error,
    ) {
        let is_rejected_cursor = error
            .rpc()
            .is_some_and(|rpc| rpc.code == code::INVALID_PARAMS);
        if is_rejected_cursor && method.ends_with("/list") && has_cursor(params) {
            self.invalidate_matching(self.everything().with_method(method));
        }
    }

    /// Removes every entry of this server that this client may use.
    pub(crate) async fn clear(self: &Arc<Self>) {
        self.invalidate_matching(self.everything());
        self.sweep().await;
    }

    fn invalidate_matching(self: &Arc<Self>, filter: CacheFilter) {
        if self.store.is_none() {
            return;
        }
        self.changes().invalidate(filter, self.everything());
        // Without a runtime the next request sweeps. Until then no entry is read.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        if !self.changes().begin_sweep() {
            return;
        }
        let cache = Arc::clone(self);
        runtime.spawn(async move {
            loop {
                let swept = cache.sweep().await;
                if cache.changes().end_sweep(swept) {
                    return;
                }
            }
        });
    }

    /// Removes outdated entries from the store. Returns `false` if the store failed.
    async fn sweep(&self) -> bool {
        let Some(store) = &self.store else {
            return true;
        };
        let _guard = self.writing.lock().await;
        loop {
            let Some((number, filter)) = self.changes().next_filter() else {
                return true;
            };
            if attempt("remove results", store.remove(&filter))
                .await
                .is_none()
            {
                return false;
            }
            self.changes().record_applied(number);
        }
    }

    /// Returns a fresh result for a request, from this partition or from the public entries.
    async fn get_fresh(&self, key: &CacheKey) -> Option<RawJson> {
        let store = self.store.as_ref()?;
        let is_outdated = || self.changes().is_outdated(key);
        if is_outdated() {
            self.sweep().await;
            if is_outdated() {
                return None;
            }
        }
        for partition in [Some(self.partition.as_str()), None] {
            let key = key.in_partition(partition);
            let cached = attempt("look up a result", store.get(&key)).await?;
            if let Some(entry) = cached.filter(|entry| entry.is_fresh(self.clock.now())) {
                return Some(entry.result);
            }
        }
        None
    }

    fn ticket(self: &Arc<Self>, key: CacheKey, replaces: bool) -> Ticket {
        Ticket {
            cache: Arc::clone(self),
            number: self.changes().open(key.clone()),
            key,
            replaces,
        }
    }

    fn everything(&self) -> CacheFilter {
        CacheFilter::everything(&self.server, &self.partition)
    }

    fn changes(&self) -> MutexGuard<'_, Changes> {
        lock(&self.changes)
    }
}

/// Runs a store operation. Returns `None` if it fails or times out, so that the store never fails a call.
async fn attempt<T>(operation: &'static str, future: CacheFuture<'_, T>) -> Option<T> {
    match tokio::time::timeout(STORE_TIMEOUT, future).await {
        Ok(Ok(value)) => return Some(value),
        Ok(Err(error)) => {
            let source = std::error::Error::source(&error).map(ToString::to_string);
            tracing::warn!(operation, %error, source, "the cache store failed; the call continues without it");
        }
        Err(_) => tracing::warn!(
            operation,
            "the cache store did not finish in time; the call continues without it"
        ),
    }
    None
}

fn has_cursor(params: Option<&RawJson>) -> bool {
    #[derive(serde::Deserialize)]
    struct Page {
        cursor: Option<serde::de::IgnoredAny>,
    }
    params.is_some_and(|params| {
        params
            .parse::<Page>()
            .is_ok_and(|page| page.cursor.is_some())
    })
}

/// Returns a random name, or `None` if the system provides no random bytes.
fn random_name() -> Option<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).ok()?;
    Some(URL_SAFE_NO_PAD.encode(bytes))
}
