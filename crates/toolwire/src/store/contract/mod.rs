//! Contract tests for stores.
//!
//! Run them from the tests of a store implementation, for example a store over a network. They check the documentation
//! of the traits sentence by sentence, and panic with the violated rule. They need a tokio runtime with time and take
//! less than 1 s each on a fast store. They use unique names, so that the store under test may be shared.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//! use toolwire::store::{MemoryBus, MemoryEventLog, MemoryMailboxes, MemoryNonceStore, MemorySessionStore, contract};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! // Each call is another connection to the same store. The time is the shortest time to live that the store can
//! // distinguish from a longer one.
//! let (sessions, ttl) = (Arc::new(MemorySessionStore::default()), Duration::from_millis(100));
//! contract::session_store(async || sessions.clone(), ttl).await;
//! let nonces = Arc::new(MemoryNonceStore::default());
//! contract::nonce_store(async || nonces.clone()).await;
//! let events = Arc::new(MemoryEventLog::default());
//! contract::event_log(async || events.clone()).await;
//! let bus = Arc::new(MemoryBus::default());
//! contract::bus(async || bus.clone()).await;
//! let mailboxes = Arc::new(MemoryMailboxes::default());
//! contract::mailboxes(async || mailboxes.clone()).await;
//! # }
//! ```
//!
//! [`Faulty`] wraps a store that fails or loses data on purpose, for tests of the code that uses stores.

mod bus;
mod events;
mod faulty;
mod mailboxes;
mod nonces;
mod sessions;
#[cfg(all(feature = "events", feature = "http-client"))]
mod subscriptions;
#[cfg(feature = "tasks")]
mod tasks;

pub use bus::bus;
pub use events::{event_log, event_log_bound};
pub use faulty::{Fault, Faulty};
pub use mailboxes::{mailboxes, mailboxes_bound};
pub use nonces::{nonce_store, nonce_store_owner_bound};
pub use sessions::{session_store, session_store_bound, session_store_with_bus};
#[cfg(all(feature = "events", feature = "http-client"))]
pub use subscriptions::subscriptions;
#[cfg(feature = "tasks")]
pub use tasks::{task_store, task_store_bounds};

use std::fmt::Write;
use std::time::Duration;

use tokio::time::timeout;

use crate::engine::{Principal, TokenInfo};
use crate::store::StoreError;

/// The timeout of operations that should complete at once. Only a broken store reaches it.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Waits for an operation that should complete at once.
async fn in_time<T>(rule: &str, future: impl Future<Output = T>) -> T {
    timeout(TIMEOUT, future)
        .await
        .unwrap_or_else(|_| panic!("{rule}: timed out after {TIMEOUT:?}"))
}

/// Returns a principal with a token.
fn user(name: &str) -> Principal {
    Principal::of(&TokenInfo {
        valid: true,
        subject: Some(name.to_owned()),
        ..TokenInfo::default()
    })
}

/// Returns a unique name.
fn unique_name(kind: &str) -> String {
    let mut bytes = [0; 12];
    getrandom::fill(&mut bytes).expect("the operating system provides random bytes");
    let mut name = format!("{kind}-");
    for byte in bytes {
        write!(name, "{byte:02x}").expect("writing to a string succeeds");
    }
    name
}

/// Returns the value of a call that should succeed.
fn ok<T>(what: &str, result: Result<T, StoreError>) -> T {
    result.unwrap_or_else(|error| panic!("{what}: the store failed: {error:?}"))
}
