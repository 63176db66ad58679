//! Fetches and caches metadata documents of clients whose id is a URL, within limits.
//!
//! A client can name any URL, also of a site that never responds. So fetches are limited per host, per source and in
//! total. A slow site delays only the clients of that site, and a source that names many URLs is rejected.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::documents::ClientIdMetadataDocument;
use crate::fetch::DocumentFetcher;
use crate::proxy::clients::ClientLookupError;
use crate::proxy::records::ClientRecord;
use crate::rules::authorization_server::source::Source;
use crate::rules::metadata_rules::{AuthMethod, check_client_id_document};
use crate::sync::lock;

/// The maximum size of a client's metadata document, in bytes.
const LARGEST_DOCUMENT: usize = 64 * 1024;

/// How long a document is cached, and how long its absence is cached.
const DOCUMENT_TTL: Duration = Duration::from_secs(5 * 60);
const FAILURE_TTL: Duration = Duration::from_secs(30);

/// The maximum number of cached documents.
const MAX_DOCUMENTS: usize = 1_000;

/// The maximum number of concurrent fetches: in total, and per host.
const MAX_FETCHES: usize = 64;
const MAX_FETCHES_OF_HOST: usize = 4;

/// The maximum number of requests that wait for documents of one host, including running fetches.
const MAX_WAITING_FOR_HOST: usize = 64;

/// The maximum number of requests of one source that wait for documents.
const MAX_WAITING_OF_SOURCE: usize = 8;

/// Cached documents by URL, each with its expiry. `None` means that the URL has no valid document.
type Cached = HashMap<String, (Instant, Option<Arc<ClientRecord>>)>;

/// The metadata documents of clients.
#[derive(Debug)]
pub(super) struct Documents {
    fetcher: DocumentFetcher,
    fetch_permits: Semaphore,
    hosts: Waiting<String>,
    sources: Waiting<Source>,
    cached: Mutex<Cached>,
}

impl Documents {
    pub(super) fn new(fetcher: DocumentFetcher) -> Self {
        Self {
            fetcher: fetcher.with_size_limit(LARGEST_DOCUMENT),
            fetch_permits: Semaphore::new(MAX_FETCHES),
            hosts: Waiting::default(),
            sources: Waiting::default(),
            cached: Mutex::default(),
        }
    }

    /// Returns the client that a document describes. `url` is a valid client id URL.
    pub(super) async fn find(
        &self,
        url: &str,
        source: Option<Source>,
    ) -> Result<Arc<ClientRecord>, ClientLookupError> {
        if let Some(cached) = self.cached_client(url) {
            return cached;
        }
        let overloaded = |reason: &'static str| {
            tracing::warn!(reason, "the metadata document of a client is not fetched");
            ClientLookupError::Unavailable
        };
        let _source_entry = match source {
            None => None,
            Some(source) => {
                let entry = self.sources.join(source, MAX_WAITING_OF_SOURCE);
                let entry = entry.ok_or_else(|| overloaded("too many requests of one source"))?;
                Some(entry)
            }
        };
        let uri: http::Uri = url.parse().map_err(|_| ClientLookupError::Unknown)?;
        let host = uri.host().unwrap_or_default().to_ascii_lowercase();
        let host_entry = self.hosts.join(host, MAX_WAITING_FOR_HOST);
        let host_entry = host_entry.ok_or_else(|| overloaded("too many requests for one host"))?;
        let permit = host_entry.permits.acquire().await;
        let _host_permit = permit.map_err(|_| ClientLookupError::Unavailable)?;
        // Another request may have fetched the same document while this one waited.
        if let Some(cached) = self.cached_client(url) {
            return cached;
        }
        let permit = self.fetch_permits.try_acquire();
        let _permit = permit.map_err(|_| overloaded("too many concurrent fetches"))?;
        let client = self.fetch(url).await.map(Arc::new);
        self.store_in_cache(url, client.clone());
        client.ok_or(ClientLookupError::Unknown)
    }

    fn cached_client(&self, url: &str) -> Option<Result<Arc<ClientRecord>, ClientLookupError>> {
        let cached = self.cached();
        let (until, client) = cached.get(url)?;
        (*until > Instant::now()).then(|| client.clone().ok_or(ClientLookupError::Unknown))
    }

    async fn fetch(&self, url: &str) -> Option<ClientRecord> {
        let document: ClientIdMetadataDocument = match self.fetcher.get(url).await {
            Ok(document) => document,
            Err(error) => {
                tracing::debug!(%error, "the metadata document of a client cannot be fetched");
                return None;
            }
        };
        if let Err(error) = check_client_id_document(&document, url) {
            tracing::debug!(%error, "rejected the metadata document of a client");
            return None;
        }
        let metadata = document.metadata;
        let method = metadata.token_endpoint_auth_method.as_deref();
        if method.is_some_and(|method| method != AuthMethod::None.as_str()) {
            tracing::debug!(
                "the metadata document of a client requires an unsupported authentication method"
            );
            return None;
        }
        Some(ClientRecord {
            client_id: document.client_id,
            secret: None,
            redirect_uris: metadata.redirect_uris.unwrap_or_default(),
            name: metadata.client_name,
            first_user: None,
            prolonged_at: None,
        })
    }

    fn store_in_cache(&self, url: &str, client: Option<Arc<ClientRecord>>) {
        let ttl = match client {
            Some(_) => DOCUMENT_TTL,
            None => FAILURE_TTL,
        };
        let now = Instant::now();
        let mut cached = self.cached();
        cached.insert(url.to_owned(), (now + ttl, client));
        if cached.len() > MAX_DOCUMENTS {
            let first_to_expire = cached.iter().min_by_key(|(_, (until, _))| *until);
            if let Some(url) = first_to_expire.map(|(url, _)| url.clone()) {
                cached.remove(&url);
            }
        }
    }

    fn cached(&self) -> MutexGuard<'_, Cached> {
        lock(&self.cached)
    }
}

/// The requests that wait for documents, by host or by source.
#[derive(Debug)]
struct Waiting<K>(Mutex<HashMap<K, Queue>>);

/// The requests that wait for one host, or that belong to one source.
#[derive(Debug)]
struct Queue {
    requests: usize,
    permits: Arc<Semaphore>,
}

impl<K> Default for Waiting<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash> Waiting<K> {
    fn lock(&self) -> MutexGuard<'_, HashMap<K, Queue>> {
        lock(&self.0)
    }
}

impl<K: Eq + Hash + Clone> Waiting<K> {
    /// Counts a request. Returns `None` if the limit is reached.
    fn join(&self, key: K, limit: usize) -> Option<Joined<'_, K>> {
        let mut queues = self.lock();
        let queue = queues.entry(key.clone()).or_insert_with(|| Queue {
            requests: 0,
            permits: Arc::new(Semaphore::new(MAX_FETCHES_OF_HOST)),
        });
        if queue.requests >= limit {
            return None;
        }
        queue.requests += 1;
        Some(Joined {
            permits: Arc::clone(&queue.permits),
            key,
            waiting: self,
        })
    }
}

/// A waiting request that is counted until it is dropped.
#[derive(Debug)]
struct Joined<'w, K: Eq + Hash> {
    permits: Arc<Semaphore>,
    key: K,
    waiting: &'w Waiting<K>,
}

impl<K: Eq + Hash> Drop for Joined<'_, K> {
    fn drop(&mut self) {
        let mut queues = self.waiting.lock();
        if let Some(queue) = queues.get_mut(&self.key) {
            queue.requests -= 1;
            if queue.requests == 0 {
                queues.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests;
