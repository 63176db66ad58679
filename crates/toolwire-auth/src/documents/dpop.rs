//! DPoP proofs (RFC 9449).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::documents::Extra;
use crate::documents::names;

/// The claims of a DPoP proof, which a client signs for each request (RFC 9449, section 4.2).
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DpopProofClaims {
    /// The unique id of the proof.
    pub jti: String,
    /// The HTTP method of the request.
    pub htm: String,
    /// The URL of the request, without query and fragment.
    pub htu: String,
    /// The creation time, in seconds since the Unix epoch.
    pub iat: u64,
    /// The hash of the access token in the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ath: Option<String>,
    /// The nonce that the server provided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nonce: Option<String>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl DpopProofClaims {
    /// Creates the claims of a proof for one request.
    #[must_use]
    pub fn new(
        jti: impl Into<String>,
        htm: impl Into<String>,
        htu: impl Into<String>,
        iat: u64,
    ) -> Self {
        Self {
            jti: jti.into(),
            htm: htm.into(),
            htu: htu.into(),
            iat,
            ath: None,
            nonce: None,
            extra: Extra::new(),
        }
    }
}

impl fmt::Debug for DpopProofClaims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DpopProofClaims")
            .field("jti", &self.jti)
            .field("htm", &self.htm)
            .field("htu", &self.htu)
            .field("iat", &self.iat)
            .field("extra", &names(&self.extra))
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::documents::round_trip::check;

    #[test]
    fn claims_round_trip() {
        check::<DpopProofClaims>(json!({
            "jti": "e1j3V_bKic8-LAEB", "htm": "GET", "htu": "https://resource.example.org/protectedresource",
            "iat": 1_562_262_618, "ath": "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo", "nonce": "n", "x": 1,
        }));
    }

    #[test]
    fn missing_and_duplicate_claims_are_rejected() {
        let complete = json!({"jti": "a", "htm": "POST", "htu": "https://a", "iat": 1});
        check::<DpopProofClaims>(complete.clone());
        for name in ["jti", "htm", "htu", "iat"] {
            let mut without = complete.clone();
            without.as_object_mut().unwrap().remove(name);
            assert!(
                serde_json::from_value::<DpopProofClaims>(without).is_err(),
                "{name}"
            );
        }
        let duplicate = r#"{"jti": "a", "jti": "b", "htm": "POST", "htu": "https://a", "iat": 1}"#;
        assert!(serde_json::from_str::<DpopProofClaims>(duplicate).is_err());
    }
}
