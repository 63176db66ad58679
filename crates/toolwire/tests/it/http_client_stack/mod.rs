//! The client's HTTP over real sockets: servers here are a few lines that read and write bytes.

mod addresses;
mod answers;
mod cancelling;
mod failures;
mod hostile;
mod http1;
mod http2;
mod never_twice;
mod pool;
mod proxies;
pub(crate) mod raw;
mod redirects;
mod repeating;
pub(crate) mod tls;
