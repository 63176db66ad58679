//! The HTTP transport of the client.
//!
//! [`HttpClient`] is the trait of an HTTP client: it sends one request and returns the response. [`HyperClient`]
//! implements it with hyper. [`GuardedFetcher`] sends requests to untrusted URLs.

mod addresses;
mod authority;
mod connect;
mod connector;
mod endpoint;
mod error_mapping;
mod event_reader;
mod guarded_fetcher;
mod http_transport;
mod http_with_sse;
mod hyper_client;
mod proxy;
mod redirect;
mod renewal;
mod response;
mod response_body;
mod resumable_stream;
mod server_stream;
mod session;
mod stream;
mod tls;
mod trace_headers;
mod tunnel;

pub use crate::client::http::{ClientBody, HttpClient, HttpError, HttpLayer, HttpPhase};
pub use crate::client::user_interaction::{UserInteraction, UserInteractionGuard};
pub use guarded_fetcher::GuardedFetcher;
pub use hyper_client::HyperClient;
pub use proxy::ProxySettings;
