//! The documents and responses of OAuth 2.1 that MCP authorization uses.
//!
//! Unknown members are stored in the `extra` map of a type. Secrets have the type [`Secret`], whose `Debug` output is
//! redacted. This module does not validate the documents.

mod client;
mod dpop;
mod introspection;
mod jwk;
mod jwt;
mod one_or_many;
mod resource_metadata;
#[cfg(test)]
mod round_trip;
mod seconds;
mod secret;
mod server_metadata;
mod token;

pub use client::{ApplicationType, ClientIdMetadataDocument, ClientMetadata, ClientRegistration};
pub use dpop::DpopProofClaims;
pub use introspection::IntrospectionResponse;
pub use jwk::{Jwk, JwkSet};
pub use jwt::{AccessTokenClaims, Confirmation, JwtHeader};
pub use one_or_many::OneOrMany;
pub use resource_metadata::ProtectedResourceMetadata;
pub use secret::Secret;
pub use server_metadata::AuthorizationServerMetadata;
pub use token::{OAuthError, TokenResponse};

use serde_json::{Map, Value};

/// Members of an open object that the type does not define.
type Extra = Map<String, Value>;

/// Returns the names of unknown members, for `Debug` output. Their values may be secret or personal.
fn names(extra: &Extra) -> Vec<&String> {
    extra.keys().collect()
}
