//! What a user decides about kept answers.

use std::sync::Arc;

use crate::client::cache::store::CacheStore;
use crate::client::{Client, ClientBuilder};

/// What a call does with answers that were kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CacheMode {
    /// Takes a fresh answer from the cache, else asks and keeps the answer.
    #[default]
    Use,
    /// Asks and keeps nothing.
    Bypass,
    /// Asks, whatever is there, and keeps the answer in its place.
    Refresh,
}

/// What the builder collects.
#[derive(Debug, Clone, Default)]
pub(crate) struct CacheOptions {
    pub(super) place: CacheLocation,
    pub(super) partition: Option<String>,
}

/// Where answers are kept.
#[derive(Debug, Clone, Default)]
pub(super) enum CacheLocation {
    /// In memory, for this client alone.
    #[default]
    Own,
    /// In a store that others may use, too.
    Given(Arc<dyn CacheStore>),
    /// Nowhere.
    Nowhere,
}

impl ClientBuilder {
    /// Keeps answers in this store instead of a [`MemoryCache`](crate::client::cache::MemoryCache) of its own.
    ///
    /// Clients with the same store and the same server share the answers that the server calls public. Everything else
    /// is private: only clients of the same [partition](Self::with_cache_partition) see it.
    pub fn with_cache(mut self, store: Arc<dyn CacheStore>) -> Self {
        self.config.cache.place = CacheLocation::Given(store);
        self
    }

    /// Keeps no answers at all.
    pub fn without_cache(mut self) -> Self {
        self.config.cache.place = CacheLocation::Nowhere;
        self
    }

    /// Shares private answers with every client that uses the same store and the same name.
    ///
    /// The name must stand for one authorization context: one user with one set of rights. Two credentials must never
    /// share a partition, or the answers meant for one are shown to the other. Without this call every client has a
    /// random partition of its own, so a client with another token sees nothing of what the first one kept.
    pub fn with_cache_partition(mut self, name: impl Into<String>) -> Self {
        self.config.cache.partition = Some(name.into());
        self
    }
}

impl Client {
    /// Forgets every kept answer of this server that this client could be given: its own and the public ones. Answers
    /// that are on their way are not kept either. Use it when what the client may see has changed.
    pub async fn clear_cache(&self) {
        self.shared.cache.clear().await;
    }
}
