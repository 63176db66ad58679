//! What a client says about itself when it registers (RFC 7591), or in a document at the URL that is its id.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::auth::names;
use crate::auth::secret::Secret;
use crate::result::Extra;
use crate::setters::setters;

/// The metadata of a client (RFC 7591, section 2).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ClientMetadata {
    /// Where users may be sent back to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirect_uris: Option<Vec<String>>,
    /// How it authenticates at the token endpoint; `client_secret_basic` when it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_endpoint_auth_method: Option<String>,
    /// The algorithm its assertions are signed with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_endpoint_auth_signing_alg: Option<String>,
    /// The grants it uses; `authorization_code` when it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant_types: Option<Vec<String>>,
    /// The response types it uses; `code` when it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_types: Option<Vec<String>>,
    /// Where it runs, which decides about its redirect URIs (OpenID Connect Dynamic Client Registration 1.0).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application_type: Option<ApplicationType>,
    /// Its name, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_name: Option<String>,
    /// Its home page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_uri: Option<String>,
    /// Its logo.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logo_uri: Option<String>,
    /// The scopes it may ask for, separated by spaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// Whom to write to about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contacts: Option<Vec<String>>,
    /// Its terms of service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tos_uri: Option<String>,
    /// Its privacy policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_uri: Option<String>,
    /// Where its keys are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jwks_uri: Option<String>,
    /// Its keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jwks: Option<Value>,
    /// The id of the software, the same for all its installations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub software_id: Option<String>,
    /// The version of the software.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub software_version: Option<String>,
    /// Whether it always asks for tokens that are bound to a key (RFC 9449).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dpop_bound_access_tokens: Option<bool>,
    /// Members this SDK does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ClientMetadata {
    /// The metadata of a client that has said nothing yet.
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

    /// Sets where users may be sent back to.
    #[must_use]
    pub fn with_redirect_uris<S: Into<String>>(
        mut self,
        uris: impl IntoIterator<Item = S>,
    ) -> Self {
        self.redirect_uris = Some(uris.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the grants it uses.
    #[must_use]
    pub fn with_grant_types<S: Into<String>>(mut self, types: impl IntoIterator<Item = S>) -> Self {
        self.grant_types = Some(types.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the response types it uses.
    #[must_use]
    pub fn with_response_types<S: Into<String>>(
        mut self,
        types: impl IntoIterator<Item = S>,
    ) -> Self {
        self.response_types = Some(types.into_iter().map(Into::into).collect());
        self
    }
}

/// Where a client runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ApplicationType {
    /// On the user's machine.
    Native,
    /// On a server, used with a browser.
    Web,
    /// Somewhere else, by some later specification.
    #[serde(untagged)]
    Other(String),
}

/// The answer to a registration: the client's id, and its metadata as the server took it (RFC 7591, section 3.2.1).
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ClientRegistration {
    /// The id.
    pub client_id: String,
    /// The password, if the client is to have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<Secret>,
    /// When the id was given out, in seconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id_issued_at: Option<u64>,
    /// When the password ends; 0 means never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_secret_expires_at: Option<u64>,
    /// The token to change the registration with (RFC 7592).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registration_access_token: Option<Secret>,
    /// Where the registration can be changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registration_client_uri: Option<String>,
    /// The metadata as the server took it, which need not be as it was sent.
    #[serde(flatten)]
    pub metadata: ClientMetadata,
}

impl ClientRegistration {
    /// A client that is known by an id and has no password.
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

/// The document at the URL that is a client's id (draft-ietf-oauth-client-id-metadata-document).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ClientIdMetadataDocument {
    /// The URL of this document.
    pub client_id: String,
    /// What it says about the client.
    #[serde(flatten)]
    pub metadata: ClientMetadata,
}

impl ClientIdMetadataDocument {
    /// The document at a URL.
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
    use crate::round_trip::check;

    #[test]
    fn registrations_survive_with_the_members_of_others() {
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
    fn registrations_do_not_print_their_secrets() {
        let text = r#"{"client_id": "a", "client_secret": "hidden", "registration_access_token": "hidden",
            "api_key": "hidden"}"#;
        let registration: ClientRegistration = serde_json::from_str(text).unwrap();
        let printed = format!("{registration:?}");
        assert!(!printed.contains("hidden"), "{printed}");
        assert!(printed.contains("api_key"), "{printed}");
    }

    #[test]
    fn documents_and_types_of_applications_survive() {
        check::<ClientIdMetadataDocument>(json!({
            "client_id": "https://app.example.com/oauth/client-metadata.json", "client_name": "Example MCP Client",
            "redirect_uris": ["http://127.0.0.1:3000/callback"], "token_endpoint_auth_method": "none", "x": [1],
        }));
        check::<ClientMetadata>(json!({"application_type": "web"}));
        check::<ClientMetadata>(json!({"application_type": "toaster"}));
    }

    #[test]
    fn nulls_are_absent_members() {
        let text =
            r#"{"client_id": "a", "client_secret": null, "redirect_uris": null, "scope": null}"#;
        let registration: ClientRegistration = serde_json::from_str(text).unwrap();
        assert_eq!(registration, ClientRegistration::new("a"));
    }

    #[test]
    fn builders_fill_the_members_they_name() {
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
