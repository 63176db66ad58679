//! The HTTP transport: one endpoint that serves 2026-07-28 requests without state and 2025-era clients in sessions.
//!
//! [`HttpService`] is a `tower` service over `http` types. [`Server::serve_http`](crate::Server::serve_http) runs it
//! with the listener of this module. A request passes the guards, is decoded once and admitted. Its handler is polled
//! by the future of the response, without a task or a channel, unless it sends messages before its outcome.

mod access_log;
mod authorizer;
mod browser_page;
mod byte_budget;
mod cluster;
mod endpoint;
mod exchange;
mod further_services;
pub(crate) mod http_sse;
mod limits;
mod listener;
mod options;
mod permits;
mod public_url;
mod published_card;
mod random_id;
mod request;
mod response;
mod retry_delay;
mod server_card;
mod service;
mod session;
mod stores;

pub use access_log::AccessRecord;
pub use authorizer::{AuthorizationError, Authorizer, PublicRoute};
pub use exchange::context::HttpStreamContext;
pub use limits::HttpLimits;
pub use listener::HttpListener;
#[cfg(feature = "tls")]
pub use listener::tls;
pub use options::{HttpOptions, LegacyMode};
pub use request::peer_address::PeerAddress;
pub use response::body::ServerBody;
pub use service::{HttpLoad, HttpService};
