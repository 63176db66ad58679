//! The rules of webhook delivery, for servers and receivers.
//!
//! Deliveries are signed as in Standard Webhooks. This module does not send or receive: times are arguments.

pub mod delivery;
pub mod message;
pub mod rate;
pub mod secret;
pub mod signature;
mod subscription;
mod ttl;

pub use self::subscription::subscription_id;
pub use self::ttl::TtlLimits;
