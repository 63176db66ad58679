//! The metadata of a client: in a registration (RFC 7591), or in a document at the URL that is the client id.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolwire_types::setters;

use crate::documents::Extra;
use crate::documents::names;
use crate::documents::secret::Secret;

/// The metadata of a client (RFC 7591, section 2).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ClientMetadata {
    /// The redirect URIs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirect_uris: Option<Vec<String>>,
    /// The authentication method at the token endpoint. Absent means `client_secret_basic`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_endpoint_auth_method: Option<String>,
    /// The signature algorithm of client assertions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_endpoint_auth_signing_alg: Option<String>,
    /// The grant types of the client. Absent means `authorization_code`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant_types: Option<Vec<String>>,
    /// The response types of the client. Absent means `code`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_types: Option<Vec<String>>,
    /// The application type, which determines the permitted redirect URIs (OpenID Connect Dynamic Client Registration
    /// 1.0).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application_type: Option<ApplicationType>,
    /// The name, shown to users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_name: Option<String>,
    /// The URL of the home page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_uri: Option<String>,
    /// The URL of the logo.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logo_uri: Option<String>,
    /// The scopes that the client may request, separated by spaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// The contacts, usually email addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contacts: Option<Vec<String>>,
    /// The URL of the terms of service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tos_uri: Option<String>,
    /// The URL of the privacy policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_uri: Option<String>,
    /// The URL of the client's key set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jwks_uri: Option<String>,
    /// The client's key set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jwks: Option<Value>,
    /// The id of the software, the same for all installations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub software_id: Option<String>,
    /// The version of the software.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub software_version: Option<String>,
    /// Whether the client always requests DPoP-bound tokens (RFC 9449).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dpop_bound_access_tokens: Option<bool>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ClientMetadata {
    /// Creates empty metadata.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        with_name(client_name: into String);
        with_token_endpoint_auth_method(token_endpoint_auth_method: into String);
        with_application_type(application_type: some ApplicationType);
        /// Sets the scopes that the client may request, separated by spaces.
        with_scope(scope: into String);
    }

    /// Sets the redirect URIs.
    #[must_use]
    pub fn with_redirect_uris<S: Into<String>>(
        mut self,
        uris: impl IntoIterator<Item = S>,
    ) -> Self {
        self.redirect_uris = Some(uris.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the grant types of the client.
    #[must_use]
    pub fn with_grant_types<S: Into<String>>(mut self, types: impl IntoIterator<Item = S>) -> Self {
        self.grant_types = Some(types.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the response types of the client.
    #[must_use]
    pub fn with_response_types<S: Into<String>>(
        mut self,
        types: impl IntoIterator<Item = S>,
    ) -> Self {
        self.response_types = Some(types.into_iter().map(Into::into).collect());
        self
    }
}

/// The application type of a client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ApplicationType {
    /// An application on the user's machine.
    Native,
    /// An application on a web server, used with a browser.
    Web,
    /// A type that this crate does not define.
    #[serde(untagged)]
    Other(String),
}

/// The response to a registration: the client id and the registered metadata (RFC 7591, section 3.2.1).
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ClientRegistration {
    /// The client id.
    pub client_id: String,
    /// The client secret. Absent for public clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<Secret>,
    /// The time when the id was issued, in seconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id_issued_at: Option<u64>,
    /// The time when the secret expires, in seconds since the Unix epoch. 0 means never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_secret_expires_at: Option<u64>,
    /// The access token for changes of the registration (RFC 7592).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registration_access_token: Option<Secret>,
    /// The URL for changes of the registration (RFC 7592).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registration_client_uri: Option<String>,
    /// The registered metadata. It may differ from the requested metadata.
    #[serde(flatten)]
    pub metadata: ClientMetadata,
}

impl ClientRegistration {
    /// Creates a registration with an id and without a secret.
    #[must_use]
    pub fn new(client_id: impl Into<String>) -> Self {
        Self {
            client_id: client_id.into(),
            client_secret: None,
            client_id_issued_at: None,
            client_secret_expires_at: None,
            registration_access_token: None,
            registration_client_uri: None,
            metadata: ClientMetadata::new(),
        }
    }

    setters! {
        with_client_secret(client_secret: into Secret);
    }

    /// Sets the metadata.
    #[must_use]
    pub fn with_metadata(mut self, metadata: ClientMetadata) -> Self {
        self.metadata = metadata;
        self
    }
}

impl fmt::Debug for ClientRegistration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientRegistration")
            .field("client_id", &self.client_id)
            .field("client_secret", &self.client_secret)
            .field("client_name", &self.metadata.client_name)
            .field("redirect_uris", &self.metadata.redirect_uris)
            .field("extra", &names(&self.metadata.extra))
            .finish_non_exhaustive()
    }
}

