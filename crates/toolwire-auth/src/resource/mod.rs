//! A resource server that accepts only requests with a valid access token (OAuth 2.1, RFC 9728).

mod config;
mod fixed_tokens;
mod introspection;
mod jwt;
mod keys;
mod presets;
mod proofs;
mod provider_tokens;
mod verification_cache;
mod verifier;

pub use config::{ResourceServerConfig, ResourceServerConfigError};
pub use fixed_tokens::StaticTokens;
pub use introspection::Introspection;
pub use jwt::JwtVerifier;
pub use provider_tokens::{GitHubTokens, GoogleTokens};
pub use verifier::{TokenError, TokenPurpose, TokenVerifier};

use std::fmt;
use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::request::Parts;
use http::{HeaderValue, StatusCode};
use serde_json::Value;
use toolwire::store::StoreError;
use toolwire::transport::http::{AuthorizationError, Authorizer};
use toolwire::{BoxFuture, Principal, TokenInfo};
use toolwire_proto::scopes::ScopeSet;

use self::proofs::{DpopVerifier, Proof};
use crate::clock::since_epoch;
use crate::documents::AccessTokenClaims;
use crate::rules::challenge::{Challenge, ChallengeError, TokenScheme};
use crate::rules::credentials::{Credentials, is_in_query};
use crate::rules::dpop;
use crate::rules::jwt_claims::{client_of, scopes_of};
use crate::rules::scopes::ScopeHierarchy;

/// A resource server that verifies the tokens of requests and publishes the resource metadata. Built by a
/// [`ResourceServerConfig`].
#[doc(alias = "BearerAuth", alias = "requireBearerAuth")]
pub struct ResourceServer {
    verifier: Box<dyn TokenVerifier>,
    purpose: TokenPurpose,
    dpop_verifier: DpopVerifier,
    /// Whether every token has to be bound to a key.
    requires_dpop: bool,
    required_scopes: ScopeSet,
    hierarchy: ScopeHierarchy,
    realm: Option<String>,
    metadata: Bytes,
    metadata_url: String,
    /// The paths of the metadata: the path of its URL, and the root.
    metadata_paths: [String; 2],
}

impl ResourceServer {
    async fn authenticate(&self, head: &Parts) -> Result<TokenInfo, AuthorizationError> {
        let preferred = self.preferred_scheme();
        let malformed = |reason| {
            let error = Some(ChallengeError::InvalidRequest);
            Err(self.unauthorized(preferred, error, reason))
        };
        if is_in_query(head.uri.query().unwrap_or_default()) {
            return malformed(
                "a token in the query is not confidential; send it in the Authorization header",
            );
        }
        let headers = head.headers.get_all(AUTHORIZATION).iter();
        let texts: Result<Vec<_>, _> = headers.map(HeaderValue::to_str).collect();
        let credentials = texts.ok().and_then(|texts| Credentials::read(texts).ok());
        let Some(credentials) = credentials else {
            return malformed("the Authorization header is malformed");
        };
        let Some(credentials) = credentials else {
            return Err(self.unauthorized(preferred, None, "this server requires an access token"));
        };
        let claims = self.verify(&credentials).await?;
        let proof = self.check_possession(head, &credentials, &claims)?;
        let token = self.token_info(credentials.scheme, claims)?;
        if let Some(proof) = proof {
            self.mark_proof_used(&proof, &token).await?;
        }
        if token.missing_scopes(&self.required_scopes).is_empty() {
            Ok(token)
        } else {
            Err(self.insufficient_scope(&ScopeSet::new(), &token))
        }
    }

    async fn verify(
        &self,
        credentials: &Credentials,
    ) -> Result<AccessTokenClaims, AuthorizationError> {
        let verified = self.verifier.verify(&credentials.token, &self.purpose);
        let claims = match verified.await {
            Ok(claims) => claims,
            Err(TokenError::Unavailable(error)) => {
                tracing::error!(%error, "access tokens cannot be verified");
                return Err(unavailable());
            }
            Err(error) => return Err(self.reject(credentials.scheme, &error)),
        };
        match self.purpose.rules.check_claims(&claims, now()) {
            Ok(()) => Ok(claims),
            Err(error) => Err(self.reject(credentials.scheme, &error)),
        }
    }

    /// Checks that the holder of its key presents a bound token (RFC 9449, section 7). Returns the proof, which still
    /// has to be [marked as used](Self::mark_proof_used).
    fn check_possession(
        &self,
        head: &Parts,
        credentials: &Credentials,
        claims: &AccessTokenClaims,
    ) -> Result<Option<Proof>, AuthorizationError> {
        let scheme = credentials.scheme;
        if scheme == TokenScheme::Bearer {
            let is_bound = claims.cnf.as_ref().is_some_and(|cnf| cnf.jkt.is_some());
            if self.requires_dpop || is_bound {
                let cause = "a token that is or has to be bound to a key has no proof";
                return Err(self.reject(TokenScheme::Dpop, &cause));
            }
            return dpop::check_binding(claims, scheme, None)
                .map(|()| None)
                .map_err(|error| self.reject(scheme, &error));
        }
        let proof = self.dpop_verifier.verify(head, &credentials.token, now());
        let proof = proof.map_err(|error| self.reject_proof(&error))?;
        dpop::check_binding(claims, scheme, Some(&proof.key))
            .map_err(|error| self.reject(scheme, &error))?;
        Ok(Some(proof))
    }

