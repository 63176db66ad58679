//! A client that gets its tokens by itself, in a town of its own: no sockets, and every request is written down.

#![expect(
    clippy::unwrap_used,
    reason = "a test may panic, also outside its own function"
)]

mod accounts;
mod bound_tokens;
mod one_at_a_time;
mod refreshing;
mod registering;
mod stepping_up;
mod town;
mod trust;
