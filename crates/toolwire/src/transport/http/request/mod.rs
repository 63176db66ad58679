//! The request side of the HTTP transport: headers, guards, routes, the body, and the parsed message with its token.
//!
//! Nothing here runs a handler.

pub(crate) mod body;
pub(crate) mod client_address;
pub(crate) mod connection_facts;
pub(crate) mod cors;
pub(crate) mod guard;
pub(crate) mod headers;
pub(crate) mod incoming;
pub(crate) mod peer_address;
pub(crate) mod public_routes;
pub(crate) mod route;
pub(crate) mod unread_body;
