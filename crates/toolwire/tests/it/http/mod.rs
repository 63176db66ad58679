//! HTTP servers, as their clients see them.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

mod blocking;
mod byte_limits;
mod cluster;
mod connection_paths;
mod cors;
pub(crate) mod direct;
pub(crate) mod endpoint;
pub(crate) mod events;
mod http2;
mod invalid_hosts;
mod invalid_messages;
mod large_responses;
mod legacy;
mod legacy_batch;
mod legacy_response_streams;
mod legacy_server_streams;
mod limits;
mod listen;
mod many_clients;
mod mirrored_headers;
mod modern;
mod principals;
pub(crate) mod request;
mod rounds;
pub(crate) mod session;
pub(crate) mod socket;
pub(crate) mod stage;
mod table;
mod timeouts;
