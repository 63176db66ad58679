//! The header and the claims of an access token that is a JSON Web Token (RFC 7519, RFC 9068).

use std::fmt;

use serde::{Deserialize, Serialize};
use toolwire_types::setters;

use crate::documents::Extra;
use crate::documents::jwk::Jwk;
use crate::documents::one_or_many::OneOrMany;
use crate::documents::{names, seconds};

/// The protected header of a signed token (RFC 7515, section 4.1).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct JwtHeader {
    /// The signature algorithm that the token claims.
    pub alg: String,
    /// The token type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub typ: Option<String>,
    /// The id of the signing key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kid: Option<String>,
    /// The header members that a recipient must understand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crit: Option<Vec<String>>,
    /// A public key, as in DPoP proofs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jwk: Option<Jwk>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl JwtHeader {
    /// Creates a header with a signature algorithm.
    #[must_use]
    pub fn new(alg: impl Into<String>) -> Self {
        Self {
            alg: alg.into(),
            typ: None,
            kid: None,
            crit: None,
            jwk: None,
            extra: Extra::new(),
        }
    }

    setters! {
        with_typ(typ: into String);
        with_kid(kid: into String);
        with_jwk(jwk: some Jwk);
    }
}

/// The claims of an access token. Times are in seconds since the Unix epoch.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AccessTokenClaims {
    /// The issuer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iss: Option<String>,
    /// The subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sub: Option<String>,
    /// The audience: the resources that the token is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aud: Option<OneOrMany>,
    /// The expiration time.
    #[serde(
        default,
        deserialize_with = "seconds::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub exp: Option<u64>,
    /// The time before which the token is not valid.
    #[serde(
        default,
        deserialize_with = "seconds::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub nbf: Option<u64>,
    /// The time of issue.
    #[serde(
        default,
        deserialize_with = "seconds::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub iat: Option<u64>,
    /// The token id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jti: Option<String>,
    /// The client that the token was issued to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// The authorized party: the client id in tokens of OpenID providers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub azp: Option<String>,
    /// The granted scopes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<OneOrMany>,
    /// The granted scopes in tokens of some servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scp: Option<OneOrMany>,
    /// The key that the token is bound to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cnf: Option<Confirmation>,
    /// All other claims.
    #[serde(flatten)]
    pub extra: Extra,
}

impl fmt::Debug for AccessTokenClaims {
    /// Omits the values of unknown claims, because they may be personal data.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessTokenClaims")
            .field("iss", &self.iss)
            .field("sub", &self.sub)
            .field("aud", &self.aud)
            .field("exp", &self.exp)
            .field("client_id", &self.client_id)
            .field("scope", &self.scope)
            .field("extra", &names(&self.extra))
            .finish_non_exhaustive()
    }
}

/// The key that a token is bound to (RFC 7800).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Confirmation {
    /// The thumbprint of the DPoP key (RFC 9449, section 6.1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jkt: Option<String>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Confirmation {
    /// Creates a binding to the key with a thumbprint.
    #[must_use]
    pub fn to_key(thumbprint: impl Into<String>) -> Self {
        Self {
            jkt: Some(thumbprint.into()),
            extra: Extra::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::documents::round_trip::check;

    #[test]
    fn headers_and_claims_round_trip() {
        check::<JwtHeader>(json!({
            "alg": "ES256", "typ": "at+jwt", "kid": "1", "crit": ["b64"], "b64": true, "jwk": {"kty": "OKP", "x": "a"},
        }));
        let claims: AccessTokenClaims = check(json!({
            "iss": "https://a", "sub": "ann", "aud": ["https://b", "c"], "exp": 2, "nbf": 1, "iat": 1, "jti": "x",
            "client_id": "app", "azp": "app", "scope": "a b", "scp": ["a"], "cnf": {"jkt": "y", "x5t#S256": "z"},
            "email": "ann@example.com",
        }));
        let printed = format!("{claims:?}");
        assert!(
            printed.contains("email") && !printed.contains("ann@"),
            "{printed}"
        );
    }

    #[test]
    fn claims_of_wrong_types_are_rejected() {
        for text in [
            r#"{"aud": 1}"#,
            r#"{"exp": "soon"}"#,
            r#"{"exp": -1}"#,
            r#"{"iss": ["a"]}"#,
            r#"{"exp": 1, "exp": 2}"#,
            r#"{"cnf": "a"}"#,
        ] {
            assert!(
                serde_json::from_str::<AccessTokenClaims>(text).is_err(),
                "{text}"
            );
        }
    }
}
