//! The quickstart of the README, byte for byte: the smallest useful server.
//!
//! Run it with `cargo run -p toolwire-examples --example quickstart`, or give that command to an MCP client.

include!("../examples/quickstart.rs");
