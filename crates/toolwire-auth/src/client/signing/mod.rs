//! Private keys for client assertions and DPoP proofs.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256,
    RsaKeyPair,
};
use serde::Serialize;

use crate::client::AuthError;
use crate::documents::{Jwk, JwtHeader, Secret};
use crate::rules::signing_algorithm::SigningAlgorithm;

/// A private key that signs assertions and proofs.
pub struct SigningKey {
    pair: Pair,
    kid: Option<String>,
}

enum Pair {
    Es256(EcdsaKeyPair),
    EdDsa(Ed25519KeyPair),
    Rs256(RsaKeyPair),
}

impl SigningKey {
    /// Parses a PKCS#8 key of type P-256, Ed25519 or RSA.
    ///
    /// # Errors
    /// Returns an error if the key is not of one of these types.
    pub fn from_pkcs8(der: &[u8]) -> Result<Self, AuthError> {
        let random = SystemRandom::new();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der, &random)
            .map(Pair::Es256)
            .or_else(|_| Ed25519KeyPair::from_pkcs8_maybe_unchecked(der).map(Pair::EdDsa))
            .or_else(|_| RsaKeyPair::from_pkcs8(der).map(Pair::Rs256))
            .map_err(|_| {
                AuthError::new("the private key is invalid")
                    .with_advice("use a PKCS#8 key of type P-256, Ed25519 or RSA")
            })?;
        Ok(Self { pair, kid: None })
    }

    /// Parses a PKCS#8 key from PEM text: the section between `BEGIN PRIVATE KEY` and `END PRIVATE KEY`.
    ///
    /// # Errors
    /// Returns an error if the section is missing or contains no valid key.
    pub fn from_pem(pem: &str) -> Result<Self, AuthError> {
        let section = pem.split_once("-----BEGIN PRIVATE KEY-----");
        let section = section.and_then(|(_, rest)| rest.split_once("-----END PRIVATE KEY-----"));
        let Some((text, _)) = section else {
            return Err(AuthError::new("the PEM text has no PKCS#8 private key")
                .with_advice("convert the key with `openssl pkcs8 -topk8 -nocrypt`"));
        };
        let text: String = text.split_ascii_whitespace().collect();
        let der = STANDARD
            .decode(text)
            .map_err(|_| AuthError::new("the PEM text is invalid"))?;
        Self::from_pkcs8(&der)
    }

    /// Creates a P-256 key. Returns it in PKCS#8.
    pub(super) fn generate() -> Result<Vec<u8>, AuthError> {
        let random = SystemRandom::new();
        EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random)
            .map(|der| der.as_ref().to_vec())
            .map_err(|_| AuthError::new("the operating system returned no random bytes"))
    }

    /// Sets the key id (`kid`) in the header of signed tokens.
    #[must_use]
    pub fn with_kid(mut self, kid: impl Into<String>) -> Self {
        self.kid = Some(kid.into());
        self
    }

    pub(super) fn algorithm(&self) -> SigningAlgorithm {
        match &self.pair {
            Pair::Es256(_) => SigningAlgorithm::Es256,
            Pair::EdDsa(_) => SigningAlgorithm::EdDsa,
            Pair::Rs256(_) => SigningAlgorithm::Rs256,
        }
    }

    /// Returns the public key, or `None` for RSA, which is not used for proofs.
    pub(super) fn public(&self) -> Option<Jwk> {
        let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        match &self.pair {
            Pair::Es256(pair) => {
                let (_, point) = pair.public_key().as_ref().split_first()?;
                let (x, y) = point.split_at_checked(32)?;
                Some(Jwk::ec("P-256", encode(x), encode(y)))
            }
            Pair::EdDsa(pair) => Some(Jwk::okp("Ed25519", encode(pair.public_key().as_ref()))),
            Pair::Rs256(_) => None,
        }
    }

    /// Signs claims and returns a compact JWS.
    pub(super) fn sign(
        &self,
        typ: &str,
        jwk: Option<Jwk>,
        claims: &impl Serialize,
    ) -> Result<Secret, AuthError> {
        let mut header = JwtHeader::new(self.algorithm().as_str()).with_typ(typ);
        header.kid.clone_from(&self.kid);
        header.jwk = jwk;
        let part = |json: Result<Vec<u8>, serde_json::Error>| {
            json.map(|json| URL_SAFE_NO_PAD.encode(json))
                .map_err(AuthError::of)
        };
        let header = part(serde_json::to_vec(&header))?;
        let claims = part(serde_json::to_vec(claims))?;
        let signed = format!("{header}.{claims}");
        let random = SystemRandom::new();
        let failed = |_| AuthError::new("the key cannot sign");
        let signature = match &self.pair {
            Pair::Es256(pair) => {
                let signature = pair.sign(&random, signed.as_bytes()).map_err(failed)?;
                signature.as_ref().to_vec()
            }
            Pair::EdDsa(pair) => pair.sign(signed.as_bytes()).as_ref().to_vec(),
            Pair::Rs256(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(
                    &RSA_PKCS1_SHA256,
                    &random,
                    signed.as_bytes(),
                    &mut signature,
                )
                .map_err(failed)?;
                signature
            }
        };
        let signature = URL_SAFE_NO_PAD.encode(signature);
        Ok(Secret::new(format!("{signed}.{signature}")))
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey")
            .field("algorithm", &self.algorithm())
            .field("kid", &self.kid)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
