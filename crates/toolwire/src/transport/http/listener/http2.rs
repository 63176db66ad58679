//! The bounds of an HTTP/2 connection.

use std::time::Duration;

use hyper::server::conn::http2;
pub(super) use hyper::server::conn::http2::Connection;
use hyper_util::rt::TokioTimer;

use crate::transport::http::limits::HttpLimits;
use crate::transport::http::listener::buffer_sizes::{BUFFER, REQUEST_LINE};
use crate::transport::http::listener::http2_streams::StreamExecutor;

/// How many requests one connection may have open.
const STREAMS_PER_CONNECTION: u32 = 256;

/// How often a client must show that it is still there.
const PING: Duration = Duration::from_secs(20);

/// How much of one request body a client may send ahead of what is read, and of all bodies together.
const STREAM_WINDOW: u32 = 64 * 1024;
const CONNECTION_WINDOW: u32 = 256 * 1024;

/// Returns the settings of one connection, whose streams `executor` runs.
///
/// The bounds lie just beyond ours, which the service checks: it can say what was wrong.
pub(super) fn builder(
    limits: &HttpLimits,
    executor: StreamExecutor,
) -> http2::Builder<StreamExecutor> {
    // HTTP/2 counts 32 bytes for each field besides its name and value, and four fields for the request line.
    let list = limits
        .header_bytes
        .saturating_add(limits.header_fields.saturating_add(4).saturating_mul(32))
        .saturating_add(REQUEST_LINE);
    let mut http2 = http2::Builder::new(executor);
    http2
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_PER_CONNECTION)
        .keep_alive_interval(PING)
        .keep_alive_timeout(PING)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_send_buf_size(BUFFER)
        .max_header_list_size(u32::try_from(list).unwrap_or(u32::MAX));
    http2
}
