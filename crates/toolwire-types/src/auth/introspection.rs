//! What an authorization server says about a token that only it can read (RFC 7662).

use serde::{Deserialize, Serialize};

use crate::auth::jwt::AccessTokenClaims;

/// The answer to a question about a token (RFC 7662, section 2.2).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct IntrospectionResponse {
    /// Whether the token is good; if not, nothing else counts.
    pub active: bool,
    /// How the token is presented.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_type: Option<String>,
    /// Whom it speaks for, in a form for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub username: Option<String>,
    /// Everything else, which has the names of claims.
    #[serde(flatten)]
    pub claims: AccessTokenClaims,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::round_trip::check;

    #[test]
    fn answers_survive() {
        check::<IntrospectionResponse>(json!({"active": false}));
        let answer: IntrospectionResponse = check(json!({
            "active": true, "client_id": "l238j323ds-23ij4", "username": "jdoe", "scope": "read write dolphin",
            "token_type": "Bearer", "sub": "Z5O3upPC88QrAjx00dis", "aud": "https://protected.example.net/resource",
            "iss": "https://server.example.com/", "exp": 1_419_356_238, "iat": 1_419_350_238,
            "extension_field": "twenty-seven",
        }));
        assert_eq!(answer.claims.exp, Some(1_419_356_238));
        assert_eq!(answer.claims.extra.len(), 1);
    }

    #[test]
    fn an_answer_that_does_not_say_whether_is_none() {
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
