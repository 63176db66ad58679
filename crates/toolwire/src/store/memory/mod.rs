//! Stores in the memory of one process, within bounds.
//!
//! They are the defaults of the HTTP transport. Nothing here starts a task or a timer: what has become too old is
//! removed by the calls that come later, a little at a time.

mod bus;
mod events;
mod nonces;
mod proxy;
mod proxy_table;
mod sessions;

pub use bus::MemoryBus;
pub use events::{MemoryEventLog, MemoryEventLogLimits};
pub use nonces::MemoryNonceStore;
pub use proxy::{MemoryProxyLimits, MemoryProxyStore};
pub use sessions::{MemorySessionLimits, MemorySessionStore};
