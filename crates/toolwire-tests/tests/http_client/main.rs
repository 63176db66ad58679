//! The client over HTTP, with the server of this crate in every era, and with scripted servers that violate the
//! protocol. [`stack`] tests the HTTP client without MCP.

#![expect(
    clippy::unwrap_used,
    reason = "a test may panic, also outside its own function"
)]
#![expect(deprecated, reason = "deprecated features are tested, too")]

mod calls;
mod cancelling;
mod double;
mod eras;
mod fake;
mod headers;
mod http_with_sse;
mod input_requests;
mod mirrored_headers;
mod over_tls;
mod resuming;
mod reuse;
mod script;
mod secrets;
mod sessions;
mod stack;
mod streams;
mod tasks;
