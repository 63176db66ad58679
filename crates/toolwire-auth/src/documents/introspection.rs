//! Token introspection: an authorization server describes an opaque token (RFC 7662).

use serde::{Deserialize, Serialize};

use crate::documents::jwt::AccessTokenClaims;

/// The response of the introspection endpoint (RFC 7662, section 2.2).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct IntrospectionResponse {
    /// Whether the token is active. If not, the other members have no meaning.
    pub active: bool,
    /// The token type, such as `Bearer`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_type: Option<String>,
    /// The readable name of the user who authorized the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub username: Option<String>,
    /// The other members, which have the names of JWT claims.
    #[serde(flatten)]
    pub claims: AccessTokenClaims,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::documents::round_trip::check;

    #[test]
    fn responses_round_trip() {
        check::<IntrospectionResponse>(json!({"active": false}));
        let response: IntrospectionResponse = check(json!({
            "active": true, "client_id": "l238j323ds-23ij4", "username": "jdoe", "scope": "read write dolphin",
            "token_type": "Bearer", "sub": "Z5O3upPC88QrAjx00dis", "aud": "https://protected.example.net/resource",
            "iss": "https://server.example.com/", "exp": 1_419_356_238, "iat": 1_419_350_238,
            "extension_field": "twenty-seven",
        }));
        assert_eq!(response.claims.exp, Some(1_419_356_238));
        assert_eq!(response.claims.extra.len(), 1);
    }

    #[test]
    fn response_without_boolean_active_is_rejected() {
        for text in [
            "{}",
            r#"{"active": "true"}"#,
            r#"{"active": null}"#,
            r#"{"active": 1}"#,
        ] {
            assert!(
                serde_json::from_str::<IntrospectionResponse>(text).is_err(),
                "{text}"
            );
        }
    }
}
