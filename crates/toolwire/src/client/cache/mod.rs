//! Answers that may be used again: those a server says may be kept, for as long as it says, for whom it says.
//!
//! Only revisions with cache hints know this, and only six methods: `server/discover`, the four lists (page by page) and
//! `resources/read`. An answer without a positive `ttlMs` is not kept, one without a scope is private. Answers to
//! requests that carried answers of the user are never kept. A change notification counts more than any time that is
//! left: what it concerns is not used again, even if it is still on its way.

mod changes;
mod clock;
mod key;
mod memory;
mod options;
mod store;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use toolwire_proto::cache::{Freshness, is_cacheable_method, may_cache, outdated_by, parse};
use toolwire_proto::features::VersionFeatures;
use toolwire_proto::subscriptions::Change;
use toolwire_types::{CacheScope, ProtocolVersion, RawJson, code};

use crate::client::cache::changes::Changes;
use crate::client::cache::clock::Clock;
use crate::client::cache::options::CacheLocation;
use crate::error::Error;

pub use key::{CacheFilter, CacheKey};
pub use memory::MemoryCache;
pub use options::CacheMode;
pub(crate) use options::CacheOptions;
pub use store::{CacheEntry, CacheError, CacheFuture, CacheStore};

/// How long a store may take; then the call goes on without it.
const STORE_PATIENCE: Duration = Duration::from_secs(2);

/// The kept answers of one server, as one client may see them.
#[derive(Debug)]
pub(crate) struct Cache {
    /// `None` keeps nothing.
    store: Option<Arc<dyn CacheStore>>,
    server: String,
    partition: String,
    clock: Clock,
    changes: Mutex<Changes>,
    /// Keeping and forgetting take turns, so that nothing outdated is kept after it was forgotten.
    writing: tokio::sync::Mutex<()>,
}

/// What the cache says before a request is sent.
#[derive(Debug)]
pub(crate) enum Lookup {
    /// This is the answer.
    Hit(RawJson),
    /// Ask; with the ticket the answer may be kept.
    Miss(Box<Ticket>),
    /// Ask; the answer is not to be kept.
    Uncached,
}

/// The right to keep the answer to one request, unless something changes before it comes.
#[derive(Debug)]
pub(crate) struct Ticket {
    cache: Arc<Cache>,
    number: u64,
    key: CacheKey,
    /// Whether the answer takes the place of one that may still be fresh.
    replaces: bool,
}

impl Ticket {
    /// Whether nothing has changed since that concerns the answer.
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
    /// The cache of a client; a server without a name is nobody else's.
    pub(crate) fn new(options: &CacheOptions, server: String) -> Self {
        let store: Option<Arc<dyn CacheStore>> = match &options.place {
            CacheLocation::Own => Some(Arc::new(MemoryCache::new())),
            CacheLocation::Given(store) => Some(Arc::clone(store)),
            CacheLocation::Nowhere => None,
        };
        let own = random_name();
        if own.is_none() {
            tracing::warn!(
                "no answers are kept, because the system has no randomness to name them"
            );
        }
        let store = store.filter(|_| own.is_some());
        let own = own.unwrap_or_default();
        Self {
            store,
            server: match server.is_empty() {
                // A URL never looks like this, so no server can be given the name on purpose.
                true => format!("unnamed {own}"),
                false => server,
            },
            partition: options.partition.clone().unwrap_or(own),
            clock: Clock::start(),
            changes: Mutex::default(),
            writing: tokio::sync::Mutex::default(),
        }
    }

    /// Whether answers to this method are looked for and kept at all.
    pub(crate) fn is_asked(&self, version: ProtocolVersion, method: &str, mode: CacheMode) -> bool {
        self.store.is_some()
            && mode != CacheMode::Bypass
            && version.has_cache_hints()
            && is_cacheable_method(method)
    }

