//! Documents and answers of OAuth 2.1, as authorization of MCP uses them.
//!
//! Members that a type does not know stay in its `extra` map. Secrets are of the type [`Secret`], which does not print;
//! what judges these documents is in `toolwire-proto`.

mod client;
mod dpop;
mod introspection;
mod jwk;
mod jwt;
mod one_or_many;
mod resource_metadata;
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

use crate::result::Extra;

/// The names of members nobody knows; their values may be secret or personal, and do not print.
fn names(extra: &Extra) -> Vec<&String> {
    extra.keys().collect()
}
