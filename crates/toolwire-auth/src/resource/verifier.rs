//! The trait of token verifiers.

use std::error::Error as StdError;
use std::fmt;

use toolwire::BoxFuture;

use crate::documents::{AccessTokenClaims, Secret};
use crate::rules::jwt_claims::TokenRules;
use crate::rules::resource_indicator::ResourceIndicator;

/// A verifier of access tokens: [`JwtVerifier`](crate::resource::JwtVerifier),
/// [`Introspection`](crate::resource::Introspection), [`StaticTokens`](crate::resource::StaticTokens), or a
/// custom one.
///
/// It returns the claims of a token. The resource server then checks the issuer, audience, times and scopes, so that no
/// verifier can omit these checks. The claims have to contain the issuer (`iss`), the audience (`aud`), the expiry
/// (`exp`), and a subject (`sub`) or a client (`client_id`). Scopes are in `scope` or `scp`. Handlers see all of them
/// in [`TokenInfo`](toolwire::TokenInfo). The token itself is not stored.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot verify access tokens",
    note = "implement `TokenVerifier` for it, or use `JwtVerifier`, `Introspection` or `StaticTokens`"
)]
pub trait TokenVerifier: Send + Sync + fmt::Debug {
    /// Verifies a token and returns its claims.
    fn verify<'a>(
        &'a self,
        token: &'a Secret,
        purpose: &'a TokenPurpose,
    ) -> BoxFuture<'a, Result<AccessTokenClaims, TokenError>>;
}

/// The requirements that a token has to meet.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TokenPurpose {
    /// The resource that the token has to be for.
    pub resource: ResourceIndicator,
    /// The accepted issuers; there is at least one.
    pub issuers: Vec<String>,
    /// The same values with all other rules for tokens.
    pub(super) rules: TokenRules,
}

/// The reason why a token was not verified.
#[derive(Debug)]
#[non_exhaustive]
pub enum TokenError {
    /// The token is invalid. The reason is logged and not sent to clients.
    Invalid(String),
    /// The token cannot be verified at the moment. Clients get a 503 response.
    Unavailable(Box<dyn StdError + Send + Sync>),
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(reason) => f.write_str(reason),
            Self::Unavailable(_) => f.write_str("tokens cannot be verified at the moment"),
        }
    }
}

impl StdError for TokenError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Invalid(_) => None,
            Self::Unavailable(source) => Some(&**source),
        }
    }
}
