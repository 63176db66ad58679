//! What a protected resource says about itself (RFC 9728).

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::result::Extra;
use crate::setters::setters;

/// The metadata of a protected resource: of an MCP server, for its clients (RFC 9728, section 2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ProtectedResourceMetadata {
    /// The identifier of the resource, a URL.
    pub resource: String,
    /// The issuers that give out tokens for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorization_servers: Option<Vec<String>>,
    /// The scopes that basic use needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scopes_supported: Option<Vec<String>>,
    /// How tokens are presented: `header`, and in MCP nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bearer_methods_supported: Option<Vec<String>>,
    /// Where the keys are that the resource signs its answers with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jwks_uri: Option<String>,
    /// The name of the resource, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_name: Option<String>,
    /// Where developers read about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_documentation: Option<String>,
    /// Where its policy is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_policy_uri: Option<String>,
    /// Where its terms of service are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_tos_uri: Option<String>,
    /// The algorithms that proofs of possession may be signed with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dpop_signing_alg_values_supported: Option<Vec<String>>,
    /// Whether tokens have to be bound to a key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dpop_bound_access_tokens_required: Option<bool>,
    /// Members this SDK does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ProtectedResourceMetadata {
    /// The metadata of a resource and the issuers of its tokens.
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

    /// Sets the scopes that basic use needs.
    #[must_use]
    pub fn with_scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes_supported = Some(scopes.into_iter().map(Into::into).collect());
        self
    }

    setters! {
        with_name(resource_name: into String);
        with_documentation(resource_documentation: into String);
    }

    /// Adds a member that this type does not know.
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
    use crate::round_trip::check;

    #[test]
    fn the_example_of_the_rfc_survives() {
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
    fn missing_and_empty_lists_are_told_apart() {
        let metadata: ProtectedResourceMetadata =
            check(json!({"resource": "https://a", "scopes_supported": []}));
        assert_eq!(metadata.scopes_supported, Some(Vec::new()));
        assert_eq!(metadata.authorization_servers, None);
    }

    #[test]
    fn a_resource_is_required_and_nothing_stands_twice() {
        let refused = |text: &str| serde_json::from_str::<ProtectedResourceMetadata>(text).is_err();
        assert!(refused("{}"));
        assert!(refused(r#"{"resource": 1}"#));
        assert!(refused(
            r#"{"resource": "https://a", "resource": "https://b"}"#
        ));
    }

    #[test]
    fn builders_fill_the_members_they_name() {
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
