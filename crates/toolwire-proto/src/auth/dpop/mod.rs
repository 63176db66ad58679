//! Proofs of possession (RFC 9449): a token that is bound to a key is worth nothing without it.
//!
//! Clients make the claims of a proof here and sign them elsewhere. Servers check the header, verify the signature
//! elsewhere with the key that the header holds, and check the claims here. That no proof is accepted twice is the
//! server's business, which remembers each `jti` while its proof could still be used.

#[cfg(test)]
mod tests;

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use toolwire_types::auth::{
    AccessTokenClaims, DpopProofClaims, JwtHeader, ProtectedResourceMetadata, Secret,
};

use crate::auth::challenge::{Challenge, TokenScheme};
use crate::auth::endpoints::InvalidUrl;
use crate::auth::jwk_rules;
use crate::auth::signing_algorithm::SigningAlgorithm;
use crate::web_url::WebUrl;

/// The type of a proof.
pub const PROOF_TYPE: &str = "dpop+jwt";

/// For how many seconds a proof is good, unless the server says otherwise.
pub const DEFAULT_PROOF_AGE: u64 = 60;

/// How many seconds a client's clock may be ahead of the server's.
pub const MAX_CLOCK_SKEW: u64 = 60;

/// The longest `jti` that is accepted, in bytes: servers have to remember them.
pub const LONGEST_JTI: usize = 256;

/// The claims of a proof for a request: its method and URL, the time, random bytes, and what it presents.
///
/// # Errors
/// When the URL is no plain `http` or `https` URL.
pub fn proof_claims(
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

/// Whether a resource wants tokens that are bound to a key: because it says so, or because it challenges with nothing
/// else (RFC 9449, section 7.1; RFC 9728, section 2).
#[must_use]
pub fn is_wanted(challenges: &[Challenge], resource: Option<&ProtectedResourceMetadata>) -> bool {
    let is_required =
        resource.is_some_and(|resource| resource.dpop_bound_access_tokens_required == Some(true));
    let mut challenges = challenges.iter();
    is_required
        || (challenges.len() > 0
            && challenges.all(|challenge| challenge.scheme == TokenScheme::Dpop))
}

/// `htu`: the URL without query and fragment, in the spelling that all its equals have (RFC 9449, sections 4.2 and 4.3).
///
/// # Errors
/// When it is no plain `http` or `https` URL.
pub fn target(url: &str) -> Result<String, InvalidUrl> {
    let url = WebUrl::parse(url)?;
    let path = if url.path.is_empty() { "/" } else { url.path };
    Ok(format!("{}{path}", url.origin()))
}

/// `ath`: the hash of an access token (RFC 9449, section 4.2).
#[must_use]
pub fn token_hash(token: &Secret) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(token.expose()))
}

/// Judges the header of a proof; gives the algorithm to verify it with, and the thumbprint of the key it holds.
///
/// # Errors
/// When it is no proof, its algorithm is not safe, or its key is missing, private, or does not fit.
pub fn check_header(header: &JwtHeader) -> Result<(SigningAlgorithm, String), ProofRefused> {
    if header.typ.as_deref() != Some(PROOF_TYPE) {
        return Err(ProofRefused::Type);
    }
    if header.crit.is_some() {
        return Err(ProofRefused::Critical);
    }
    let algorithm = SigningAlgorithm::from_name(&header.alg).ok_or(ProofRefused::Algorithm)?;
    let key = header.jwk.as_ref().ok_or(ProofRefused::Key)?;
    if jwk_rules::is_secret(key) || !algorithm.fits(key) {
        return Err(ProofRefused::Key);
    }
    let thumbprint = jwk_rules::thumbprint(key).ok_or(ProofRefused::Key)?;
    Ok((algorithm, thumbprint))
}

/// What a proof has to be about.
#[derive(Debug, Clone, Copy)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a caller that forgets a new member would skip its check"
)]
pub struct ExpectedProof<'a> {
    /// The method of the request.
    pub method: &'a str,
    /// The URL of the request, as clients see it.
    pub url: &'a str,
    /// The time, in seconds since the Unix epoch.
    pub now: u64,
    /// For how many seconds a proof is good; usually [`DEFAULT_PROOF_AGE`].
    pub max_age: u64,
    /// The token that the request presents; nothing at a token endpoint.
    pub token: Option<&'a Secret>,
    /// The nonces that are good now; any proof will do when there are none.
    pub nonces: &'a [&'a str],
}

