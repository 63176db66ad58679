//! The stores with a real engine.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    reason = "tests may panic, also in helper functions"
)]

mod bus;
mod connection;
mod engine;
mod event_log;
mod nonces;
mod sessions;
mod tasks;
mod workers;
