//! Stores in the memory of one process, within bounds.
//!
//! They are the defaults of the HTTP transport. Nothing here starts a task or a timer: what has become too old is
//! removed by the calls that come later, a little at a time.

mod bus;
mod events;
mod nonces;
mod proxy;
mod sessions;

pub use bus::MemoryBus;
pub use events::{MemoryEventLog, MemoryEventLogLimits};
pub use nonces::MemoryNonceStore;
pub use proxy::{MemoryProxyLimits, MemoryProxyStore};
pub use sessions::{MemorySessionLimits, MemorySessionStore};

use std::time::Duration;

use tokio::time::Instant;

/// What no process lives to see, for durations that are too long to be added to the clock.
const FAR_AWAY: Duration = Duration::from_secs(60 * 60 * 24 * 365 * 30);

/// The moment `duration` after `now`.
fn after(now: Instant, duration: Duration) -> Instant {
    now.checked_add(duration).unwrap_or_else(|| now + FAR_AWAY)
}
