//! The stores with a real engine.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    reason = "tests may panic, also in helper functions"
)]

mod bus;
#[cfg(feature = "client")]
mod client_cache;
mod cluster;
mod connection;
mod counters;
mod engine;
mod event_log;
mod mailboxes;
mod node_comparison;
mod nonces;
#[cfg(feature = "auth")]
mod proxy;
mod same_as_memory;
mod sealing;
mod sentinel;
mod sessions;
mod shared_key;
#[cfg(feature = "events")]
mod subscriptions;
mod tasks;
#[cfg(feature = "tls")]
mod tls;
#[cfg(feature = "auth")]
mod tokens;
#[cfg(all(feature = "auth", feature = "client", feature = "events"))]
mod valkey;
mod workers;
