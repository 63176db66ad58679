//! The rules of a relay: a program that is a server for its clients, and a client of other servers, the upstreams.
//!
//! A relay forwards messages as text and changes only what it must. The modules of this folder decide what that is.
//! They send nothing, store nothing outside of the values that their callers own, and read no clock.

pub mod convert;
#[cfg(feature = "relay")]
pub mod errors;
pub mod glob;
#[cfg(feature = "relay")]
pub mod input_rounds;
#[cfg(feature = "relay")]
pub mod mapping;
pub mod merge;
pub mod names;
#[cfg(feature = "relay")]
pub mod parked;
#[cfg(feature = "relay")]
pub mod pins;
pub mod policy;
#[cfg(feature = "relay")]
pub mod progress_tokens;
pub mod rate_limit;
#[cfg(feature = "relay")]
pub mod request_state;
#[cfg(feature = "relay")]
pub mod secret_forms;
pub mod uris;
