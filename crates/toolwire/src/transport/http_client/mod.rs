//! The client's side of HTTP.
//!
//! [`HttpClient`] is the seam: whatever carries one request to a server and its answer back. [`HyperHttp`] is what comes
//! with toolwire.

mod addresses;
mod connect;
mod connection;
mod connector;
mod deadline;
mod endpoint;
mod event_reader;
mod explain;
mod http1;
mod http2_body;
mod http_transport;
mod http_with_sse;
mod hyper_http;
mod origin;
mod place;
mod pool;
mod proxy;
mod redirect;
mod renewal;
mod response;
mod resumable_stream;
mod server_stream;
mod session;
mod tls;
mod wire;

pub use crate::client::http::{HttpBody, HttpClient, HttpFailure, HttpStep};
pub use hyper_http::HyperHttp;
pub use proxy::HttpProxies;
#[cfg(feature = "oauth-client")]
pub(crate) use redirect::is_same_origin;

/// Whether a URI names the machine we run on.
#[cfg(feature = "oauth-client")]
pub(crate) fn is_this_machine(uri: &http::Uri) -> bool {
    place::Place::of(uri).is_ok_and(|place| place.is_this_machine())
}
