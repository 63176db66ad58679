//! The responses of a token endpoint.

use std::fmt;

use serde::{Deserialize, Serialize};
use toolwire_types::setters;

use crate::documents::Extra;
use crate::documents::secret::Secret;
use crate::documents::{names, seconds};

/// A successful token response (RFC 6749, section 5.1).
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TokenResponse {
    /// The access token.
    pub access_token: Secret,
    /// The token type, case-insensitive: `Bearer`, `DPoP`, or `N_A` if the token is not an access token.
    pub token_type: String,
    /// The lifetime of the access token in seconds.
    #[serde(
        default,
        deserialize_with = "seconds::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub expires_in: Option<u64>,
    /// The refresh token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh_token: Option<Secret>,
    /// The granted scopes, if they differ from the requested scopes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// The ID token, which identifies the user (OpenID Connect).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id_token: Option<Secret>,
    /// The type of the token from a token exchange (RFC 8693).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issued_token_type: Option<String>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl TokenResponse {
    /// Creates a response with an access token and its type.
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

/// An error response of a token, registration or authorization endpoint (RFC 6749, sections 4.1.2.1 and 5.2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OAuthError {
    /// The error code, such as `invalid_grant`.
    pub error: String,
    /// A description for developers. The text is untrusted: display it, but do not interpret it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_description: Option<String>,
    /// The URL of a page about the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_uri: Option<String>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl OAuthError {
    /// Creates an error with a code.
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
    use crate::documents::round_trip::check;

    #[test]
    fn responses_round_trip() {
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
    fn debug_output_omits_tokens() {
        let text = r#"{"access_token": "hidden", "token_type": "Bearer", "refresh_token": "hidden", "id_token": "hidden",
            "device_secret": "hidden"}"#;
        let token: TokenResponse = serde_json::from_str(text).unwrap();
        let printed = format!("{token:?}");
        assert!(!printed.contains("hidden"), "{printed}");
        assert!(printed.contains("device_secret"), "{printed}");
    }

    #[test]
    fn malformed_token_responses_are_rejected() {
        let is_rejected = |text: &str| serde_json::from_str::<TokenResponse>(text).is_err();
        assert!(is_rejected(r#"{"token_type": "Bearer"}"#));
        assert!(is_rejected(r#"{"access_token": "a"}"#));
        assert!(is_rejected(
            r#"{"access_token": "a", "access_token": "b", "token_type": "Bearer"}"#
        ));
        assert!(is_rejected(
            r#"{"access_token": "a", "token_type": "Bearer", "expires_in": -1}"#
        ));
    }

    #[test]
    fn built_values_serialize_to_wire_format() {
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
