//! A server that requires access tokens, tested over a socket.

#![expect(
    clippy::unwrap_used,
    reason = "a test may panic, also outside its own function"
)]

mod dpop;
mod http_sse;
pub(crate) mod issuer;
mod metadata;
mod principals;
pub(crate) mod protected_server;
mod rejected_bodies;
mod scopes;
mod token_expiry;
mod tokens;
mod verifier_failures;
