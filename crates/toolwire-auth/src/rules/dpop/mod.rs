//! DPoP proofs of possession (RFC 9449). A token that is bound to a key is unusable without the key.
//!
//! Clients create the claims of a proof here and sign them elsewhere. Servers check the header here, verify the
//! signature elsewhere with the key in the header, and check the claims here. The server has to store each `jti` as
//! long as its proof is valid, so that no proof is accepted twice.

#[cfg(test)]
mod tests;

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use toolwire_proto::web_url::WebUrl;

use crate::documents::{
    AccessTokenClaims, DpopProofClaims, JwtHeader, ProtectedResourceMetadata, Secret,
};
use crate::rules::challenge::{Challenge, TokenScheme};
use crate::rules::endpoints::InvalidUrl;
use crate::rules::jwk_rules;
use crate::rules::signing_algorithm::SigningAlgorithm;

/// The `typ` of a proof.
pub(crate) const PROOF_TYPE: &str = "dpop+jwt";

/// The default validity of a proof, in seconds.
pub(crate) const DEFAULT_PROOF_AGE: u64 = 60;

/// The maximum time by which a client's clock may be ahead of the server's, in seconds.
pub(crate) const MAX_CLOCK_SKEW: u64 = 60;

/// The maximum length of a `jti`, in bytes. Servers have to store it.
pub(crate) const LONGEST_JTI: usize = 256;

/// Creates the claims of a proof from the request's method and URL, the time, random bytes, and the presented token and
/// nonce.
///
/// # Errors
/// Returns an error if the URL is not a plain `http` or `https` URL.
pub(crate) fn proof_claims(
    method: &str,
    url: &str,
    now: u64,
    random: [u8; 16],
    token: Option<&Secret>,
    nonce: Option<&str>,
) -> Result<DpopProofClaims, InvalidUrl> {
    let jti = URL_SAFE_NO_PAD.encode(random);
    let mut claims = DpopProofClaims::new(jti, method, target(url)?, now);
    claims.ath = token.map(token_hash);
    claims.nonce = nonce.map(str::to_owned);
    Ok(claims)
}

/// Returns `true` if a resource requires tokens that are bound to a key: by its metadata, or because all its challenges
/// are `DPoP` (RFC 9449, section 7.1; RFC 9728, section 2).
#[must_use]
pub(crate) fn is_required(
    challenges: &[Challenge],
    resource: Option<&ProtectedResourceMetadata>,
) -> bool {
    let is_required =
        resource.is_some_and(|resource| resource.dpop_bound_access_tokens_required == Some(true));
    let mut challenges = challenges.iter();
    is_required
        || (challenges.len() > 0
            && challenges.all(|challenge| challenge.scheme == TokenScheme::Dpop))
}

/// Returns `htu`: the normalised URL without query and fragment (RFC 9449, sections 4.2 and 4.3).
///
/// # Errors
/// Returns an error if the URL is not a plain `http` or `https` URL.
pub(crate) fn target(url: &str) -> Result<String, InvalidUrl> {
    let url = WebUrl::parse(url)?;
    let path = if url.path.is_empty() { "/" } else { url.path };
    Ok(format!("{}{path}", url.origin()))
}

/// Returns `ath`: the hash of an access token (RFC 9449, section 4.2).
#[must_use]
pub fn token_hash(token: &Secret) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(token.expose()))
}

/// Checks the header of a proof. Returns the algorithm for its verification and the thumbprint of its key.
///
/// # Errors
/// Returns an error if it is not a proof, its algorithm is not permitted, or its key is missing, private, or does not
/// match the algorithm.
pub(crate) fn check_header(
    header: &JwtHeader,
) -> Result<(SigningAlgorithm, String), DpopProofError> {
    if header.typ.as_deref() != Some(PROOF_TYPE) {
        return Err(DpopProofError::Type);
    }
    if header.crit.is_some() {
        return Err(DpopProofError::Critical);
    }
    let algorithm = SigningAlgorithm::from_name(&header.alg).ok_or(DpopProofError::Algorithm)?;
    let key = header.jwk.as_ref().ok_or(DpopProofError::Key)?;
    if jwk_rules::is_secret(key) || !algorithm.matches(key) {
        return Err(DpopProofError::Key);
    }
    let thumbprint = jwk_rules::thumbprint(key).ok_or(DpopProofError::Key)?;
    Ok((algorithm, thumbprint))
}

