//! What several nodes of one service may share: sessions, streams that can be resumed, news of changes, which request
//! states were used, and what an OAuth proxy remembers.
//!
//! All but the last two are for the HTTP transport, and only for clients of the 2025 revisions; a 2026-07-28 request carries
//! everything itself, and has to be remembered only where its state must not be used twice. The defaults keep everything in memory, within bounds. An implementation over a network makes any
//! node able to serve any request; [`contract`] holds the tests it has to pass.
//!
//! Every call about sessions and streams takes the principal. A record of somebody else is treated exactly as one that does not exist, and how long
//! anything lives is the store's business, so that no node sweeps away what another one uses.

mod bus;
pub mod contract;
mod events;
mod memory;
mod nonces;
mod proxy;
mod sessions;
mod token_record;

use std::error::Error as StdError;
use std::fmt;

pub use bus::{Bus, BusDelivery, BusMessage, BusPayload, BusSubscription, SessionSignal};
pub use events::{EventLog, LogEntry, Replay, StreamKey};
pub use memory::{
    MemoryBus, MemoryEventLog, MemoryEventLogLimits, MemoryNonceStore, MemoryProxyLimits,
    MemoryProxyStore, MemorySessionLimits, MemorySessionStore,
};
pub use nonces::NonceStore;
pub use proxy::{NewProxyRecord, OwnerLimit, ProxyOwner, ProxyRecord, ProxyStore};
pub use sessions::{ExpiredSession, SessionRecord, SessionStore, StoredSession};

use crate::engine::BoxFuture;

/// What every call of a store returns.
pub type StoreFuture<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// Why a store did not do what it was asked.
///
/// Clients get 503 with `Retry-After` unless another status is named: what cannot be checked is not served.
#[derive(Debug)]
#[non_exhaustive]
pub enum StoreError {
    /// A bound was reached, of the store or of the principal.
    Full,
    /// The bound of one owner was reached. Others are not affected. Such a client gets 429 with `Retry-After`.
    OwnerFull,
    /// The store cannot be reached, or does not work.
    Unavailable(Box<dyn StdError + Send + Sync>),
}

impl StoreError {
    /// The store does not work.
    pub fn unavailable(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Unavailable(source.into())
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "the store is full",
            Self::OwnerFull => "the share of one owner in the store is used up",
            Self::Unavailable(_) => "the store is unavailable",
        })
    }
}

impl StdError for StoreError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Full | Self::OwnerFull => None,
            Self::Unavailable(source) => Some(&**source),
        }
    }
}
