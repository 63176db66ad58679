//! Stores that nodes of one service may share.
//!
//! They store sessions, resumable streams, used nonces and tasks, and carry changes and responses of clients between nodes.
//! Sessions, streams, the bus and mailboxes are for the HTTP transport. All but the bus are only for clients before
//! 2026-07-28. A 2026-07-28 request carries its own
//! state. It needs a store only if its state must not be used twice, or if its call becomes a task.
//!
//! The defaults store everything in memory, within limits. With an implementation over a network, any node can serve
//! any request. [`contract`] contains the tests that it has to pass. Tasks can also be stored in a directory
//! (`FileTaskStore`), which the processes of one machine may share.
//!
//! All calls of clients about sessions, streams and tasks take the principal. A record of another principal is treated exactly like an
//! absent record. The store decides on expiry, so that no node removes records that another node uses.

mod bus;
#[cfg_attr(
    not(feature = "http-server"),
    allow(dead_code, reason = "the transport reads it")
)]
mod cluster_stores;
pub mod contract;
mod events;
#[cfg(feature = "tasks")]
mod file;
mod mailboxes;
mod memory;
mod nonces;
mod sessions;
#[cfg(any(feature = "http-server", feature = "tasks"))]
pub(crate) mod store_call;
#[cfg(all(feature = "events", feature = "http-client"))]
mod subscriptions;
#[cfg(feature = "tasks")]
mod tasks;
pub(crate) mod token_record;

use std::error::Error as StdError;
use std::fmt;

pub use bus::{Bus, BusDelivery, BusMessage, BusPayload, BusSubscription, SessionSignal};
pub use cluster_stores::ClusterStores;
pub use events::{Appended, EventLog, LogEntry, LogWriter, Replay, StreamKey, WriterLease};
#[cfg(feature = "tasks")]
pub use file::FileTaskStore;
pub use mailboxes::{Mailbox, Mailboxes, NodeMessage};
#[cfg(all(feature = "events", feature = "http-client"))]
pub use memory::MemorySubscriptionStore;
pub use memory::{
    MemoryBus, MemoryEventLog, MemoryEventLogLimits, MemoryMailboxes, MemoryNonceStore,
    MemorySessionLimits, MemorySessionStore,
};
#[cfg(feature = "tasks")]
pub use memory::{MemoryTaskLimits, MemoryTaskStore};
pub use nonces::NonceStore;
pub use sessions::{ExpiredSession, LoadedSession, SessionRecord, SessionStore, StoredSession};
#[cfg(all(feature = "events", feature = "http-client"))]
pub use subscriptions::{SubscriptionRecord, SubscriptionStore};
#[cfg(feature = "tasks")]
pub use tasks::{
    MAX_TASK_RECORD_BYTES, StoredTask, TaskOutcome, TaskRecord, TaskStore, TaskStoreLimits, Worker,
};

use crate::engine::BoxFuture;
#[cfg(feature = "tasks")]
use crate::engine::since_epoch;

/// The future that the methods of a store return.
pub(crate) type StoreFuture<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// The error of a store.
///
/// Clients get 503 with `Retry-After` unless another status is documented: a request that cannot be checked is
/// rejected.
#[derive(Debug)]
#[non_exhaustive]
pub enum StoreError {
    /// A limit of the store or of the principal is reached.
    Full,
    /// The limit of one owner is reached. Other owners are not affected. The client gets 429 with `Retry-After`.
    OwnerFull,
    /// The id of a new record is in use.
    Taken,
    /// The store is unreachable or failed. The call was not executed.
    Unavailable(Box<dyn StdError + Send + Sync>),
    /// The store did not reply. The call may have been executed.
    Unknown(Box<dyn StdError + Send + Sync>),
    /// A record has a format that this version cannot read, because a newer version has written it.
    UnsupportedFormat,
}

impl StoreError {
    /// Creates an error for an unreachable or failed store.
    pub fn unavailable(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Unavailable(source.into())
    }

    /// Creates an error for a call without a reply, which may have been executed.
    pub fn unknown(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Unknown(source.into())
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "the store is full",
            Self::OwnerFull => "the limit of one owner in the store is reached",
            Self::Taken => "the id is in use",
            Self::Unavailable(_) => "the store is unavailable",
            Self::Unknown(_) => "the store did not reply, and the call may have been executed",
            Self::UnsupportedFormat => "a record in the store has an unsupported format",
        })
    }
}

impl StdError for StoreError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Full | Self::OwnerFull | Self::Taken | Self::UnsupportedFormat => None,
            Self::Unavailable(source) | Self::Unknown(source) => Some(&**source),
        }
    }
}

/// Returns the milliseconds since 1970-01-01 UTC.
#[cfg(feature = "tasks")]
fn now_ms() -> u64 {
    u64::try_from(since_epoch().as_millis()).unwrap_or(u64::MAX)
}
