//! Events, as clients see them.

#![expect(
    clippy::unwrap_used,
    reason = "tests may panic, also in helper functions"
)]

mod client;
mod hooks;
mod http;
mod polls;
mod sources;
mod streams;
mod streams_end;
mod webhook_messages;
mod webhook_renewal;
mod webhooks;
