//! A client that obtains its own tokens, tested without sockets against servers that record every request.

#![expect(
    clippy::unwrap_used,
    reason = "a test may panic, also outside its own function"
)]

mod accounts;
mod client_registration;
mod concurrent_requests;
mod dpop;
mod fake_servers;
mod step_up;
mod store_faults;
mod token_refresh;
mod trust;
