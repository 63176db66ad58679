//! What an authorization server says about itself (RFC 8414, OpenID Connect Discovery 1.0).

use serde::{Deserialize, Serialize};

use crate::result::Extra;
use crate::setters::setters;

/// The metadata of an authorization server (RFC 8414, section 2), with the members of later specifications that MCP uses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AuthorizationServerMetadata {
    /// Who the server is: a URL without query and fragment.
    pub issuer: String,
    /// Where users authorize.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorization_endpoint: Option<String>,
    /// Where tokens are given out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_endpoint: Option<String>,
    /// Where clients register (RFC 7591).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registration_endpoint: Option<String>,
    /// Where tokens are explained to resource servers (RFC 7662).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub introspection_endpoint: Option<String>,
    /// Where tokens are given back (RFC 7009).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revocation_endpoint: Option<String>,
    /// Where the keys are that tokens are signed with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jwks_uri: Option<String>,
    /// The scopes it knows; it need not list them all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scopes_supported: Option<Vec<String>>,
    /// The response types; `code` is the one of MCP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_types_supported: Option<Vec<String>>,
    /// The grants; `authorization_code` and `implicit` when it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant_types_supported: Option<Vec<String>>,
    /// How clients authenticate at the token endpoint; `client_secret_basic` when it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_endpoint_auth_methods_supported: Option<Vec<String>>,
    /// The algorithms that assertions of clients may be signed with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_endpoint_auth_signing_alg_values_supported: Option<Vec<String>>,
    /// The methods of PKCE; none at all when it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code_challenge_methods_supported: Option<Vec<String>>,
    /// Whether redirects carry `iss` (RFC 9207).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorization_response_iss_parameter_supported: Option<bool>,
    /// Whether the id of a client may be the URL of a document about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id_metadata_document_supported: Option<bool>,
    /// The algorithms that proofs of possession may be signed with (RFC 9449).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dpop_signing_alg_values_supported: Option<Vec<String>>,
    /// Profiles of grants, such as that of identity assertions (extension enterprise-managed authorization).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorization_grant_profiles_supported: Option<Vec<String>>,
    /// Where developers read about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_documentation: Option<String>,
    /// Members this SDK does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl AuthorizationServerMetadata {
    /// The metadata of a server that has said nothing but who it is.
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

    /// Sets the methods of PKCE.
    #[must_use]
    pub fn with_code_challenge_methods<S: Into<String>>(
        mut self,
        methods: impl IntoIterator<Item = S>,
    ) -> Self {
        self.code_challenge_methods_supported = Some(methods.into_iter().map(Into::into).collect());
        self
    }

    /// Sets how clients authenticate at the token endpoint.
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
    use crate::round_trip::check;

    #[test]
    fn documents_of_both_kinds_survive() {
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
    fn an_issuer_is_required() {
        assert!(serde_json::from_str::<AuthorizationServerMetadata>("{}").is_err());
        let twice = r#"{"issuer": "https://a", "issuer": "https://b"}"#;
        assert!(serde_json::from_str::<AuthorizationServerMetadata>(twice).is_err());
    }

    #[test]
    fn builders_fill_the_members_they_name() {
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
