//! Proofs that a caller has the key its token is bound to (RFC 9449): verified, and good once.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::request::Parts;
use http::{HeaderName, HeaderValue};
use sha2::{Digest as _, Sha256};
use toolwire_proto::auth::dpop::{
    self, DEFAULT_PROOF_AGE, ExpectedProof, MAX_CLOCK_SKEW, ProofRefused,
};
use toolwire_proto::auth::signing_algorithm::SigningAlgorithm;
use toolwire_types::auth::{DpopProofClaims, Secret};

use crate::auth::jws::Jws;
use crate::engine::Principal;
use crate::store::{NonceStore, StoreError};

const PROOF: HeaderName = HeaderName::from_static("dpop");

/// Verifies proofs.
#[derive(Debug)]
pub(super) struct DpopVerifier {
    /// Where the server is, as clients know it: scheme and authority.
    pub(super) origin: String,
    /// The URL of the resource, for servers whose path is changed on the way to them.
    pub(super) resource: String,
    pub(super) spent: Arc<dyn NonceStore>,
}

/// A proof that is good, except that it may have been used before.
#[derive(Debug)]
pub(super) struct Proof {
    /// The thumbprint of the key.
    pub(super) key: String,
    fingerprint: [u8; 32],
}

impl DpopVerifier {
    /// Verifies the proof of a request; all that is left is to [`spend`](Self::spend) it.
    pub(super) fn verify(
        &self,
        head: &Parts,
        token: &Secret,
        now: u64,
    ) -> Result<Proof, DpopError> {
        let mut headers = head.headers.get_all(PROOF).iter();
        let (Some(header), None) = (headers.next(), headers.next()) else {
            return Err(DpopError::Count);
        };
        let jws = HeaderValue::to_str(header).ok().and_then(Jws::parse);
        let jws = jws.ok_or(DpopError::Unreadable)?;
        let (algorithm, key) = dpop::check_header(&jws.header)?;
        let claims: Option<DpopProofClaims> = match &jws.header.jwk {
            Some(own) => jws.verify(algorithm, own),
            None => None,
        };
        let claims = claims.ok_or(DpopError::Signature)?;
        let path = head.uri.path();
        let here = format!("{}{path}", self.origin);
        let expected = |url| ExpectedProof {
            method: head.method.as_str(),
            url,
            now,
            max_age: DEFAULT_PROOF_AGE,
            token: Some(token),
            nonces: &[],
        };
        match dpop::check_claims(&claims, &expected(&here)) {
            Err(ProofRefused::Url) => dpop::check_claims(&claims, &expected(&self.resource))?,
            judged => judged?,
        }
        // Ids are chosen by clients, so only those of one key count as equal.
        let fingerprint = Sha256::digest(format!("{key} {}", claims.jti)).into();
        Ok(Proof { key, fingerprint })
    }

    /// Uses a proof up; false when somebody did before. Only proofs of good tokens come here, or strangers could fill
    /// the store. `owner` is the principal of the token, whose share of the store the proof counts for.
    pub(super) async fn mark_used(
        &self,
        owner: &Principal,
        proof: &Proof,
    ) -> Result<bool, StoreError> {
        let lifetime = Duration::from_secs(DEFAULT_PROOF_AGE + MAX_CLOCK_SKEW + 1);
        self.spent
            .mark_used(owner, &proof.fingerprint, lifetime)
            .await
    }
}

/// The names of all algorithms that proofs may be signed with, separated by spaces.
pub(super) fn algorithms() -> String {
    SigningAlgorithm::ALL
        .map(SigningAlgorithm::as_str)
        .join(" ")
}

/// Why a proof is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DpopError {
    Count,
    Unreadable,
    Signature,
    Refused(ProofRefused),
}

impl From<ProofRefused> for DpopError {
    fn from(refused: ProofRefused) -> Self {
        Self::Refused(refused)
    }
}

impl fmt::Display for DpopError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count => f.write_str("the request does not have one proof"),
            Self::Unreadable => f.write_str("the proof cannot be read"),
            Self::Signature => f.write_str("the proof is not signed with its own key"),
            Self::Refused(refused) => write!(f, "{refused}"),
        }
    }
}
