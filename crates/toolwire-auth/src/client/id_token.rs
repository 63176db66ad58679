//! Reads the user's name from an ID token (OpenID Connect Core, section 2).

use serde_json::Value;

use crate::clock::since_epoch;
use crate::documents::Secret;
use crate::rules::id_token;

/// The maximum length of a stored name, in characters.
const LONGEST_NAME: usize = 200;

/// Returns the user's name for display. It is never used for access decisions.
pub(super) fn user(token: &Secret, issuer: &str, client_id: &str) -> Option<String> {
    let claims = id_token::read(token, issuer, client_id, since_epoch().as_secs()).ok()?;
    let mut names = ["email", "preferred_username", "name"].into_iter();
    let name = names.find_map(|name| claims.extra.get(name).and_then(Value::as_str));
    let name = name.or(claims.sub.as_deref())?;
    let printable = name.chars().filter(|character| !character.is_control());
    Some(printable.take(LONGEST_NAME).collect())
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use serde_json::json;

    use super::*;

    fn token(claims: &Value) -> Secret {
        let part = URL_SAFE_NO_PAD.encode(claims.to_string());
        Secret::new(format!("e30.{part}.sig"))
    }

    #[test]
    fn email_is_preferred_as_user_name() {
        let mut claims =
            json!({"iss": "https://a", "aud": ["c", "d"], "sub": "42", "exp": u64::MAX});
        let user_of = |claims: &Value| user(&token(claims), "https://a", "c");
        assert_eq!(user_of(&claims).as_deref(), Some("42"));
        claims["name"] = json!("Ada\u{1b}[2J Lovelace");
        assert_eq!(user_of(&claims).as_deref(), Some("Ada[2J Lovelace"));
        claims["email"] = json!("ada@example.com");
        assert_eq!(user_of(&claims).as_deref(), Some("ada@example.com"));
        claims["email"] = json!("é".repeat(LONGEST_NAME + 1));
        assert_eq!(user_of(&claims), Some("é".repeat(LONGEST_NAME)));
    }

    #[test]
    fn id_token_of_other_client_or_issuer_has_no_user() {
        let claims = json!({"iss": "https://a", "aud": "c", "sub": "42", "exp": u64::MAX});
        assert_eq!(user(&token(&claims), "https://b", "c"), None);
        assert_eq!(user(&token(&claims), "https://a", "d"), None);
        for text in ["", "a.b", "a.!.c", "e30.e30.x"] {
            assert_eq!(user(&Secret::new(text), "https://a", "c"), None, "{text}");
        }
    }
}