    /// Looks for an answer before a request is sent.
    pub(crate) async fn look_up(
        self: &Arc<Self>,
        version: ProtocolVersion,
        method: &str,
        params: Option<&RawJson>,
        mode: CacheMode,
    ) -> Lookup {
        let possible = self.is_asked(version, method, mode)
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
        match self.fresh(&ticket.key).await {
            // What changed while the store was asked may be what it gave.
            Some(result) if ticket.is_valid() => Lookup::Hit(result),
            _ if ticket.is_valid() => Lookup::Miss(Box::new(ticket)),
            _ => Lookup::Miss(Box::new(self.ticket(ticket.key.clone(), replaces))),
        }
    }

    /// Keeps an answer that has just come, if it may be kept.
    pub(crate) async fn keep(&self, ticket: Ticket, result: &RawJson) {
        let Some(store) = &self.store else {
            return;
        };
        let received = self.clock.now();
        if ticket.replaces {
            self.changes()
                .replaced(ticket.number, self.everything().with_request(&ticket.key));
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
        let _turn = self.writing.lock().await;
        if ticket.is_valid() {
            attempt("keep an answer", store.put(key, entry)).await;
        }
    }

    /// Something changed: what it concerns is not used any more, from this moment on.
    pub(crate) fn invalidate(self: &Arc<Self>, change: &Change) {
        if let Some(outdated) = outdated_by(change) {
            self.outdate(self.everything().with_outdated(outdated));
        }
    }

    /// A request was refused. When a cursor leads nowhere, the pages before it are of a list that is no more.
    ///
    /// Spec 2026-07-28, server/utilities/caching: all pages of the list are dropped then.
    pub(crate) fn refused(self: &Arc<Self>, method: &str, params: Option<&RawJson>, error: &Error) {
        let is_refusal = error
            .rpc()
            .is_some_and(|rpc| rpc.code == code::INVALID_PARAMS);
        if is_refusal && method.ends_with("/list") && has_cursor(params) {
            self.outdate(self.everything().with_method(method));
        }
    }

    /// Forgets everything of this server that this client could be given.
    pub(crate) async fn clear(self: &Arc<Self>) {
        self.outdate(self.everything());
        self.sweep().await;
    }

    fn outdate(self: &Arc<Self>, filter: CacheFilter) {
        if self.store.is_none() {
            return;
        }
        self.changes().outdate(filter, self.everything());
        // Without a runtime the next request sweeps; until then nobody looks.
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

    /// Removes what is outdated from the store. False when the store did not do it.
    async fn sweep(&self) -> bool {
        let Some(store) = &self.store else {
            return true;
        };
        let _turn = self.writing.lock().await;
        loop {
            let Some((number, filter)) = self.changes().next_outdated() else {
                return true;
            };
            if attempt("forget answers", store.remove(&filter))
                .await
                .is_none()
            {
                return false;
            }
            self.changes().removed(number);
        }
    }

    /// A fresh answer to a request: one of this partition, or one for anybody.
    async fn fresh(&self, key: &CacheKey) -> Option<RawJson> {
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
            let found = attempt("look for an answer", store.get(&key)).await?;
            if let Some(entry) = found.filter(|entry| entry.is_fresh(self.clock.now())) {
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
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Asks the store for something, which never fails a call: `None` when it did not work or took too long.
async fn attempt<T>(what: &'static str, future: CacheFuture<'_, T>) -> Option<T> {
    match tokio::time::timeout(STORE_PATIENCE, future).await {
        Ok(Ok(done)) => return Some(done),
        Ok(Err(error)) => {
            let source = std::error::Error::source(&error).map(ToString::to_string);
            tracing::warn!(what, %error, source, "the cache is not used");
        }
        Err(_) => tracing::warn!(
            what,
            "the cache is not used, because its store takes too long"
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

/// A name nobody else has; `None` when the system has no randomness.
fn random_name() -> Option<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).ok()?;
    Some(URL_SAFE_NO_PAD.encode(bytes))
}
