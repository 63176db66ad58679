//! A server that serves only whom a token lets in, seen from the other end of a socket.

#![expect(
    clippy::unwrap_used,
    reason = "a test may panic, also outside its own function"
)]

mod failures;
pub(crate) mod guarded;
pub(crate) mod issuer;
mod metadata;
mod old_transport;
mod principals;
mod proofs;
mod rejected_bodies;
mod scopes;
mod stream_ends;
mod tokens;
