//! Runs toolwire with independent implementations.
//!
//! There are two directions. The official Python and TypeScript SDKs are clients of toolwire servers ([`Peer`] and
//! [`Subject`]). The same SDKs and the npm reference server are servers for `toolwire::Client` ([`ServerPeer`]). Older
//! releases of the SDKs and programs of other authors run in both directions, with fewer checks ([`Release`]). An
//! independent [`AuthorizationServer`] serves clients and servers of toolwire. The programs are in `interop/peers`.
//! [`mirror`] has a server and a client without any SDK, for `toolwire proxy`. This crate starts and ends them, and `cargo xtask peers` installs them. The tests state the expectations.

mod authorization_server;
#[cfg(unix)]
mod balancer;
mod built_example;
mod client_peer;
mod crossed_client;
mod cutting_proxy;
#[cfg(unix)]
mod fleet;
#[cfg(unix)]
mod fleet_permit;
mod installed;
mod lines;
mod listening;
pub mod mirror;
mod problem;
mod release;
mod server_peer;
#[cfg(unix)]
mod signal;
mod subject;

pub use crate::authorization_server::{AuthorizationServer, Variation};
#[cfg(unix)]
pub use crate::balancer::{Nodes, RequestOnTheWay};
pub use crate::built_example::built_example;
pub use crate::client_peer::{Check, Peer, Wire};
#[cfg(unix)]
pub use crate::client_peer::{PermittedFailures, RunningCalls};
pub use crate::crossed_client::CrossedClient;
pub use crate::cutting_proxy::CuttingProxy;
#[cfg(unix)]
pub use crate::fleet::Fleet;
pub use crate::listening::ListeningServer;
pub use crate::problem::Problem;
pub use crate::release::{
    ClientRole, Features, PromptCall, RELEASES, Release, ReleaseServer, ServerRole, ToolCall,
};
pub use crate::server_peer::{RunningServer, ServerPeer, ServerWire};
pub use crate::subject::{BINARY_VARIABLE, Subject, toolwire_program};
