//! The rules of authorization: OAuth 2.1 as the revisions of MCP profile it, for clients and servers, without IO.
//!
//! This module builds requests and checks responses. It does not send, store, sign or verify signatures. Times are
//! arguments in seconds since the Unix epoch. Random bytes are arguments, too.

pub(crate) mod attempts;
pub(crate) mod authorization_request;
pub(crate) mod authorization_response;
pub(crate) mod authorization_server;
pub(crate) mod challenge;
pub(crate) mod credentials;
pub(crate) mod denied_upgrades;
pub(crate) mod dpop;
pub(crate) mod endpoints;
pub mod form;
pub(crate) mod id_token;
pub(crate) mod jwk_rules;
pub(crate) mod jwt_claims;
pub(crate) mod metadata_rules;
pub mod pkce;
pub(crate) mod redirect_uri;
pub(crate) mod resource_indicator;
pub(crate) mod scopes;
pub(crate) mod signing_algorithm;
pub(crate) mod token_request;
pub(crate) mod token_response;
#[cfg(test)]
mod untrusted_text;
pub(crate) mod well_known;
