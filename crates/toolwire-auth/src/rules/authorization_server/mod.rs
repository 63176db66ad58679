//! The rules of an MCP authorization server, for the OAuth proxy of toolwire.
//!
//! OAuth 2.1 with RFC 7591 (registration), RFC 7009 (revocation), RFC 8707 (`resource`) and RFC 9207 (`iss`), as the
//! specification of MCP profiles them (2026-07-28, authorization and security best practices, "Confused Deputy
//! Problem"). This module parses requests and creates responses. It stores nothing.

pub(crate) mod authorization;
pub(crate) mod lifetimes;
pub(crate) mod names;
mod parameters;
pub(crate) mod redirection;
pub(crate) mod registration;
pub(crate) mod rotation;
pub(crate) mod source;
pub(crate) mod token;

pub(crate) use self::parameters::{LONGEST_PARAMETERS, Parameters};
