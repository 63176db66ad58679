//! Attacks on the HTTP transport, one module per class of attack.
//!
//! Each class is tested on every row of [`routers::ROUTERS`], because a common mistake is to fix a vulnerability on one
//! entry point and not on another. A new router gets all tests with one new row in that table.

#![expect(
    clippy::unwrap_used,
    reason = "a test may panic, also outside its own function"
)]

mod cancellation;
mod entry_points;
mod fixture;
mod header_injection;
mod host_and_origin;
mod other_users_handles;
mod routers;
mod secrets;
mod ssrf;
mod tls;
mod token_confusion;