/// The values that a proof has to match.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExpectedProof<'a> {
    /// The method of the request.
    pub method: &'a str,
    /// The public URL of the request.
    pub url: &'a str,
    /// The time, in seconds since the Unix epoch.
    pub now: u64,
    /// The validity of a proof in seconds, usually [`DEFAULT_PROOF_AGE`].
    pub max_age: u64,
    /// The token of the request. `None` at a token endpoint.
    pub token: Option<&'a Secret>,
    /// The valid nonces. If empty, no nonce is required.
    pub nonces: &'a [&'a str],
}

/// Checks the claims of a proof with a valid signature (RFC 9449, section 4.3).
///
/// # Errors
/// Returns an error if the proof is for another request, token or time, or lacks the nonce.
pub(crate) fn check_claims(
    claims: &DpopProofClaims,
    expected: &ExpectedProof<'_>,
) -> Result<(), DpopProofError> {
    if claims.jti.is_empty() || claims.jti.len() > LONGEST_JTI {
        return Err(DpopProofError::Id);
    }
    if claims.htm != expected.method {
        return Err(DpopProofError::Method);
    }
    let has_query = claims.htu.contains(['?', '#']);
    let is_same = match (target(&claims.htu), target(expected.url)) {
        (Ok(claimed), Ok(expected)) => claimed == expected,
        _ => false,
    };
    if has_query || !is_same {
        return Err(DpopProofError::Url);
    }
    let is_old = claims.iat.saturating_add(expected.max_age) < expected.now;
    let is_early = claims.iat > expected.now.saturating_add(MAX_CLOCK_SKEW);
    if is_old || is_early {
        return Err(DpopProofError::Time);
    }
    if let Some(token) = expected.token {
        let hash = claims.ath.as_deref().ok_or(DpopProofError::Token)?;
        if Secret::new(hash) != Secret::new(token_hash(token)) {
            return Err(DpopProofError::Token);
        }
    }
    let nonce = claims.nonce.as_deref();
    if !expected.nonces.is_empty() && !nonce.is_some_and(|nonce| expected.nonces.contains(&nonce)) {
        return Err(DpopProofError::Nonce);
    }
    Ok(())
}

/// Checks that a token is presented as it is bound: with a proof of its key, or without a proof if it is not bound.
///
/// A bound token is never accepted as a bearer token. Otherwise, a thief could omit the proof (RFC 9449, section 7.2).
///
/// # Errors
/// Returns an error if a bound token has no proof of its key, or if an unbound token has a proof.
pub(crate) fn check_binding(
    claims: &AccessTokenClaims,
    scheme: TokenScheme,
    proved_key: Option<&str>,
) -> Result<(), DpopProofError> {
    let bound_key = match &claims.cnf {
        None => None,
        Some(confirmation) => match confirmation.jkt.as_deref() {
            Some(thumbprint) => Some(thumbprint),
            // The token is bound to something that cannot be checked here, such as a certificate.
            None => return Err(DpopProofError::Binding),
        },
    };
    let is_valid = match (scheme, bound_key, proved_key) {
        (TokenScheme::Bearer, None, _) => true,
        (TokenScheme::Dpop, Some(bound), Some(proved)) => bound == proved,
        _ => false,
    };
    is_valid.then_some(()).ok_or(DpopProofError::Binding)
}

/// The reason why a proof is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) enum DpopProofError {
    /// Its type is not that of proofs.
    Type,
    /// It has critical members that are not supported.
    Critical,
    /// Its signature algorithm is not permitted.
    Algorithm,
    /// Its key is missing, private, or does not match the algorithm.
    Key,
    /// Its id is empty or too long.
    Id,
    /// It is for another method.
    Method,
    /// It is for another URL.
    Url,
    /// It is too old or from the future.
    Time,
    /// It is for another token.
    Token,
    /// It has no valid nonce. Respond with a new nonce and `use_dpop_nonce`.
    Nonce,
    /// The token is bound to another key, or not bound.
    Binding,
}

impl fmt::Display for DpopProofError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Type => "the type of the proof is not dpop+jwt",
            Self::Critical => "the proof has critical members that are not supported",
            Self::Algorithm => "the signature algorithm of the proof is not permitted",
            Self::Key => "the proof has no public key that matches its algorithm",
            Self::Id => "the id of the proof is empty or too long",
            Self::Method => "the proof is for another method",
            Self::Url => "the proof is for another URL",
            Self::Time => "the proof is too old or from the future",
            Self::Token => "the proof is for another token",
            Self::Nonce => "the proof requires a new nonce",
            Self::Binding => "the token is not presented as it is bound",
        })
    }
}

impl std::error::Error for DpopProofError {}
