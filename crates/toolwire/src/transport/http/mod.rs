//! HTTP: one endpoint on which 2026-07-28 requests are served statelessly and 2025-era clients get their sessions.
//!
//! [`HttpService`] turns a server into a `tower` service over `http` types; [`Server::serve_http`](crate::Server::serve_http)
//! brings its own listener. A request passes the guards, is decoded once and admitted, and its handler is polled inside
//! the response: no task, no channel, until it has something to say before its outcome.

mod answer;
mod authorizer;
mod body;
mod byte_budget;
mod cors;
mod endpoint;
mod event_source;
mod event_stream;
mod foreign_answer;
mod guard;
mod head;
mod incoming;
mod lead;
mod legacy;
mod limits;
mod listener;
mod message;
mod modern;
mod node;
mod options;
mod peer_address;
mod post;
mod public;
mod running;
mod service;
mod slots;
mod stalls;
mod stream_context;
mod stream_queue;
mod token_end;
mod unread_body;

pub use authorizer::{AuthorizationError, Authorizer, PublicRoute};
pub use body::ServerBody;
pub use limits::HttpLimits;
pub use listener::HttpListener;
#[cfg(feature = "tls")]
pub use listener::tls;
pub use options::{HttpOptions, LegacyMode};
pub use peer_address::PeerAddress;
pub use service::{HttpLoad, HttpService};
pub use stream_context::HttpStreamContext;