/// The document at the URL that is the client id (draft-ietf-oauth-client-id-metadata-document).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ClientIdMetadataDocument {
    /// The URL of this document.
    pub client_id: String,
    /// The metadata of the client.
    #[serde(flatten)]
    pub metadata: ClientMetadata,
}

impl ClientIdMetadataDocument {
    /// Creates the document for a URL.
    #[must_use]
    pub fn new(url: impl Into<String>, metadata: ClientMetadata) -> Self {
        Self {
            client_id: url.into(),
            metadata,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::documents::round_trip::check;

    #[test]
    fn registrations_round_trip_with_unknown_members() {
        let registration: ClientRegistration = check(json!({
            "client_id": "s6BhdRkqt3", "client_secret": "cf136dc3c1fc93f31185e5885805d",
            "client_id_issued_at": 2_893_256_800_u64, "client_secret_expires_at": 0,
            "registration_access_token": "reg-23410913", "registration_client_uri": "https://a/register/1",
            "redirect_uris": ["https://client.example.org/callback"], "grant_types": ["authorization_code", "refresh_token"],
            "client_name": "My Example Client", "client_name#ja-Jpan-JP": "クライアント名",
            "token_endpoint_auth_method": "client_secret_basic", "application_type": "native",
            "jwks": {"keys": []}, "example_extension_parameter": "example_value",
        }));
        assert_eq!(
            registration.metadata.application_type,
            Some(ApplicationType::Native)
        );
        assert_eq!(registration.metadata.extra.len(), 2);
    }

    #[test]
    fn debug_output_of_registrations_omits_secrets() {
        let text = r#"{"client_id": "a", "client_secret": "hidden", "registration_access_token": "hidden",
            "api_key": "hidden"}"#;
        let registration: ClientRegistration = serde_json::from_str(text).unwrap();
        let printed = format!("{registration:?}");
        assert!(!printed.contains("hidden"), "{printed}");
        assert!(printed.contains("api_key"), "{printed}");
    }

    #[test]
    fn documents_and_application_types_round_trip() {
        check::<ClientIdMetadataDocument>(json!({
            "client_id": "https://app.example.com/oauth/client-metadata.json", "client_name": "Example MCP Client",
            "redirect_uris": ["http://127.0.0.1:3000/callback"], "token_endpoint_auth_method": "none", "x": [1],
        }));
        check::<ClientMetadata>(json!({"application_type": "web"}));
        check::<ClientMetadata>(json!({"application_type": "toaster"}));
    }

    #[test]
    fn null_members_are_absent() {
        let text =
            r#"{"client_id": "a", "client_secret": null, "redirect_uris": null, "scope": null}"#;
        let registration: ClientRegistration = serde_json::from_str(text).unwrap();
        assert_eq!(registration, ClientRegistration::new("a"));
    }

    #[test]
    fn built_values_serialize_to_wire_format() {
        let metadata = ClientMetadata::new()
            .with_name("A")
            .with_redirect_uris(["http://127.0.0.1/cb"])
            .with_grant_types(["authorization_code"])
            .with_response_types(["code"])
            .with_token_endpoint_auth_method("none")
            .with_application_type(ApplicationType::Web)
            .with_scope("a b");
        let registration = ClientRegistration::new("id")
            .with_client_secret("s")
            .with_metadata(metadata);
        assert_eq!(
            serde_json::to_value(registration).unwrap(),
            json!({
                "client_id": "id", "client_secret": "s", "redirect_uris": ["http://127.0.0.1/cb"],
                "token_endpoint_auth_method": "none", "grant_types": ["authorization_code"], "response_types": ["code"],
                "application_type": "web", "client_name": "A", "scope": "a b",
            })
        );
    }
}
