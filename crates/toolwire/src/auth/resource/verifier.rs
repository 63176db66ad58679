//! What verifies a token, whatever kind of token it is.

use std::error::Error as StdError;
use std::fmt;

use toolwire_proto::auth::jwt_claims::TokenRules;
use toolwire_proto::auth::resource_indicator::ResourceIndicator;
use toolwire_types::auth::{AccessTokenClaims, Secret};

use crate::engine::BoxFuture;

/// Verifies access tokens: [`JwtVerifier`](crate::auth::resource::JwtVerifier), [`Introspection`](crate::auth::resource::Introspection),
/// [`StaticTokens`](crate::auth::resource::StaticTokens), or one of your own.
///
/// It finds out what a token says. Whether that is good for this server (its issuer, whom it is for, its times, its
/// scopes) is judged by the resource server afterwards, so no verifier can forget to. So the claims have to name the
/// issuer (`iss`), whom the token is for (`aud`), its end (`exp`), and a subject (`sub`) or a client (`client_id`); scopes
/// are in `scope` or `scp`. Handlers see all of them in [`TokenInfo`](crate::TokenInfo), the token itself is not kept.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot verify access tokens",
    note = "implement `TokenVerifier` for it, or use `JwtVerifier`, `Introspection` or `StaticTokens`"
)]
pub trait TokenVerifier: Send + Sync + fmt::Debug {
    /// Finds out what a token says.
    fn verify<'a>(
        &'a self,
        token: &'a Secret,
        purpose: &'a TokenPurpose,
    ) -> BoxFuture<'a, Result<AccessTokenClaims, TokenError>>;
}

/// What tokens have to be good for.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TokenPurpose {
    /// The resource they have to be for.
    pub resource: ResourceIndicator,
    /// Who may give them out; there is at least one.
    pub issuers: Vec<String>,
    /// The same, with everything else that tokens are judged by.
    pub(super) rules: TokenRules,
}

/// A token that was not verified.
#[derive(Debug)]
#[non_exhaustive]
pub enum TokenError {
    /// It is not good; the reason is for the log. Clients are told no more than that.
    Invalid(String),
    /// It cannot be told at the moment. Clients are told to come back.
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
