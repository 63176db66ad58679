//! The rules of authorization: OAuth 2.1 as the revisions of MCP profile it, for both sides and without input and output.
//!
//! Requests are built and answers judged here; sending, storing, signing and verifying signatures is somebody else's.
//! Times are seconds since the Unix epoch and come in as arguments, and so do random bytes.

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
