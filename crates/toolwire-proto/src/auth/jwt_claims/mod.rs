//! Whether an access token may be used here, once its signature is known to be good.
//!
//! RFC 9068, section 4; RFC 8725; RFC 7662 for tokens that only their issuer can read; spec 2026-07-28, authorization,
//! "Token Handling". Verifying the signature is somebody else's: ask [`TokenRules::check_header`] first, verify with the
//! algorithm it gives and a key that [fits](SigningAlgorithm::fits), then ask [`TokenRules::check_claims`].

#[cfg(test)]
mod tests;

use std::fmt;

use toolwire_types::auth::{AccessTokenClaims, IntrospectionResponse, JwtHeader};

use crate::auth::resource_indicator::ResourceIndicator;
use crate::auth::signing_algorithm::SigningAlgorithm;
use crate::scopes::{InvalidScope, ScopeSet};

/// How many seconds clocks may differ, unless the rules say otherwise.
pub const DEFAULT_LEEWAY: u64 = 60;

/// The most seconds that rules can allow clocks to differ.
pub const MAX_LEEWAY: u64 = 300;

/// Which tokens a resource server accepts. The issuer and the resource have no default that would skip them.
///
/// ```
/// use toolwire_proto::auth::jwt_claims::TokenRules;
/// use toolwire_proto::auth::resource_indicator::ResourceIndicator;
/// use toolwire_types::auth::AccessTokenClaims;
///
/// let resource = ResourceIndicator::parse("https://mcp.example.com/mcp")?;
/// let rules = TokenRules::new("https://auth.example.com", resource);
/// let claims: AccessTokenClaims = serde_json::from_str(
///     r#"{"iss": "https://auth.example.com", "aud": "https://mcp.example.com/mcp", "exp": 1700000600}"#,
/// )?;
/// assert_eq!(rules.check_claims(&claims, 1_700_000_000), Ok(()));
/// assert!(rules.check_claims(&claims, 1_700_000_660).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct TokenRules {
    issuers: Vec<String>,
    resources: Vec<ResourceIndicator>,
    audiences: Vec<String>,
    algorithms: Vec<SigningAlgorithm>,
    leeway: u64,
    needs_access_token_type: bool,
}

impl TokenRules {
    /// Accepts tokens of an issuer for a resource, signed with any algorithm that is safe.
    #[must_use]
    pub fn new(issuer: impl Into<String>, resource: ResourceIndicator) -> Self {
        Self {
            issuers: vec![issuer.into()],
            resources: vec![resource],
            audiences: Vec::new(),
            algorithms: SigningAlgorithm::ALL.to_vec(),
            leeway: DEFAULT_LEEWAY,
            needs_access_token_type: false,
        }
    }

    /// Accepts tokens of another issuer, too.
    #[must_use]
    pub fn with_issuer(mut self, issuer: impl Into<String>) -> Self {
        self.issuers.push(issuer.into());
        self
    }

    /// Accepts tokens for another name of this resource, too.
    #[must_use]
    pub fn with_resource(mut self, resource: ResourceIndicator) -> Self {
        self.resources.push(resource);
        self
    }

    /// Accepts tokens whose audience is this very text, too: some authorization servers know resources only by an id.
    #[must_use]
    pub fn with_audience(mut self, audience: impl Into<String>) -> Self {
        self.audiences.push(audience.into());
        self
    }

    /// Accepts only these algorithms.
    #[must_use]
    pub fn with_algorithms(
        mut self,
        algorithms: impl IntoIterator<Item = SigningAlgorithm>,
    ) -> Self {
        self.algorithms = algorithms.into_iter().collect();
        self
    }

    /// Lets clocks differ by so many seconds, [`MAX_LEEWAY`] at most.
    #[must_use]
    pub fn with_leeway(mut self, seconds: u64) -> Self {
        self.leeway = seconds.min(MAX_LEEWAY);
        self
    }

    /// Accepts only tokens that call themselves access tokens (`at+jwt`, RFC 9068).
    #[must_use]
    pub const fn needing_access_token_type(mut self) -> Self {
        self.needs_access_token_type = true;
        self
    }

