//! Parses signed tokens and verifies their signatures.
//!
//! The algorithm is selected by configuration before verification, and a key is used only with a matching algorithm. So
//! a token cannot select another algorithm.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaParameters, RsaPublicKeyComponents,
    UnparsedPublicKey, VerificationAlgorithm,
};
use serde::de::DeserializeOwned;

use crate::documents::{Jwk, JwtHeader};
use crate::rules::signing_algorithm::SigningAlgorithm;

/// A compact JWS (RFC 7515, section 7.1) whose signature is not verified yet.
pub(crate) struct Jws<'a> {
    pub(crate) header: JwtHeader,
    payload: Vec<u8>,
    signed: &'a str,
    signature: Vec<u8>,
}

impl<'a> Jws<'a> {
    /// Parses a token. Returns `None` if it is not a compact JWS.
    pub(crate) fn parse(token: &'a str) -> Option<Self> {
        let (signed, signature) = token.rsplit_once('.')?;
        let (header, payload) = signed.split_once('.')?;
        let decode = |text: &str| URL_SAFE_NO_PAD.decode(text).ok();
        Some(Self {
            header: serde_json::from_slice(&decode(header)?).ok()?,
            payload: decode(payload)?,
            signed,
            signature: decode(signature)?,
        })
    }

    /// Returns the `iss` claim, which is not verified yet.
    pub(crate) fn claimed_issuer(&self) -> Option<String> {
        #[derive(serde::Deserialize)]
        struct Claimed {
            iss: String,
        }
        let claimed: Claimed = serde_json::from_slice(&self.payload).ok()?;
        Some(claimed.iss)
    }

    /// Returns the claims if the signature is valid for a key that matches the algorithm.
    pub(crate) fn verify<T: DeserializeOwned>(
        &self,
        algorithm: SigningAlgorithm,
        key: &Jwk,
    ) -> Option<T> {
        let verified = algorithm.matches(key)
            && is_signed_with(algorithm, key, self.signed.as_bytes(), &self.signature)
                .unwrap_or(false);
        if verified {
            serde_json::from_slice(&self.payload).ok()
        } else {
            None
        }
    }
}

/// Returns whether the key signed the message, or `None` if the key is invalid.
fn is_signed_with(
    algorithm: SigningAlgorithm,
    key: &Jwk,
    message: &[u8],
    signature: &[u8],
) -> Option<bool> {
    let rsa = |parameters: &'static RsaParameters| {
        let key = RsaPublicKeyComponents {
            n: without_leading_zeros(member(key.n.as_deref())?),
            e: without_leading_zeros(member(key.e.as_deref())?),
        };
        Some(key.verify(parameters, message, signature).is_ok())
    };
    let with = |algorithm: &'static dyn VerificationAlgorithm, point: Vec<u8>| {
        let key = UnparsedPublicKey::new(algorithm, point);
        Some(key.verify(message, signature).is_ok())
    };
    match algorithm {
        SigningAlgorithm::Rs256 => rsa(&RSA_PKCS1_2048_8192_SHA256),
        SigningAlgorithm::Rs384 => rsa(&RSA_PKCS1_2048_8192_SHA384),
        SigningAlgorithm::Rs512 => rsa(&RSA_PKCS1_2048_8192_SHA512),
        SigningAlgorithm::Ps256 => rsa(&RSA_PSS_2048_8192_SHA256),
        SigningAlgorithm::Ps384 => rsa(&RSA_PSS_2048_8192_SHA384),
        SigningAlgorithm::Ps512 => rsa(&RSA_PSS_2048_8192_SHA512),
        SigningAlgorithm::Es256 => with(&ECDSA_P256_SHA256_FIXED, point(key, 32)?),
        SigningAlgorithm::Es384 => with(&ECDSA_P384_SHA384_FIXED, point(key, 48)?),
        SigningAlgorithm::Es512 => p521_verifies(&point(key, 66)?, message, signature),
        SigningAlgorithm::EdDsa if key.crv.as_deref() == Some("Ed25519") => {
            with(&ED25519, member(key.x.as_deref())?)
        }
        _ => None,
    }
}

fn p521_verifies(point: &[u8], message: &[u8], signature: &[u8]) -> Option<bool> {
    use p521::ecdsa::signature::Verifier as _;

    let key = p521::ecdsa::VerifyingKey::from_sec1_bytes(point).ok()?;
    let signature = p521::ecdsa::Signature::from_slice(signature).ok()?;
    Some(key.verify(message, &signature).is_ok())
}

/// Returns an uncompressed point (SEC 1, section 2.3.3) from coordinates of exactly this many bytes.
fn point(key: &Jwk, bytes: usize) -> Option<Vec<u8>> {
    let (x, y) = (member(key.x.as_deref())?, member(key.y.as_deref())?);
    if x.len() != bytes || y.len() != bytes {
        return None;
    }
    let mut point = Vec::with_capacity(1 + 2 * bytes);
    point.push(4);
    point.extend_from_slice(&x);
    point.extend_from_slice(&y);
    Some(point)
}

fn member(text: Option<&str>) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text?).ok()
}

/// Removes leading zeros. Some issuers pad numbers, and key parsers reject that.
fn without_leading_zeros(number: Vec<u8>) -> Vec<u8> {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    number.get(zeros..).unwrap_or_default().to_vec()
}

#[cfg(test)]
pub(super) mod test_keys;
#[cfg(test)]
mod tests;
