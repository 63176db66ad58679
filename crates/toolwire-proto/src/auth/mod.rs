//! The rules of authorization: OAuth 2.1 as the revisions of MCP profile it, for both sides and without input and output.
//!
//! Requests are built and answers judged here; sending, storing, signing and verifying signatures is somebody else's.
//! Times are seconds since the Unix epoch and come in as arguments, and so do random bytes.

#[cfg(feature = "auth")]
pub mod addresses;
#[cfg(feature = "auth")]
pub mod attempts;
#[cfg(feature = "auth")]
pub mod authorization_request;
#[cfg(feature = "auth")]
pub mod authorization_response;
#[cfg(feature = "auth")]
pub mod authorization_server;
#[cfg(feature = "auth")]
pub mod challenge;
#[cfg(feature = "auth")]
pub mod credentials;
#[cfg(feature = "auth")]
pub mod denied_upgrades;
#[cfg(feature = "auth")]
pub mod dpop;
#[cfg(feature = "auth")]
pub mod endpoints;
#[cfg(feature = "auth")]
#[cfg(test)]
mod foreign_text;
#[cfg(feature = "auth")]
pub mod form;
#[cfg(feature = "auth")]
pub mod id_token;
#[cfg(feature = "auth")]
pub mod jwk_rules;
#[cfg(feature = "auth")]
pub mod jwt_claims;
#[cfg(feature = "auth")]
pub mod metadata_rules;
#[cfg(feature = "auth")]
pub mod pkce;
#[cfg(feature = "auth")]
pub mod redirect_uri;
#[cfg(feature = "auth")]
pub mod resource_indicator;
pub mod scopes;
#[cfg(feature = "auth")]
pub mod signing_algorithm;
#[cfg(feature = "auth")]
pub mod token_request;
#[cfg(feature = "auth")]
pub mod token_response;
#[cfg(any(feature = "auth", feature = "input"))]
#[cfg_attr(
    not(feature = "auth"),
    expect(
        dead_code,
        unreachable_pub,
        reason = "a question needs less of a URL than OAuth does"
    )
)]
pub(crate) mod web_url;
#[cfg(feature = "auth")]
pub mod well_known;
