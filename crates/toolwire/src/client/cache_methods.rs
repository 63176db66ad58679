//! The cache methods of clients and their builders.

use std::sync::Arc;

use crate::client::cache::{CacheLocation, CacheStore};
use crate::client::{Client, ClientBuilder};

impl ClientBuilder {
    /// Sets the store for cached results. Default: a [`MemoryCache`](crate::client::cache::MemoryCache) per client.
    ///
    /// Clients with the same store and the same server share the results that the server marks as public. All other
    /// results are private: only clients of the same [partition](Self::with_cache_partition) use them.
    pub fn with_cache(mut self, store: Arc<dyn CacheStore>) -> Self {
        self.config.cache.location = CacheLocation::Shared(store);
        self
    }

    /// Disables the cache.
    pub fn without_cache(mut self) -> Self {
        self.config.cache.location = CacheLocation::Disabled;
        self
    }

    /// Shares private results with every client that uses the same store and the same partition name.
    ///
    /// The name must stand for one authorization context: one user with one set of rights. Two credentials must never
    /// share a partition, or the results of one user are visible to the other. Default: a random partition per client,
    /// so a client with another token does not use the private results of the first client.
    pub fn with_cache_partition(mut self, name: impl Into<String>) -> Self {
        self.config.cache.partition = Some(name.into());
        self
    }
}

impl Client {
    /// Removes every cached result of this server that this client may use: private and public ones.
    ///
    /// Results in flight are not stored either. Call it when the rights of the client have changed.
    pub async fn clear_cache(&self) {
        self.shared.cache.clear().await;
    }
}
