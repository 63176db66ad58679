//! The limits of an HTTP/2 connection.

use std::time::Duration;

use hyper::server::conn::http2;
pub(super) use hyper::server::conn::http2::Connection;
use hyper_util::rt::TokioTimer;

use crate::transport::http::limits::HttpLimits;
use crate::transport::http::listener::buffer_sizes::{BUFFER, REQUEST_LINE};
use crate::transport::http::listener::http2_streams::StreamExecutor;

/// The maximum number of open streams of one connection.
const STREAMS_PER_CONNECTION: u32 = 256;

/// The interval of pings, and the time in which a client has to acknowledge one.
const PING: Duration = Duration::from_secs(20);

/// The flow control window of one stream: the bytes of a request body that a client may send before they are read.
const STREAM_WINDOW: u32 = 64 * 1024;
/// The flow control window of all streams of a connection together.
const CONNECTION_WINDOW: u32 = 256 * 1024;

/// Returns the settings of one connection, whose streams `executor` runs.
///
/// The limits of hyper are slightly higher than those of the service, whose error responses name the exceeded limit.
pub(super) fn builder(
    limits: &HttpLimits,
    executor: StreamExecutor,
) -> http2::Builder<StreamExecutor> {
    // HTTP/2 counts 32 more bytes for each field, and four fields for the request line.
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
