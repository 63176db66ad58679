//! The metadata of a protected resource (RFC 9728).

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolwire_types::setters;

use crate::documents::Extra;

/// The metadata of a protected resource, such as an MCP server (RFC 9728, section 2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ProtectedResourceMetadata {
    /// The identifier of the resource, a URL.
    pub resource: String,
    /// The issuers of tokens for the resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorization_servers: Option<Vec<String>>,
    /// The scopes that basic use requires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scopes_supported: Option<Vec<String>>,
    /// The supported ways to send a bearer token. MCP uses only `header`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bearer_methods_supported: Option<Vec<String>>,
    /// The URL of the keys with which the resource signs its responses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jwks_uri: Option<String>,
    /// The name of the resource, shown to users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_name: Option<String>,
    /// The URL of the documentation for developers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_documentation: Option<String>,
    /// The URL of the policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_policy_uri: Option<String>,
    /// The URL of the terms of service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_tos_uri: Option<String>,
    /// The permitted signature algorithms of DPoP proofs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dpop_signing_alg_values_supported: Option<Vec<String>>,
    /// Whether the resource requires DPoP-bound tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dpop_bound_access_tokens_required: Option<bool>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ProtectedResourceMetadata {
    /// Creates the metadata of a resource and the issuers of its tokens.
    #[must_use]
    pub fn new<S: Into<String>>(
        resource: impl Into<String>,
        authorization_servers: impl IntoIterator<Item = S>,
    ) -> Self {
        let issuers = authorization_servers.into_iter().map(Into::into);
        Self {
            resource: resource.into(),
            authorization_servers: Some(issuers.collect()),
            scopes_supported: None,
            bearer_methods_supported: None,
            jwks_uri: None,
            resource_name: None,
            resource_documentation: None,
            resource_policy_uri: None,
            resource_tos_uri: None,
            dpop_signing_alg_values_supported: None,
            dpop_bound_access_tokens_required: None,
            extra: Extra::new(),
        }
    }

    /// Sets the scopes that basic use requires.
    #[must_use]
    pub fn with_scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes_supported = Some(scopes.into_iter().map(Into::into).collect());
        self
    }

    setters! {
        with_name(resource_name: into String);
        with_documentation(resource_documentation: into String);
    }

    /// Adds a member that this type does not define.
    #[must_use]
    pub fn with_extra(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.extra.insert(name.into(), value.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::documents::round_trip::check;

    #[test]
    fn example_of_the_rfc_round_trips() {
        let metadata: ProtectedResourceMetadata = check(json!({
            "resource": "https://resource.example.com",
            "authorization_servers": ["https://as1.example.com", "https://as2.example.net"],
            "bearer_methods_supported": ["header", "body"],
            "scopes_supported": ["profile", "email", "phone"],
            "resource_documentation": "https://resource.example.com/resource_documentation.html",
            "resource_signing_alg_values_supported": ["RS256"],
        }));
        assert!(
            metadata
                .extra
                .contains_key("resource_signing_alg_values_supported")
        );
    }

    #[test]
    fn missing_and_empty_lists_are_distinct() {
        let metadata: ProtectedResourceMetadata =
            check(json!({"resource": "https://a", "scopes_supported": []}));
        assert_eq!(metadata.scopes_supported, Some(Vec::new()));
        assert_eq!(metadata.authorization_servers, None);
    }

    #[test]
    fn missing_and_duplicate_resource_are_rejected() {
        let is_rejected =
            |text: &str| serde_json::from_str::<ProtectedResourceMetadata>(text).is_err();
        assert!(is_rejected("{}"));
        assert!(is_rejected(r#"{"resource": 1}"#));
        assert!(is_rejected(
            r#"{"resource": "https://a", "resource": "https://b"}"#
        ));
    }

    #[test]
    fn built_metadata_serializes_to_wire_format() {
        let built = ProtectedResourceMetadata::new("https://a/mcp", ["https://b"])
            .with_scopes(["read"])
            .with_name("A")
            .with_documentation("https://a/docs")
            .with_extra("x", 1);
        assert_eq!(
            serde_json::to_value(built).unwrap(),
            json!({
                "resource": "https://a/mcp", "authorization_servers": ["https://b"], "scopes_supported": ["read"],
                "resource_name": "A", "resource_documentation": "https://a/docs", "x": 1,
            })
        );
    }
}
