//! The rules of an MCP authorization server, for the OAuth proxy of toolwire.
//!
//! OAuth 2.1 with RFC 7591 (registration), RFC 7009 (revocation), RFC 8707 (`resource`) and RFC 9207 (`iss`), as the
//! specification of MCP profiles them (2026-07-28, authorization and security best practices, "Confused Deputy
//! Problem"). This module parses requests and creates responses. It stores nothing.

pub mod authorization;
pub mod lifetimes;
pub mod names;
mod parameters;
pub mod redirection;
pub mod registration;
pub mod rotation;
pub mod source;
pub mod token;

pub use self::parameters::{LONGEST_PARAMETERS, Parameters, ParametersError};
