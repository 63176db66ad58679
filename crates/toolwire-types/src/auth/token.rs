//! Answers of a token endpoint.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::auth::secret::Secret;
use crate::auth::{names, seconds};
use crate::result::Extra;
use crate::setters::setters;

/// A token that was given out (RFC 6749, section 5.1).
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TokenResponse {
    /// The token.
    pub access_token: Secret,
    /// How it is presented, in any case: `Bearer`, `DPoP`, or `N_A` for one that is no access token.
    pub token_type: String,
    /// For how many seconds it is good.
    #[serde(
        default,
        deserialize_with = "seconds::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub expires_in: Option<u64>,
    /// The token to get the next one with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh_token: Option<Secret>,
    /// What was granted, when it is not what was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// Who the user is (OpenID Connect).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id_token: Option<Secret>,
    /// What kind of token was given in exchange (RFC 8693).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issued_token_type: Option<String>,
    /// Members this SDK does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl TokenResponse {
    /// A token of a type.
    #[must_use]
    pub fn new(access_token: impl Into<Secret>, token_type: impl Into<String>) -> Self {
        Self {
            access_token: access_token.into(),
            token_type: token_type.into(),
            expires_in: None,
            refresh_token: None,
            scope: None,
            id_token: None,
            issued_token_type: None,
            extra: Extra::new(),
        }
    }

    setters! {
        /// Sets the lifetime of the access token in seconds.
        with_expires_in(expires_in: some u64);
        with_refresh_token(refresh_token: into Secret);
        with_scope(scope: into String);
    }
}

impl fmt::Debug for TokenResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenResponse")
            .field("access_token", &self.access_token)
            .field("token_type", &self.token_type)
            .field("expires_in", &self.expires_in)
            .field("refresh_token", &self.refresh_token)
            .field("scope", &self.scope)
            .field("id_token", &self.id_token)
            .field("issued_token_type", &self.issued_token_type)
            .field("extra", &names(&self.extra))
            .finish()
    }
}

/// A refusal of a token, registration or authorization endpoint (RFC 6749, sections 4.1.2.1 and 5.2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OAuthError {
    /// The code, such as `invalid_grant`.
    pub error: String,
    /// An explanation for developers. It is the server's text: show it, never act on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_description: Option<String>,
    /// A page about the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_uri: Option<String>,
    /// Members this SDK does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl OAuthError {
    /// An error of a code.
    #[must_use]
    pub fn new(error: impl Into<String>) -> Self {
        Self {
            error: error.into(),
            error_description: None,
            error_uri: None,
            extra: Extra::new(),
        }
    }

    setters! {
        with_description(error_description: into String);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::round_trip::check;

    #[test]
    fn answers_survive() {
        check::<TokenResponse>(json!({
            "access_token": "2YotnFZFEjr1zCsicMWpAA", "token_type": "Bearer", "expires_in": 3600,
            "refresh_token": "tGzv3JOkF0XG5Qx2TlKWIA", "scope": "a b", "id_token": "e30.e30.", "example_parameter": [1],
        }));
        check::<TokenResponse>(json!({
            "access_token": "a", "token_type": "N_A", "issued_token_type": "urn:ietf:params:oauth:token-type:id-jag",
        }));
        check::<OAuthError>(json!({
            "error": "invalid_grant", "error_description": "used", "error_uri": "https://a", "suberror": "x",
        }));
    }

    #[test]
    fn tokens_do_not_print() {
        let text = r#"{"access_token": "hidden", "token_type": "Bearer", "refresh_token": "hidden", "id_token": "hidden",
            "device_secret": "hidden"}"#;
        let token: TokenResponse = serde_json::from_str(text).unwrap();
        let printed = format!("{token:?}");
        assert!(!printed.contains("hidden"), "{printed}");
        assert!(printed.contains("device_secret"), "{printed}");
    }

    #[test]
    fn a_token_and_its_type_are_required() {
        let refused = |text: &str| serde_json::from_str::<TokenResponse>(text).is_err();
        assert!(refused(r#"{"token_type": "Bearer"}"#));
        assert!(refused(r#"{"access_token": "a"}"#));
        assert!(refused(
            r#"{"access_token": "a", "access_token": "b", "token_type": "Bearer"}"#
        ));
        assert!(refused(
            r#"{"access_token": "a", "token_type": "Bearer", "expires_in": -1}"#
        ));
    }

    #[test]
    fn builders_fill_the_members_they_name() {
        let token = TokenResponse::new("a", "Bearer")
            .with_expires_in(5)
            .with_refresh_token("r")
            .with_scope("s");
        assert_eq!(
            serde_json::to_value(token).unwrap(),
            json!({"access_token": "a", "token_type": "Bearer", "expires_in": 5, "refresh_token": "r", "scope": "s"})
        );
        let error = OAuthError::new("invalid_scope").with_description("no");
        assert_eq!(
            serde_json::to_value(error).unwrap(),
            json!({"error": "invalid_scope", "error_description": "no"})
        );
    }
}
