//! HTTP servers, as their clients see them.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

mod blocking;
mod byte_limits;
mod clock;
mod cors;
mod crowd;
pub(crate) mod direct;
pub(crate) mod endpoint;
pub(crate) mod events;
mod fleet;
mod http2;
mod large;
mod legacy;
mod legacy_batch;
mod legacy_push;
mod legacy_streams;
mod limits;
mod listen;
mod modern;
mod plain;
mod principals;
pub(crate) mod request;
mod rounds;
mod rows;
mod rows_hosts;
mod rows_routing;
pub(crate) mod session;
pub(crate) mod socket;
pub(crate) mod stage;
mod table;
