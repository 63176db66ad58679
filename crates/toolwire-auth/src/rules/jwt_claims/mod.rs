//! Rules for access tokens after their signature is verified.
//!
//! RFC 9068, section 4; RFC 8725; RFC 7662 for opaque tokens; spec 2026-07-28, authorization, "Token Handling". This
//! module does not verify signatures. Call [`TokenRules::check_header`] first, verify the signature with the returned
//! algorithm and a key that [matches](SigningAlgorithm::matches), then call [`TokenRules::check_claims`].

#[cfg(test)]
mod tests;

use std::fmt;

use toolwire_proto::scopes::{InvalidScope, ScopeSet};

use crate::documents::{AccessTokenClaims, JwtHeader};
use crate::rules::resource_indicator::ResourceIndicator;
use crate::rules::signing_algorithm::SigningAlgorithm;

/// The default permitted clock difference, in seconds.
pub(crate) const DEFAULT_LEEWAY: u64 = 60;

/// The maximum permitted clock difference, in seconds.
pub(crate) const MAX_LEEWAY: u64 = 300;

/// The tokens that a resource server accepts. Issuer and resource are required and have no default.
#[derive(Debug, Clone)]
pub(crate) struct TokenRules {
    issuers: Vec<String>,
    resources: Vec<ResourceIndicator>,
    audiences: Vec<String>,
    algorithms: Vec<SigningAlgorithm>,
    leeway: u64,
    requires_access_token_type: bool,
}

impl TokenRules {
    /// Accepts tokens of an issuer for a resource, with any permitted signature algorithm.
    #[must_use]
    pub(crate) fn new(issuer: impl Into<String>, resource: ResourceIndicator) -> Self {
        Self {
            issuers: vec![issuer.into()],
            resources: vec![resource],
            audiences: Vec::new(),
            algorithms: SigningAlgorithm::ALL.to_vec(),
            leeway: DEFAULT_LEEWAY,
            requires_access_token_type: false,
        }
    }

    /// Accepts tokens of another issuer as well.
    #[must_use]
    pub(crate) fn with_issuer(mut self, issuer: impl Into<String>) -> Self {
        self.issuers.push(issuer.into());
        self
    }

    /// Accepts tokens with exactly this audience as well. Some authorization servers identify resources only by an id.
    #[must_use]
    pub(crate) fn with_audience(mut self, audience: impl Into<String>) -> Self {
        self.audiences.push(audience.into());
        self
    }

    /// Sets the permitted clock difference in seconds, at most [`MAX_LEEWAY`].
    #[must_use]
    pub(crate) fn with_leeway(mut self, seconds: u64) -> Self {
        self.leeway = seconds.min(MAX_LEEWAY);
        self
    }

    /// Accepts only tokens that declare the access token type (`at+jwt`, RFC 9068).
    #[must_use]
    pub(crate) const fn with_access_token_type_required(mut self) -> Self {
        self.requires_access_token_type = true;
        self
    }

    /// Checks a header before the signature is verified. Returns the algorithm for the verification.
    ///
    /// # Errors
    /// Returns an error if the algorithm is not permitted, the token has another type, or it has unsupported critical
    /// members.
    pub(crate) fn check_header(
        &self,
        header: &JwtHeader,
    ) -> Result<SigningAlgorithm, AccessTokenError> {
        let algorithm = SigningAlgorithm::from_name(&header.alg)
            .filter(|algorithm| self.algorithms.contains(algorithm))
            .ok_or(AccessTokenError::Algorithm)?;
        if header.crit.is_some() {
            return Err(AccessTokenError::Critical);
        }
        let is_type = |typ: &str, expected: &str| {
            let short = match typ.split_at_checked("application/".len()) {
                Some((start, rest)) if start.eq_ignore_ascii_case("application/") => rest,
                _ => typ,
            };
            short.eq_ignore_ascii_case(expected)
        };
        let is_accepted = match header.typ.as_deref() {
            Some(typ) if is_type(typ, "at+jwt") => true,
            // Servers older than RFC 9068 use `JWT` or no type. Proofs, assertions and others have their own type.
            Some(typ) => !self.requires_access_token_type && is_type(typ, "JWT"),
            None => !self.requires_access_token_type,
        };
        is_accepted
            .then_some(algorithm)
            .ok_or(AccessTokenError::Type)
    }

