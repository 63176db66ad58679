//! Servers for tests of the HTTP client.

pub mod raw;
pub mod tls;
