//! Creates DPoP proofs that the client holds the key its tokens are bound to (RFC 9449).

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use http::{HeaderMap, HeaderName, HeaderValue, Method};
use tokio::sync::OnceCell;

use crate::client::AuthError;
use crate::client::signing::SigningKey;
use crate::client::store::Records;
use crate::clock::since_epoch;
use crate::documents::{Jwk, Secret};
use crate::rules::dpop::{PROOF_TYPE, proof_claims};
use crate::sync::lock;

/// The header of a proof.
const PROOF: HeaderName = HeaderName::from_static("dpop");

/// The header of a nonce.
const NONCE: HeaderName = HeaderName::from_static("dpop-nonce");

/// The maximum length of an accepted nonce, in bytes.
const LONGEST_NONCE: usize = 512;

/// The maximum number of servers with a cached nonce. A client uses two or three servers. A removed nonce costs one
/// round trip.
const MAX_NONCES: usize = 16;

/// The client's DPoP key and the nonces of servers.
#[derive(Debug)]
pub(super) struct DpopSigner {
    records: Records,
    key: OnceCell<DpopKey>,
    /// The last nonce of each server.
    nonces: Mutex<HashMap<String, String>>,
}

#[derive(Debug)]
struct DpopKey {
    signing: SigningKey,
    public: Jwk,
}

impl DpopSigner {
    pub(super) fn new(records: Records) -> Self {
        Self {
            records,
            key: OnceCell::new(),
            nonces: Mutex::default(),
        }
    }

    /// Stores the nonce of a response. Returns `true` if there is one.
    pub(super) fn store_nonce(&self, origin: &str, response: &HeaderMap) -> bool {
        let nonce = response.get(&NONCE).and_then(|nonce| nonce.to_str().ok());
        let Some(nonce) = nonce.filter(|nonce| nonce.len() <= LONGEST_NONCE) else {
            return false;
        };
        let mut nonces = self.nonces();
        if nonces.len() >= MAX_NONCES && !nonces.contains_key(origin) {
            nonces.clear();
        }
        nonces.insert(origin.to_owned(), nonce.to_owned());
        true
    }

    /// Adds a proof for one request to its headers.
    pub(super) async fn add_proof(
        &self,
        headers: &mut HeaderMap,
        method: &Method,
        url: &str,
        origin: &str,
        token: Option<&Secret>,
    ) -> Result<(), AuthError> {
        let key = self.key.get_or_try_init(|| self.load()).await?;
        let nonce = self.nonces().get(origin).cloned();
        let now = since_epoch().as_secs();
        let random = crate::client::random()?;
        let claims = proof_claims(method.as_str(), url, now, random, token, nonce.as_deref());
        let claims = claims.map_err(AuthError::of)?;
        let proof = key
            .signing
            .sign(PROOF_TYPE, Some(key.public.clone()), &claims)?;
        let mut value = HeaderValue::from_str(proof.expose())
            .map_err(|_| AuthError::new("the proof is not a valid header value"))?;
        value.set_sensitive(true);
        headers.insert(PROOF, value);
        Ok(())
    }

    /// Loads the key. It is stored beside the tokens, because it has to exist as long as they do.
    async fn load(&self) -> Result<DpopKey, AuthError> {
        let signing = self.records.proof_key().await?;
        let public = signing
            .public()
            .ok_or_else(|| AuthError::new("the DPoP key is of a type that cannot sign proofs"))?;
        Ok(DpopKey { signing, public })
    }

    fn nonces(&self) -> MutexGuard<'_, HashMap<String, String>> {
        lock(&self.nonces)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signer() -> DpopSigner {
        DpopSigner::new(Records::in_memory())
    }

    fn with_nonce(nonce: &str) -> HeaderMap {
        HeaderMap::from_iter([(NONCE, HeaderValue::from_str(nonce).unwrap())])
    }

    #[test]
    fn nonces_are_accepted_up_to_the_maximum_length() {
        let signer = signer();
        assert!(!signer.store_nonce("https://a", &HeaderMap::new()));
        assert!(signer.store_nonce("https://a", &with_nonce(&"n".repeat(LONGEST_NONCE))));
        assert!(!signer.store_nonce("https://a", &with_nonce(&"o".repeat(LONGEST_NONCE + 1))));
        assert_eq!(signer.nonces()["https://a"].len(), LONGEST_NONCE);
    }

    #[test]
    fn number_of_servers_with_cached_nonces_is_limited() {
        let signer = signer();
        for number in 0..MAX_NONCES {
            assert!(signer.store_nonce(&number.to_string(), &with_nonce("n")));
        }
        // A known server needs no further entry.
        assert!(signer.store_nonce("0", &with_nonce("m")));
        assert_eq!(signer.nonces().len(), MAX_NONCES);
        assert!(signer.store_nonce("one more", &with_nonce("n")));
        assert_eq!(signer.nonces().len(), 1);
    }
}
