//! Proofs of possession (RFC 9449).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::auth::names;
use crate::result::Extra;

/// The claims of a proof, which is signed anew for every request (RFC 9449, section 4.2).
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DpopProofClaims {
    /// An id that is used once.
    pub jti: String,
    /// The method of the request.
    pub htm: String,
    /// The URL of the request, without query and fragment.
    pub htu: String,
    /// When it was made, in seconds since the Unix epoch.
    pub iat: u64,
    /// The hash of the access token that the request presents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ath: Option<String>,
    /// The nonce that the server gave out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nonce: Option<String>,
    /// Members this SDK does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl DpopProofClaims {
    /// The claims of a proof for one request.
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
    use crate::round_trip::check;

    #[test]
    fn claims_survive() {
        check::<DpopProofClaims>(json!({
            "jti": "e1j3V_bKic8-LAEB", "htm": "GET", "htu": "https://resource.example.org/protectedresource",
            "iat": 1_562_262_618, "ath": "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo", "nonce": "n", "x": 1,
        }));
    }

    #[test]
    fn every_claim_that_is_required_is_there_once() {
        let whole = json!({"jti": "a", "htm": "POST", "htu": "https://a", "iat": 1});
        check::<DpopProofClaims>(whole.clone());
        for name in ["jti", "htm", "htu", "iat"] {
            let mut without = whole.clone();
            without.as_object_mut().unwrap().remove(name);
            assert!(
                serde_json::from_value::<DpopProofClaims>(without).is_err(),
                "{name}"
            );
        }
        let twice = r#"{"jti": "a", "jti": "b", "htm": "POST", "htu": "https://a", "iat": 1}"#;
        assert!(serde_json::from_str::<DpopProofClaims>(twice).is_err());
    }
}
