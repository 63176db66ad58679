//! Servers on HTTP, seen from the other end of a socket.

#![expect(
    clippy::unwrap_used,
    reason = "a test may panic, also outside its own function"
)]

mod clock;
mod cors;
mod crowd;
mod direct;
mod endpoint;
mod events;
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
mod principals;
mod request;
mod rounds;
mod rows;
mod rows_hosts;
mod rows_routing;
mod session;
mod socket;
mod stage;
mod table;
