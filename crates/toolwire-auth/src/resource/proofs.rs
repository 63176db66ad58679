//! Verifies DPoP proofs and accepts each of them once (RFC 9449).

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::request::Parts;
use http::{HeaderName, HeaderValue};
use sha2::{Digest as _, Sha256};
use toolwire::Principal;
use toolwire::store::{NonceStore, StoreError};

use crate::documents::{DpopProofClaims, Secret};
use crate::jws::Jws;
use crate::rules::dpop::{self, DEFAULT_PROOF_AGE, DpopProofError, ExpectedProof, MAX_CLOCK_SKEW};
use crate::rules::signing_algorithm::SigningAlgorithm;
use crate::store_deadline::within_deadline;

const PROOF: HeaderName = HeaderName::from_static("dpop");

/// A verifier of DPoP proofs.
#[derive(Debug)]
pub(super) struct DpopVerifier {
    /// The public origin of the server: scheme and authority.
    pub(super) origin: String,
    /// The URL of the resource, for servers behind a proxy that changes the path.
    pub(super) resource: String,
    /// The store of used proofs.
    pub(super) used: Arc<dyn NonceStore>,
}

/// A valid proof that may have been used before.
#[derive(Debug)]
pub(super) struct Proof {
    /// The thumbprint of the key.
    pub(super) key: String,
    fingerprint: [u8; 32],
}

impl DpopVerifier {
    /// Verifies the proof of a request. The caller then has to [mark it as used](Self::mark_used).
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
        let jws = jws.ok_or(DpopError::Malformed)?;
        let (algorithm, key) = dpop::check_header(&jws.header)?;
        let claims: Option<DpopProofClaims> = match &jws.header.jwk {
            Some(jwk) => jws.verify(algorithm, jwk),
            None => None,
        };
        let claims = claims.ok_or(DpopError::Signature)?;
        let path = head.uri.path();
        let url = format!("{}{path}", self.origin);
        let expected = |url| ExpectedProof {
            method: head.method.as_str(),
            url,
            now,
            max_age: DEFAULT_PROOF_AGE,
            token: Some(token),
            nonces: &[],
        };
        match dpop::check_claims(&claims, &expected(&url)) {
            Err(DpopProofError::Url) => dpop::check_claims(&claims, &expected(&self.resource))?,
            result => result?,
        }
        // Clients choose the ids, so ids are compared only within one key.
        let fingerprint = Sha256::digest(format!("{key} {}", claims.jti)).into();
        Ok(Proof { key, fingerprint })
    }

    /// Marks a proof as used. Returns `false` if it was used before. Only proofs of valid tokens are stored, so that
    /// unauthenticated clients cannot fill the store. `owner` is the principal of the token, whose share of the store
    /// the proof counts for.
    pub(super) async fn mark_used(
        &self,
        owner: &Principal,
        proof: &Proof,
    ) -> Result<bool, StoreError> {
        let lifetime = Duration::from_secs(DEFAULT_PROOF_AGE + MAX_CLOCK_SKEW + 1);
        within_deadline(self.used.mark_used(owner, &proof.fingerprint, lifetime)).await
    }
}

/// Returns the names of all accepted signature algorithms, separated by spaces.
pub(super) fn algorithms() -> String {
    SigningAlgorithm::ALL
        .map(SigningAlgorithm::as_str)
        .join(" ")
}

/// The reason why a proof is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DpopError {
    Count,
    Malformed,
    Signature,
    Rejected(DpopProofError),
}

impl From<DpopProofError> for DpopError {
    fn from(error: DpopProofError) -> Self {
        Self::Rejected(error)
    }
}

impl fmt::Display for DpopError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count => f.write_str("the request does not have exactly one proof"),
            Self::Malformed => f.write_str("the proof is malformed"),
            Self::Signature => f.write_str("the proof is not signed with its own key"),
            Self::Rejected(error) => write!(f, "{error}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;
    use toolwire::store::MemoryNonceStore;
    use toolwire::store::contract::{Fault, Faulty};

    use super::*;
    use crate::store_deadline::STORE_DEADLINE;

    #[tokio::test(start_paused = true)]
    async fn proof_is_not_accepted_while_the_store_hangs() {
        let used = Arc::new(Faulty::new(Arc::new(MemoryNonceStore::default())));
        used.inject("mark_used", Fault::Hang, 1);
        let verifier = DpopVerifier {
            origin: "https://mcp.example.com".to_owned(),
            resource: "https://mcp.example.com/mcp".to_owned(),
            used,
        };
        let proof = Proof {
            key: "key".to_owned(),
            fingerprint: [1; 32],
        };
        let owner = Principal::anonymous();
        let start = Instant::now();
        let error = verifier.mark_used(&owner, &proof).await.unwrap_err();
        assert!(matches!(error, StoreError::Unknown(_)), "{error:?}");
        assert_eq!(start.elapsed().as_secs(), STORE_DEADLINE.as_secs());
        assert!(verifier.mark_used(&owner, &proof).await.unwrap());
    }
}
