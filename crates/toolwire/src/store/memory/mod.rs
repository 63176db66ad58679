//! Stores in the memory of one process, with limits.
//!
//! They are the defaults of the HTTP transport. They start no task and no timer: later calls remove expired records, a
//! few at a time.

mod bus;
mod encoded_size;
mod events;
mod mailboxes;
mod nonces;
mod sessions;
#[cfg(all(feature = "events", feature = "http-client"))]
mod subscriptions;
#[cfg(feature = "tasks")]
mod tasks;

pub use bus::MemoryBus;
pub use events::{MemoryEventLog, MemoryEventLogLimits};
pub use mailboxes::MemoryMailboxes;
pub use nonces::MemoryNonceStore;
pub use sessions::{MemorySessionLimits, MemorySessionStore};
#[cfg(all(feature = "events", feature = "http-client"))]
pub use subscriptions::MemorySubscriptionStore;
#[cfg(feature = "tasks")]
pub use tasks::{MemoryTaskLimits, MemoryTaskStore};
