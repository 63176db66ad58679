//! Cache options of clients and calls.

use std::sync::Arc;

use crate::client::cache::store::CacheStore;

/// How a call uses the cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CacheMode {
    /// Uses a fresh cached result. Otherwise sends the request and stores the result.
    #[default]
    Use,
    /// Sends the request and stores nothing.
    Bypass,
    /// Always sends the request, and replaces the cached result.
    Refresh,
}

/// The cache options of a client builder.
#[derive(Debug, Clone, Default)]
pub(crate) struct CacheOptions {
    pub(crate) location: CacheLocation,
    pub(crate) partition: Option<String>,
}

/// The store of a client.
#[derive(Debug, Clone, Default)]
pub(crate) enum CacheLocation {
    /// A memory cache of this client only.
    #[default]
    Own,
    /// A given store, which other clients may use as well.
    Shared(Arc<dyn CacheStore>),
    /// No store: nothing is cached.
    Disabled,
}
