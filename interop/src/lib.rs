//! Toolwire and implementations that are not ours, talking to each other.
//!
//! Two directions: real clients, the official Python and TypeScript SDKs, against servers of ours ([`Peer`] and
//! [`Subject`]), and real servers, the same SDKs and the npm reference server, for `toolwire::Client` to talk to
//! ([`ServerPeer`]). And a real [`AuthorizationServer`], for clients and servers of ours to meet at. What is run lies in
//! `interop/peers`; this crate starts and ends it. It does not install anything, that is `cargo xtask peers`, and what
//! must hold is said in the tests.

mod authorization_server;
mod built_example;
mod client_peer;
mod cutting_proxy;
mod installed;
mod lines;
mod listening;
mod problem;
mod server_peer;
mod subject;

pub use crate::authorization_server::{AuthorizationServer, Variation};
pub use crate::built_example::built_example;
pub use crate::client_peer::{Check, Peer, Wire};
pub use crate::cutting_proxy::CuttingProxy;
pub use crate::problem::Problem;
pub use crate::server_peer::{RunningServer, ServerPeer, ServerWire};
pub use crate::subject::{BINARY_VARIABLE, Subject};
