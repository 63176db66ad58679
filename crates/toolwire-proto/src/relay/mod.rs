//! The rules of a relay: a program that is a server for its clients, and a client of other servers, the upstreams.
//!
//! A relay forwards messages as text and changes only what it must. The modules of this folder decide what that is.
//! They send nothing, store nothing outside of the values that their callers own, and read no clock.

pub mod convert;
pub mod glob;
pub mod mapping;
pub mod merge;
pub mod names;
pub mod parked;
pub mod pins;
pub mod policy;
pub mod progress_tokens;
pub mod rate_limit;
pub mod request_state;
pub mod uris;
