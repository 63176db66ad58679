//! Checks ID tokens that come directly from the token endpoint of an identity provider.
//!
//! OpenID Connect Core 1.0, section 3.1.3.7: the TLS connection to the token endpoint replaces the signature check.
//! Issuer, audience and time remain to be checked.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::documents::{AccessTokenClaims, OneOrMany, Secret};

/// The permitted clock difference, in seconds.
const LEEWAY: u64 = 60;

/// Returns the claims of the user.
///
/// # Errors
/// Returns an error if the token is malformed, of another issuer, for another client, or expired.
pub(crate) fn read(
    token: &Secret,
    issuer: &str,
    client_id: &str,
    now: u64,
) -> Result<AccessTokenClaims, IdTokenError> {
    let mut parts = token.expose().split('.');
    let (Some(_), Some(payload), Some(_), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(IdTokenError::Malformed);
    };
    let payload = URL_SAFE_NO_PAD.decode(payload);
    let payload = payload.map_err(|_| IdTokenError::Malformed)?;
    let claims: AccessTokenClaims =
        serde_json::from_slice(&payload).map_err(|_| IdTokenError::Malformed)?;
    if claims.iss.as_deref() != Some(issuer) {
        return Err(IdTokenError::OtherIssuer);
    }
    let is_for_client = match &claims.aud {
        Some(OneOrMany::One(audience)) => audience == client_id,
        Some(OneOrMany::Many(audiences)) => audiences.iter().any(|one| one == client_id),
        None => false,
    };
    if !is_for_client {
        return Err(IdTokenError::OtherClient);
    }
    if claims
        .exp
        .is_none_or(|expiry| expiry.saturating_add(LEEWAY) <= now)
    {
        return Err(IdTokenError::Expired);
    }
    match claims.sub.as_deref().map(str::trim) {
        None | Some("") => Err(IdTokenError::NoSubject),
        Some(_) => Ok(claims),
    }
}

/// The reason why an ID token is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) enum IdTokenError {
    /// It is not a JWT.
    Malformed,
    /// It is of another issuer.
    OtherIssuer,
    /// It is for another client.
    OtherClient,
    /// It has expired.
    Expired,
    /// It has no subject.
    NoSubject,
}

impl fmt::Display for IdTokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "the ID token is malformed",
            Self::OtherIssuer => "the ID token is of another issuer",
            Self::OtherClient => "the ID token is for another client",
            Self::Expired => "the ID token has expired",
            Self::NoSubject => "the ID token has no subject",
        })
    }
}

impl std::error::Error for IdTokenError {}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn outcome(claims: &Value) -> Result<String, IdTokenError> {
        let payload = URL_SAFE_NO_PAD.encode(claims.to_string());
        let token = Secret::new(format!("e30.{payload}.sig"));
        let claims = read(&token, "https://idp.example", "us", 1_000)?;
        Ok(claims.sub.unwrap_or_default())
    }

    #[test]
    fn valid_id_token_names_its_user() {
        for audience in [json!("us"), json!(["other", "us"])] {
            let claims =
                json!({"iss": "https://idp.example", "aud": audience, "exp": 1_060, "sub": "ann"});
            assert_eq!(outcome(&claims).as_deref(), Ok("ann"));
        }
    }

    #[test]
    fn invalid_id_tokens_are_rejected() {
        let check = |member: &str, value: Value, expected: IdTokenError| {
            let mut claims =
                json!({"iss": "https://idp.example", "aud": "us", "exp": 2_000, "sub": "ann"});
            claims[member] = value;
            assert_eq!(outcome(&claims), Err(expected), "{claims}");
        };
        check(
            "iss",
            json!("https://evil.example"),
            IdTokenError::OtherIssuer,
        );
        check("iss", Value::Null, IdTokenError::OtherIssuer);
        check("aud", json!("them"), IdTokenError::OtherClient);
        check("aud", json!([]), IdTokenError::OtherClient);
        check("aud", Value::Null, IdTokenError::OtherClient);
        check("exp", json!(940), IdTokenError::Expired);
        check("exp", Value::Null, IdTokenError::Expired);
        check("sub", json!(""), IdTokenError::NoSubject);
        check("sub", json!(" \t\u{2003}"), IdTokenError::NoSubject);
        check("sub", Value::Null, IdTokenError::NoSubject);
    }

    #[test]
    fn leeway_is_one_minute() {
        let at = |exp: u64| {
            outcome(&json!({"iss": "https://idp.example", "aud": "us", "exp": exp, "sub": "ann"}))
        };
        assert!(at(941).is_ok());
        assert_eq!(at(940), Err(IdTokenError::Expired));
    }

    #[test]
    fn malformed_id_tokens_are_rejected() {
        for text in ["", "a", "a.b", "a.!.c", "a.e30.c.d", "a.W10.c"] {
            let read = read(&Secret::new(text), "i", "us", 0);
            assert_eq!(read.unwrap_err(), IdTokenError::Malformed, "{text}");
        }
    }
}
