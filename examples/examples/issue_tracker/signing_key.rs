//! The key of the authorization server: signs access tokens (RFC 9068) with ES256.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::error::Unspecified;
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};
use toolwire_auth::documents::{Jwk, JwkSet};

/// The name of the only key.
const KEY_ID: &str = "one";

pub(crate) struct SigningKey {
    key: EcdsaKeyPair,
    random: SystemRandom,
}

impl SigningKey {
    /// Creates a random key. Tokens of an earlier process are no longer valid.
    pub(crate) fn new() -> Result<Self, String> {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random);
        let document = document.map_err(|error| error.to_string())?;
        let key = EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random);
        let key = key.map_err(|error| error.to_string())?;
        Ok(Self { key, random })
    }

    /// Returns the public key, which servers fetch to verify tokens.
    pub(crate) fn public(&self) -> JwkSet {
        let point = self.key.public_key().as_ref();
        let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let key = Jwk::ec("P-256", encode(&point[1..33]), encode(&point[33..]));
        let mut keys = JwkSet::default();
        keys.keys.push(key.with_kid(KEY_ID));
        keys
    }

    /// Returns a signed token with these claims.
    pub(crate) fn token(&self, claims: &Value) -> Result<String, Unspecified> {
        let header = json!({"alg": "ES256", "kid": KEY_ID, "typ": "at+jwt"});
        let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", encode(&header), encode(claims));
        let signature = self.key.sign(&self.random, signed.as_bytes())?;
        Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }

    /// Returns a random text, for codes and ids.
    pub(crate) fn random_text(&self) -> Result<String, Unspecified> {
        let mut bytes = [0; 16];
        self.random.fill(&mut bytes)?;
        Ok(URL_SAFE_NO_PAD.encode(bytes))
    }
}
