//! JSON Web Keys (RFC 7517).

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use toolwire_types::setters;

use crate::documents::Extra;
use crate::documents::names;

/// A public key.
///
/// Members of private and symmetric keys are stored in `extra`, whose values are not in the `Debug` output.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Jwk {
    /// The key type: `EC`, `OKP` or `RSA`.
    pub kty: String,
    /// The key id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kid: Option<String>,
    /// The permitted use: `sig` or `enc`.
    #[serde(default, rename = "use", skip_serializing_if = "Option::is_none")]
    pub use_: Option<String>,
    /// The permitted operations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_ops: Option<Vec<String>>,
    /// The only algorithm that the key may be used with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alg: Option<String>,
    /// The curve of an `EC` or `OKP` key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crv: Option<String>,
    /// The public point of an `OKP` key, or the x coordinate of an `EC` key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x: Option<String>,
    /// The y coordinate of an `EC` key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub y: Option<String>,
    /// The modulus of an `RSA` key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n: Option<String>,
    /// The exponent of an `RSA` key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub e: Option<String>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Jwk {
    fn of_type(kty: &str) -> Self {
        Self {
            kty: kty.to_owned(),
            kid: None,
            use_: None,
            key_ops: None,
            alg: None,
            crv: None,
            x: None,
            y: None,
            n: None,
            e: None,
            extra: Extra::new(),
        }
    }

    /// Creates an elliptic curve key. The coordinates are base64url.
    #[must_use]
    pub fn ec(crv: impl Into<String>, x: impl Into<String>, y: impl Into<String>) -> Self {
        Self {
            crv: Some(crv.into()),
            x: Some(x.into()),
            y: Some(y.into()),
            ..Self::of_type("EC")
        }
    }

    /// Creates an Edwards curve key. The point is base64url.
    #[must_use]
    pub fn okp(crv: impl Into<String>, x: impl Into<String>) -> Self {
        Self {
            crv: Some(crv.into()),
            x: Some(x.into()),
            ..Self::of_type("OKP")
        }
    }

    /// Creates an RSA key. Modulus and exponent are base64url.
    #[must_use]
    pub fn rsa(n: impl Into<String>, e: impl Into<String>) -> Self {
        Self {
            n: Some(n.into()),
            e: Some(e.into()),
            ..Self::of_type("RSA")
        }
    }

    setters! {
        with_kid(kid: into String);
        with_alg(alg: into String);
    }
}

impl fmt::Debug for Jwk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Jwk")
            .field("kty", &self.kty)
            .field("kid", &self.kid)
            .field("use", &self.use_)
            .field("alg", &self.alg)
            .field("crv", &self.crv)
            .field("extra", &names(&self.extra))
            .finish_non_exhaustive()
    }
}

/// The key set of a server. Entries that cannot be parsed are skipped (RFC 7517, section 5).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct JwkSet {
    /// The keys.
    #[serde(deserialize_with = "parseable_keys")]
    pub keys: Vec<Jwk>,
}

fn parseable_keys<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Jwk>, D::Error> {
    let entries = Vec::<Value>::deserialize(deserializer)?;
    let keys = entries
        .into_iter()
        .filter_map(|entry| Jwk::deserialize(entry).ok());
    Ok(keys.collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::documents::round_trip::check;

    #[test]
    fn keys_round_trip() {
        let key: Jwk = check(json!({
            "kty": "EC", "kid": "1", "use": "sig", "alg": "ES256", "crv": "P-256", "x": "a", "y": "b", "key_ops": ["verify"],
        }));
        assert_eq!(key.use_.as_deref(), Some("sig"));
        check::<Jwk>(json!({"kty": "RSA", "n": "a", "e": "AQAB", "x5c": ["c"]}));
        assert_eq!(
            serde_json::to_value(Jwk::okp("Ed25519", "a").with_kid("k").with_alg("EdDSA")).unwrap(),
            json!({"kty": "OKP", "kid": "k", "alg": "EdDSA", "crv": "Ed25519", "x": "a"})
        );
    }

    #[test]
    fn debug_output_omits_private_members() {
        let key: Jwk =
            serde_json::from_str(r#"{"kty": "oct", "k": "hidden", "d": "hidden"}"#).unwrap();
        assert!(!format!("{key:?}").contains("hidden"));
    }

    #[test]
    fn keys_that_cannot_be_parsed_are_skipped() {
        let text = r#"{"keys": [{"kty": 1}, {"kid": "no kind"}, 5, {"kty": "RSA", "n": "a", "e": "b"}], "next": 1}"#;
        let set: JwkSet = serde_json::from_str(text).unwrap();
        assert_eq!(set.keys, [Jwk::rsa("a", "b")]);
        assert!(serde_json::from_str::<JwkSet>(r#"{"keys": {}}"#).is_err());
    }
}
