//! The limits of a node.

use toolwire::transport::http::HttpLimits;

/// Returns limits that permit at most 384 MiB. The chart gives a node 512 MiB: the rest is for handlers and for what a node
/// stores in memory.
pub(crate) fn limits() -> HttpLimits {
    let mut limits = HttpLimits::default();
    limits.connections = 600;
    limits.requests_in_flight = 2_000;
    limits.open_streams = 2_000;
    limits.bytes_in_flight = 64 * 1024 * 1024;
    limits.stream_bytes = 32 * 1024 * 1024;
    limits
}