    /// Judges a header before the signature is verified; gives the algorithm to verify with.
    ///
    /// # Errors
    /// When the algorithm is not allowed, the token is of another type, or it has something critical that nobody here
    /// understands.
    pub fn check_header(&self, header: &JwtHeader) -> Result<SigningAlgorithm, AccessTokenError> {
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
            // Servers older than RFC 9068 say `JWT`, or nothing. Proofs, assertions and others name their own type.
            Some(typ) => !self.needs_access_token_type && is_type(typ, "JWT"),
            None => !self.needs_access_token_type,
        };
        is_accepted
            .then_some(algorithm)
            .ok_or(AccessTokenError::Type)
    }

    /// Judges the claims of a token with a good signature, at a time in seconds since the Unix epoch.
    ///
    /// # Errors
    /// When the token is of another issuer, for another resource, over, not yet good, or lacks one of these claims.
    pub fn check_claims(
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

    /// Judges what an issuer said about a token, at a time in seconds since the Unix epoch.
    ///
    /// The answer may leave out who the issuer is and when the token ends, since the issuer itself gives it, now. It may
    /// not leave out whom the token is for.
    ///
    /// # Errors
    /// When the token is not active, or for the reasons of [`check_claims`](Self::check_claims).
    pub fn check_introspection(
        &self,
        answer: &IntrospectionResponse,
        now: u64,
    ) -> Result<(), AccessTokenError> {
        if !answer.active {
            return Err(AccessTokenError::NotActive);
        }
        if let Some(issuer) = answer.claims.iss.as_deref() {
            self.check_issuer(issuer)?;
        }
        self.check_audience(&answer.claims)?;
        self.check_times(&answer.claims, now)
    }

    /// When a token stops being good, in seconds since the Unix epoch; `None` when it does not say.
    #[must_use]
    pub fn end_of(&self, claims: &AccessTokenClaims) -> Option<u64> {
        Some(claims.exp?.saturating_add(self.leeway))
    }

    fn check_issuer(&self, issuer: &str) -> Result<(), AccessTokenError> {
        let is_known = self.issuers.iter().any(|own| own == issuer);
        is_known.then_some(()).ok_or(AccessTokenError::Issuer)
    }

    fn check_audience(&self, claims: &AccessTokenClaims) -> Result<(), AccessTokenError> {
        let mut audiences = claims.aud.iter().flat_map(|audiences| audiences.iter());
        let is_for_us = audiences.any(|audience| {
            let mut resources = self.resources.iter();
            resources.any(|resource| resource.is_named_by(audience))
                || self.audiences.iter().any(|own| own == audience)
        });
        is_for_us.then_some(()).ok_or(AccessTokenError::Audience)
    }

    fn check_times(&self, claims: &AccessTokenClaims, now: u64) -> Result<(), AccessTokenError> {
        let latest = now.saturating_add(self.leeway);
        if self.end_of(claims).is_some_and(|end| now >= end) {
            return Err(AccessTokenError::Expired);
        }
        if claims.nbf.is_some_and(|begin| begin > latest) {
            return Err(AccessTokenError::NotYet);
        }
        if claims.iat.is_some_and(|issued| issued > latest) {
            return Err(AccessTokenError::FromTheFuture);
        }
        Ok(())
    }
}

/// The scopes that a token grants, in whichever of the usual claims they are.
///
/// # Errors
/// When they cannot be read, in which case the token grants nothing.
pub fn scopes_of(claims: &AccessTokenClaims) -> Result<ScopeSet, InvalidScope> {
    let named = claims.scope.iter().chain(&claims.scp);
    ScopeSet::from_list(named.flat_map(|scopes| scopes.iter()))
}

/// The client that a token was given to, in whichever of the usual claims it is: that of RFC 9068, that of OpenID, and
/// those of two large providers (`cid`, `appid`).
#[must_use]
pub fn client_of(claims: &AccessTokenClaims) -> Option<&str> {
    let other = |name: &str| claims.extra.get(name)?.as_str();
    let named = claims.client_id.as_deref().or(claims.azp.as_deref());
    named.or_else(|| other("cid")).or_else(|| other("appid"))
}

/// Why a token is not accepted. What a client is told is `invalid_token`; this is for the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AccessTokenError {
    /// It is signed with an algorithm that is not allowed.
    Algorithm,
    /// It is not an access token.
    Type,
    /// It has critical members that nobody here understands.
    Critical,
    /// It is of another issuer, or does not say of which.
    Issuer,
    /// It is for somebody else, or does not say for whom.
    Audience,
    /// It is over, or does not say when that will be.
    Expired,
    /// It is not good yet.
    NotYet,
    /// It was given out in the future.
    FromTheFuture,
    /// Its issuer says that it is not good.
    NotActive,
}

impl fmt::Display for AccessTokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Algorithm => "the token is signed with an algorithm that is not allowed",
            Self::Type => "the token is not an access token",
            Self::Critical => "the token has critical members that are not understood",
            Self::Issuer => "the token is not of an issuer that is trusted here",
            Self::Audience => "the token is not for this server",
            Self::Expired => "the token is over",
            Self::NotYet => "the token is not good yet",
            Self::FromTheFuture => "the token was given out in the future",
            Self::NotActive => "the token is not active",
        })
    }
}

impl std::error::Error for AccessTokenError {}