/// Judges the claims of a proof with a good signature (RFC 9449, section 4.3).
///
/// # Errors
/// When the proof is for another request, another token or another time, or lacks the nonce.
pub fn check_claims(
    claims: &DpopProofClaims,
    expected: &ExpectedProof<'_>,
) -> Result<(), ProofRefused> {
    if claims.jti.is_empty() || claims.jti.len() > LONGEST_JTI {
        return Err(ProofRefused::Id);
    }
    if claims.htm != expected.method {
        return Err(ProofRefused::Method);
    }
    let has_query = claims.htu.contains(['?', '#']);
    let is_same = match (target(&claims.htu), target(expected.url)) {
        (Ok(claimed), Ok(asked)) => claimed == asked,
        _ => false,
    };
    if has_query || !is_same {
        return Err(ProofRefused::Url);
    }
    let is_old = claims.iat.saturating_add(expected.max_age) < expected.now;
    let is_early = claims.iat > expected.now.saturating_add(MAX_CLOCK_SKEW);
    if is_old || is_early {
        return Err(ProofRefused::Time);
    }
    if let Some(token) = expected.token {
        let hash = claims.ath.as_deref().ok_or(ProofRefused::Token)?;
        if Secret::new(hash) != Secret::new(token_hash(token)) {
            return Err(ProofRefused::Token);
        }
    }
    let nonce = claims.nonce.as_deref();
    if !expected.nonces.is_empty() && !nonce.is_some_and(|nonce| expected.nonces.contains(&nonce)) {
        return Err(ProofRefused::Nonce);
    }
    Ok(())
}

/// Judges whether a token was presented as it is bound: with a proof of its own key, or freely if it is bound to none.
///
/// A bound token is never good as a bearer token, or whoever stole it could drop the proof (RFC 9449, section 7.2).
///
/// # Errors
/// When a bound token comes without a proof of its key, or one that is not bound comes with a proof.
pub fn check_binding(
    claims: &AccessTokenClaims,
    scheme: TokenScheme,
    proved_key: Option<&str>,
) -> Result<(), ProofRefused> {
    let bound_key = match &claims.cnf {
        None => None,
        Some(confirmation) => match confirmation.jkt.as_deref() {
            Some(thumbprint) => Some(thumbprint),
            // It is bound to something that nobody here can check, such as a certificate.
            None => return Err(ProofRefused::Binding),
        },
    };
    let is_fine = match (scheme, bound_key, proved_key) {
        (TokenScheme::Bearer, None, _) => true,
        (TokenScheme::Dpop, Some(bound), Some(proved)) => bound == proved,
        _ => false,
    };
    is_fine.then_some(()).ok_or(ProofRefused::Binding)
}

/// Why a proof is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProofRefused {
    /// It is not of the type of proofs.
    Type,
    /// It has critical members that nobody here understands.
    Critical,
    /// It is signed with an algorithm that is not allowed.
    Algorithm,
    /// Its key is missing, private, or does not fit the algorithm.
    Key,
    /// Its id is empty or too long.
    Id,
    /// It is for another method.
    Method,
    /// It is for another URL.
    Url,
    /// It is too old, or from the future.
    Time,
    /// It is for another token.
    Token,
    /// It has no nonce that is good now: answer with a fresh one and `use_dpop_nonce`.
    Nonce,
    /// The token is bound to another key, or to none.
    Binding,
}

impl fmt::Display for ProofRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Type => "the proof's type is not dpop+jwt",
            Self::Critical => "the proof has critical members that are not understood",
            Self::Algorithm => "the proof is signed with an algorithm that is not allowed",
            Self::Key => "the proof has no public key that fits its algorithm",
            Self::Id => "the proof's id is empty or too long",
            Self::Method => "the proof is for another method",
            Self::Url => "the proof is for another URL",
            Self::Time => "the proof is too old or from the future",
            Self::Token => "the proof is for another token",
            Self::Nonce => "the proof needs a fresh nonce",
            Self::Binding => "the token is not presented in the way it is bound",
        })
    }
}

impl std::error::Error for ProofRefused {}
