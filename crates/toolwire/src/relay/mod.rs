//! A relay: a server that forwards to another server, the upstream, over any transport and in any revision.
//!
//! ```no_run
//! # async fn serve() -> Result<(), toolwire::Error> {
//! use toolwire::relay::Upstream;
//! use toolwire::ServerCommand;
//!
//! let upstream = Upstream::new(|builder| builder.spawn(ServerCommand::new("some-server")));
//! let relay = upstream.relay();
//! relay.server().clone().serve_stdio().await?;
//! relay.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! If the client and the upstream use the same era, messages pass unchanged: names, unknown members, the order of
//! members and the text of numbers stay as they are. Only ids, and tokens that have to be unique on a shared connection,
//! are replaced.

mod backoff;
mod calls;
mod change_streams;
mod client_key;
mod connection;
mod connector;
mod credentials;
mod forwarder;
mod idle_sessions;
mod inner;
mod legacy_client;
mod load;
mod log_filter;
mod maintenance;
mod messages;
mod modern_client;
mod notification_gate;
mod open_connections;
mod opening_sessions;
mod parked;
mod polled_task;
mod required_task;
mod resource_subscriptions;
mod round_client;
mod server_requests;
mod session_changes;
mod session_opening;
mod session_owner;
mod session_requests;
mod sessions;
mod shared_log_level;
mod shared_upstream;
mod source;
mod upstream;

pub use credentials::{Credential, Credentials, FixedCredential, LoginRequired};
pub use forwarder::Relay;
pub use load::RelayLoad;
pub use source::{UpstreamSource, UpstreamState, UpstreamStatus};
pub use upstream::{Sharing, Upstream};