    /// Checks the claims of a token with a valid signature, at a time in seconds since the Unix epoch.
    ///
    /// # Errors
    /// Returns an error if the token is of another issuer, for another resource, expired, not valid yet, or lacks one
    /// of these claims.
    pub(crate) fn check_claims(
        &self,
        claims: &AccessTokenClaims,
        now: u64,
    ) -> Result<(), AccessTokenError> {
        let issuer = claims.iss.as_deref().ok_or(AccessTokenError::Issuer)?;
        self.check_issuer(issuer)?;
        self.check_audience(claims)?;
        claims.exp.ok_or(AccessTokenError::Expired)?;
        self.check_times(claims, now)
    }

    /// Returns the expiry of a token plus the leeway, in seconds since the Unix epoch, or `None` if it has no expiry.
    #[must_use]
    pub(crate) fn expiry_of(&self, claims: &AccessTokenClaims) -> Option<u64> {
        Some(claims.exp?.saturating_add(self.leeway))
    }

    fn check_issuer(&self, issuer: &str) -> Result<(), AccessTokenError> {
        let is_known = self.issuers.iter().any(|known| known == issuer);
        is_known.then_some(()).ok_or(AccessTokenError::Issuer)
    }

    fn check_audience(&self, claims: &AccessTokenClaims) -> Result<(), AccessTokenError> {
        let mut audiences = claims.aud.iter().flat_map(|audiences| audiences.iter());
        let is_accepted = audiences.any(|audience| {
            let mut resources = self.resources.iter();
            resources.any(|resource| resource.is_named_by(audience))
                || self.audiences.iter().any(|accepted| accepted == audience)
        });
        is_accepted.then_some(()).ok_or(AccessTokenError::Audience)
    }

    fn check_times(&self, claims: &AccessTokenClaims, now: u64) -> Result<(), AccessTokenError> {
        let latest = now.saturating_add(self.leeway);
        if self.expiry_of(claims).is_some_and(|expiry| now >= expiry) {
            return Err(AccessTokenError::Expired);
        }
        if claims.nbf.is_some_and(|start| start > latest) {
            return Err(AccessTokenError::NotYetValid);
        }
        if claims.iat.is_some_and(|issued| issued > latest) {
            return Err(AccessTokenError::IssuedInFuture);
        }
        Ok(())
    }
}

/// Returns the scopes of a token from any of the usual claims.
///
/// # Errors
/// Returns an error if they are malformed. The token then grants nothing.
pub(crate) fn scopes_of(claims: &AccessTokenClaims) -> Result<ScopeSet, InvalidScope> {
    let named = claims.scope.iter().chain(&claims.scp);
    ScopeSet::from_list(named.flat_map(|scopes| scopes.iter()))
}

/// Returns the client of a token from any of the usual claims: those of RFC 9068 and OpenID Connect, and those of two
/// large providers (`cid`, `appid`).
#[must_use]
pub(crate) fn client_of(claims: &AccessTokenClaims) -> Option<&str> {
    let other = |name: &str| claims.extra.get(name)?.as_str();
    let named = claims.client_id.as_deref().or(claims.azp.as_deref());
    named.or_else(|| other("cid")).or_else(|| other("appid"))
}

/// The reason why a token is rejected, for the log. Clients get only `invalid_token`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) enum AccessTokenError {
    /// Its signature algorithm is not permitted.
    Algorithm,
    /// It is not an access token.
    Type,
    /// It has critical members that are not supported.
    Critical,
    /// It is of another issuer, or has no issuer.
    Issuer,
    /// It is for another audience, or has no audience.
    Audience,
    /// It has expired, or has no expiry.
    Expired,
    /// It is not valid yet.
    NotYetValid,
    /// Its issue time is in the future.
    IssuedInFuture,
}

impl fmt::Display for AccessTokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Algorithm => "the signature algorithm of the token is not permitted",
            Self::Type => "the token is not an access token",
            Self::Critical => "the token has critical members that are not supported",
            Self::Issuer => "the token has an untrusted issuer",
            Self::Audience => "the token is not for this server",
            Self::Expired => "the token has expired",
            Self::NotYetValid => "the token is not valid yet",
            Self::IssuedInFuture => "the issue time of the token is in the future",
        })
    }
}

impl std::error::Error for AccessTokenError {}
