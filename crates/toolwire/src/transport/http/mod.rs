//! HTTP: one endpoint on which 2026-07-28 requests are served statelessly and 2025-era clients get their sessions.
//!
//! [`HttpService`] turns a server into a `tower` service over `http` types; [`Server::serve_http`](crate::Server::serve_http)
//! brings its own listener. A request passes the guards, is decoded once and admitted, and its handler is polled inside
//! the response: no task, no channel, until it has something to say before its outcome.

mod authorizer;
mod byte_budget;
mod cluster;
mod endpoint;
mod exchange;
pub(crate) mod http_sse;
mod limits;
mod listener;
mod options;
mod permits;
mod random_id;
mod request;
mod response;
mod service;
mod session;

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
