//! The store of an OAuth proxy: registered clients, logins, codes and tokens.
//!
//! The default stores everything in memory, within limits. With an implementation over a network, any node can serve
//! any request. [`contract`] contains the tests that an implementation has to pass.

pub mod contract;
mod faulty;
mod memory;
mod record;

pub use memory::{MemoryProxyLimits, MemoryProxyStore};
pub use record::{NewProxyRecord, OwnerLimit, ProxyOwner, ProxyRecord, ProxyStore};
