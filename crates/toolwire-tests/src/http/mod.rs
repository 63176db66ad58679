//! HTTP servers, and clients that can send invalid requests.

pub mod connection_paths;
pub mod direct;
pub mod endpoint;
pub mod events;
pub mod fixture;
pub mod named_users;
pub mod request;
pub mod session;
pub mod socket;