    /// Marks the proof of a verified token as used, so that it is not accepted again.
    async fn mark_proof_used(
        &self,
        proof: &Proof,
        token: &TokenInfo,
    ) -> Result<(), AuthorizationError> {
        match self
            .dpop_verifier
            .mark_used(&Principal::of(token), proof)
            .await
        {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.reject_proof(&"the proof was used before")),
            Err(StoreError::OwnerFull) => {
                tracing::warn!("a user exceeded the limit of proofs of possession");
                Err(AuthorizationError::new(
                    StatusCode::TOO_MANY_REQUESTS,
                    "this user has sent too many requests in a short time",
                ))
            }
            Err(error) => {
                tracing::error!(%error, "proofs of possession cannot be checked");
                Err(unavailable())
            }
        }
    }

    fn token_info(
        &self,
        scheme: TokenScheme,
        claims: AccessTokenClaims,
    ) -> Result<TokenInfo, AuthorizationError> {
        let scopes = match scopes_of(&claims) {
            Ok(scopes) => self.hierarchy.closure(&scopes),
            Err(invalid) => return Err(self.reject(scheme, &invalid)),
        };
        let mut token = TokenInfo::verified();
        token.subject.clone_from(&claims.sub);
        token.client_id = client_of(&claims).map(str::to_owned);
        token.scopes = scopes.iter().map(str::to_owned).collect();
        // An expiry beyond the range of `SystemTime` counts as no expiry.
        let expiry = self.purpose.rules.expiry_of(&claims);
        token.expires_at =
            expiry.and_then(|expiry| UNIX_EPOCH.checked_add(Duration::from_secs(expiry)));
        // Sessions belong to the principal of a token. Sessions without a principal would belong to all such tokens.
        if token.subject.is_none() && token.client_id.is_none() {
            return Err(self.reject(scheme, &"the token names neither a subject nor a client"));
        }
        if let Ok(Value::Object(claims)) = serde_json::to_value(&claims) {
            token.claims = claims;
        }
        Ok(token)
    }

    /// Rejects a proof of possession.
    fn reject_proof(&self, cause: &dyn fmt::Display) -> AuthorizationError {
        tracing::debug!(%cause, "a proof of possession is rejected");
        let error = Some(ChallengeError::InvalidDpopProof);
        let reason = "the proof of possession is not accepted";
        self.unauthorized(TokenScheme::Dpop, error, reason)
    }

    /// Rejects a token. The cause is only logged, so that responses reveal nothing about tokens.
    fn reject(&self, scheme: TokenScheme, cause: &dyn fmt::Display) -> AuthorizationError {
        tracing::debug!(%cause, "an access token is rejected");
        self.unauthorized(
            scheme,
            Some(ChallengeError::InvalidToken),
            "the access token is not accepted",
        )
    }

    fn unauthorized(
        &self,
        scheme: TokenScheme,
        error: Option<ChallengeError>,
        reason: &'static str,
    ) -> AuthorizationError {
        let mut challenge = self.challenge(scheme).with_scopes(&self.required_scopes);
        if let Some(error) = error {
            challenge = challenge.with_error(error).with_error_description(reason);
        }
        challenge_error(&challenge, reason)
    }

    fn challenge(&self, scheme: TokenScheme) -> Challenge {
        let mut challenge = Challenge::new(scheme).with_resource_metadata(&*self.metadata_url);
        if scheme == TokenScheme::Dpop {
            challenge = challenge.with_algs(proofs::algorithms());
        }
        match &self.realm {
            Some(realm) => challenge.with_realm(&**realm),
            None => challenge,
        }
    }

    /// Returns the scheme of the challenge for clients that have not chosen one.
    fn preferred_scheme(&self) -> TokenScheme {
        if self.requires_dpop {
            TokenScheme::Dpop
        } else {
            TokenScheme::Bearer
        }
    }
}

impl Authorizer for ResourceServer {
    fn authorize<'a>(
        &'a self,
        head: &'a Parts,
    ) -> BoxFuture<'a, Result<TokenInfo, AuthorizationError>> {
        Box::pin(self.authenticate(head))
    }

    fn insufficient_scope(&self, needed: &ScopeSet, token: &TokenInfo) -> AuthorizationError {
        let reason = "the access token lacks required scopes";
        let scheme = if token.claims.contains_key("cnf") {
            TokenScheme::Dpop
        } else {
            self.preferred_scheme()
        };
        let challenge = self
            .challenge(scheme)
            .with_error(ChallengeError::InsufficientScope)
            .with_error_description(reason)
            .with_scopes(&self.required_scopes.union(needed));
        challenge_error(&challenge, reason)
    }

    fn document(&self, path: &str) -> Option<Bytes> {
        let is_metadata = self.metadata_paths.iter().any(|own_path| own_path == path);
        is_metadata.then(|| self.metadata.clone())
    }
}

impl fmt::Debug for ResourceServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResourceServer")
            .field("purpose", &self.purpose)
            .field("required_scopes", &self.required_scopes)
            .finish_non_exhaustive()
    }
}

/// Creates the error if tokens cannot be verified temporarily.
fn unavailable() -> AuthorizationError {
    AuthorizationError::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "access tokens cannot be verified at the moment",
    )
}

fn challenge_error(challenge: &Challenge, reason: &'static str) -> AuthorizationError {
    let status = StatusCode::from_u16(challenge.status()).unwrap_or(StatusCode::UNAUTHORIZED);
    let error = AuthorizationError::new(status, reason);
    match HeaderValue::from_str(&challenge.to_string()) {
        Ok(value) => error.with_challenge(value),
        Err(_) => error,
    }
}

/// Returns the current time in seconds since the Unix epoch.
fn now() -> u64 {
    since_epoch().as_secs()
}

#[cfg(test)]
mod properties;
