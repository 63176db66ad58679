//! The quickstart of the README, unchanged: the smallest useful server.
//!
//! Run it with `cargo run -p toolwire-examples --example quickstart`, or give that command to an MCP client.

include!("../examples/quickstart.rs");
