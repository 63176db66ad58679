//! The client's side of HTTP.
//!
//! [`HttpClient`] is the seam: whatever carries one request to a server and its answer back. [`HyperHttp`] is what comes
//! with toolwire.

mod addresses;
mod answer;
mod connector;
mod deadline;
mod dial;
mod endpoint;
mod event_reader;
mod explain;
mod http_with_sse;
mod hyper_http;
mod link;
mod place;
mod proxy;
mod redirect;
mod renewal;
mod resuming;
mod session;
mod standing;
mod tls;
mod wire;

pub use crate::client::http::{HttpBody, HttpClient, HttpFailure, HttpStep};
pub use hyper_http::HyperHttp;
pub use proxy::HttpProxies;
