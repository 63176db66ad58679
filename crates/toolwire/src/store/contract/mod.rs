//! The tests every store has to pass.
//!
//! Whoever writes a store over a network runs these from tests of their own. They check what the documentation of the
//! traits says, one sentence after the other, and panic with the sentence that does not hold. They need a tokio runtime
//! with time, take less than a second each on a fast store, and use names of their own, so that the store under test
//! may be one that others use too.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//! use toolwire::store::{MemoryBus, MemoryEventLog, MemoryNonceStore, MemoryProxyStore, MemorySessionStore, contract};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! // The shortest time to live the store can tell apart from a longer one.
//! let ttl = Duration::from_millis(100);
//! contract::session_store(async || Arc::new(MemorySessionStore::default()), ttl).await;
//! contract::event_log(async || Arc::new(MemoryEventLog::default())).await;
//! contract::nonce_store(async || Arc::new(MemoryNonceStore::default())).await;
//! contract::proxy_store(async || Arc::new(MemoryProxyStore::default()), ttl).await;
//!
//! // Each call is another connection to the same bus.
//! let bus = Arc::new(MemoryBus::default());
//! contract::bus(async || bus.clone()).await;
//! # }
//! ```

mod bus;
mod events;
mod nonces;
mod proxy;
mod sessions;

pub use bus::bus;
pub use events::{event_log, event_log_bound};
pub use nonces::{nonce_store, nonce_store_owner_bound};
pub use proxy::{proxy_store, proxy_store_bound};
pub use sessions::{session_store, session_store_bound};

use std::fmt::Write;
use std::time::Duration;

use tokio::time::timeout;

use crate::engine::{Principal, TokenInfo};
use crate::store::StoreError;

/// How long anything may take that should happen at once. Only a store that is broken takes it.
const PATIENCE: Duration = Duration::from_secs(5);

/// Waits for what should happen at once.
async fn soon<T>(rule: &str, future: impl Future<Output = T>) -> T {
    timeout(PATIENCE, future)
        .await
        .unwrap_or_else(|_| panic!("{rule}: nothing happened for {PATIENCE:?}"))
}

/// A principal with a token.
fn user(name: &str) -> Principal {
    Principal::of(&TokenInfo {
        valid: true,
        subject: Some(name.to_owned()),
        ..TokenInfo::default()
    })
}

/// A name nobody else uses.
fn fresh(kind: &str) -> String {
    let mut bytes = [0; 12];
    getrandom::fill(&mut bytes).expect("the system has randomness");
    let mut name = format!("{kind}-");
    for byte in bytes {
        write!(name, "{byte:02x}").expect("writing to a string succeeds");
    }
    name
}

/// The value of a call that has no reason to fail.
fn ok<T>(what: &str, result: Result<T, StoreError>) -> T {
    result.unwrap_or_else(|error| panic!("{what}: the store failed: {error:?}"))
}
