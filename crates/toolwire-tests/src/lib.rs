//! Helpers that the test binaries of this package and of other packages share: peers, servers and clients for tests,
//! and an engine for stores.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]
#![expect(deprecated, reason = "deprecated features are tested, too")]

pub mod channel_transport;
#[cfg(unix)]
pub mod engine;
pub mod every_method;
pub mod http;
pub mod http_client_stack;
pub mod legacy_server;
pub mod peer;
#[cfg(unix)]
pub mod relay;
pub mod scripts;
pub mod server_requests;
pub mod traces;
