//! The HTTP client over real sockets. The servers of these tests read and write raw bytes.

mod addresses;
mod cancelling;
mod failures;
mod hostile;
mod http1;
mod http2;
mod no_retry;
mod pool;
mod proxies;
mod redirects;
mod responses;
mod retry;
mod tls;
