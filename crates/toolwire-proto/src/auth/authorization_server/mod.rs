//! What an authorization server of MCP has to refuse, for the one that toolwire brings along: a proxy in front of an
//! identity provider.
//!
//! OAuth 2.1 with RFC 7591 (registration), RFC 7009 (revocation), RFC 8707 (`resource`) and RFC 9207 (`iss`), as the
//! specification of MCP profiles them (2026-07-28, authorization and security best practices, "Confused Deputy Problem").
//! Requests are read and answers are written here; remembering anything is somebody else's.

pub mod authorization;
pub mod lifetimes;
pub mod names;
mod parameters;
pub mod redirection;
pub mod registration;
pub mod rotation;
pub mod source;
pub mod token;

pub use self::parameters::{LONGEST_PARAMETERS, Parameters, ParametersRefused};
