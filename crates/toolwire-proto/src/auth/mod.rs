//! The rules of authorization: OAuth 2.1 as the revisions of MCP profile it, for clients and servers, without IO.
//!
//! This module builds requests and checks responses. It does not send, store, sign or verify signatures. Times are
//! arguments in seconds since the Unix epoch. Random bytes are arguments, too.

pub mod addresses;
pub mod attempts;
pub mod authorization_request;
pub mod authorization_response;
pub mod authorization_server;
pub mod challenge;
pub mod credentials;
pub mod denied_upgrades;
pub mod dpop;
pub mod endpoints;
pub mod form;
pub mod id_token;
pub mod jwk_rules;
pub mod jwt_claims;
pub mod metadata_rules;
pub mod pkce;
pub mod redirect_uri;
pub mod resource_indicator;
pub mod signing_algorithm;
pub mod token_request;
pub mod token_response;
#[cfg(test)]
mod untrusted_text;
pub mod well_known;
