//! The metadata of an authorization server (RFC 8414, OpenID Connect Discovery 1.0).

use serde::{Deserialize, Serialize};
use toolwire_types::setters;

use crate::documents::Extra;

/// The metadata of an authorization server (RFC 8414, section 2).
///
/// It includes the members of later specifications that MCP uses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AuthorizationServerMetadata {
    /// The issuer, a URL without query and fragment.
    pub issuer: String,
    /// The URL of the authorization endpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorization_endpoint: Option<String>,
    /// The URL of the token endpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_endpoint: Option<String>,
    /// The URL of the registration endpoint (RFC 7591).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registration_endpoint: Option<String>,
    /// The URL of the introspection endpoint for resource servers (RFC 7662).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub introspection_endpoint: Option<String>,
    /// The URL of the revocation endpoint (RFC 7009).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revocation_endpoint: Option<String>,
    /// The URL of the keys with which the server signs tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jwks_uri: Option<String>,
    /// The supported scopes. The list may be incomplete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scopes_supported: Option<Vec<String>>,
    /// The supported response types. MCP uses `code`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_types_supported: Option<Vec<String>>,
    /// The supported grant types. Absent means `authorization_code` and `implicit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant_types_supported: Option<Vec<String>>,
    /// The client authentication methods at the token endpoint. Absent means `client_secret_basic`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_endpoint_auth_methods_supported: Option<Vec<String>>,
    /// The permitted signature algorithms of client assertions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_endpoint_auth_signing_alg_values_supported: Option<Vec<String>>,
    /// The PKCE methods. Absent means that the server does not support PKCE.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code_challenge_methods_supported: Option<Vec<String>>,
    /// Whether authorization responses contain `iss` (RFC 9207).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorization_response_iss_parameter_supported: Option<bool>,
    /// Whether a client id may be the URL of a client metadata document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id_metadata_document_supported: Option<bool>,
    /// The permitted signature algorithms of DPoP proofs (RFC 9449).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dpop_signing_alg_values_supported: Option<Vec<String>>,
    /// The grant profiles, such as identity assertions (extension enterprise-managed authorization).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorization_grant_profiles_supported: Option<Vec<String>>,
    /// The URL of the documentation for developers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_documentation: Option<String>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl AuthorizationServerMetadata {
    /// Creates metadata with only the issuer.
    #[must_use]
    pub fn new(issuer: impl Into<String>) -> Self {
        Self {
            issuer: issuer.into(),
            authorization_endpoint: None,
            token_endpoint: None,
            registration_endpoint: None,
            introspection_endpoint: None,
            revocation_endpoint: None,
            jwks_uri: None,
            scopes_supported: None,
            response_types_supported: None,
            grant_types_supported: None,
            token_endpoint_auth_methods_supported: None,
            token_endpoint_auth_signing_alg_values_supported: None,
            code_challenge_methods_supported: None,
            authorization_response_iss_parameter_supported: None,
            client_id_metadata_document_supported: None,
            dpop_signing_alg_values_supported: None,
            authorization_grant_profiles_supported: None,
            service_documentation: None,
            extra: Extra::new(),
        }
    }

    setters! {
        with_authorization_endpoint(authorization_endpoint: into String);
        with_token_endpoint(token_endpoint: into String);
        with_registration_endpoint(registration_endpoint: into String);
    }

    /// Sets the PKCE methods.
    #[must_use]
    pub fn with_code_challenge_methods<S: Into<String>>(
        mut self,
        methods: impl IntoIterator<Item = S>,
    ) -> Self {
        self.code_challenge_methods_supported = Some(methods.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the client authentication methods at the token endpoint.
    #[must_use]
    pub fn with_token_endpoint_auth_methods<S: Into<String>>(
        mut self,
        methods: impl IntoIterator<Item = S>,
    ) -> Self {
        self.token_endpoint_auth_methods_supported =
            Some(methods.into_iter().map(Into::into).collect());
        self
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::documents::round_trip::check;

    #[test]
    fn oauth_and_openid_metadata_round_trip() {
        check::<AuthorizationServerMetadata>(json!({
            "issuer": "https://server.example.com",
            "authorization_endpoint": "https://server.example.com/authorize",
            "token_endpoint": "https://server.example.com/token",
            "token_endpoint_auth_methods_supported": ["client_secret_basic", "private_key_jwt"],
            "token_endpoint_auth_signing_alg_values_supported": ["RS256", "ES256"],
            "userinfo_endpoint": "https://server.example.com/userinfo",
            "jwks_uri": "https://server.example.com/jwks.json",
            "registration_endpoint": "https://server.example.com/register",
            "scopes_supported": ["openid", "profile", "offline_access"],
            "response_types_supported": ["code", "code token"],
            "service_documentation": "http://server.example.com/service_documentation.html",
            "ui_locales_supported": ["en-US", "en-GB"],
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": true,
            "client_id_metadata_document_supported": true,
            "dpop_signing_alg_values_supported": ["ES256"],
            "authorization_grant_profiles_supported": ["urn:ietf:params:oauth:grant-profile:id-jag"],
        }));
        check::<AuthorizationServerMetadata>(json!({
            "issuer": "https://op.example.com",
            "subject_types_supported": ["pairwise"],
            "claims_parameter_supported": true,
            "mtls_endpoint_aliases": {"token_endpoint": "https://mtls.example.com/token"},
        }));
    }

    #[test]
    fn missing_and_duplicate_issuer_are_rejected() {
        assert!(serde_json::from_str::<AuthorizationServerMetadata>("{}").is_err());
        let duplicate = r#"{"issuer": "https://a", "issuer": "https://b"}"#;
        assert!(serde_json::from_str::<AuthorizationServerMetadata>(duplicate).is_err());
    }

    #[test]
    fn built_metadata_serializes_to_wire_format() {
        let built = AuthorizationServerMetadata::new("https://a")
            .with_authorization_endpoint("https://a/authorize")
            .with_token_endpoint("https://a/token")
            .with_registration_endpoint("https://a/register")
            .with_code_challenge_methods(["S256"])
            .with_token_endpoint_auth_methods(["none"]);
        assert_eq!(
            serde_json::to_value(built).unwrap(),
            json!({
                "issuer": "https://a", "authorization_endpoint": "https://a/authorize", "token_endpoint": "https://a/token",
                "registration_endpoint": "https://a/register", "token_endpoint_auth_methods_supported": ["none"],
                "code_challenge_methods_supported": ["S256"],
            })
        );
    }
}
