//! The configuration of the identity provider, and its users.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::documents::Secret;

/// The user claims that are retained for handlers. All others are dropped.
const RETAINED_CLAIMS: [&str; 7] = [
    "login",
    "name",
    "email",
    "email_verified",
    "preferred_username",
    "hd",
    "tid",
];

/// The maximum length of a retained claim, in bytes.
const LONGEST_CLAIM: usize = 256;

/// The client that represents a server at an identity provider.
///
/// Register it there with the redirect URI that
/// [`OAuthProxy::callback_url`](crate::proxy::OAuthProxy::callback_url) returns:
/// `https://mcp.example.com/callback` for the resource `https://mcp.example.com/mcp`.
#[derive(Clone)]
pub struct Upstream {
    pub(super) issuer: String,
    pub(super) client_id: String,
    pub(super) client_secret: Secret,
    pub(super) secret_in_body: bool,
    /// The authorization and token endpoints. `None` means that the issuer's metadata provides them.
    pub(super) endpoints: Option<(String, String)>,
    pub(super) user: UserSource,
    pub(super) scopes: Vec<String>,
    pub(super) parameters: Vec<(String, String)>,
}

/// The way in which a user is identified.
#[derive(Debug, Clone)]
pub(super) enum UserSource {
    /// The ID token in the token response.
    IdToken,
    /// A request with the access token.
    Endpoint {
        url: String,
        /// The member that identifies users.
        subject: String,
    },
}

impl Upstream {
    /// Creates a client of an OpenID Connect provider whose metadata provides the endpoints: Entra ID, Okta, Keycloak
    /// and others. ID tokens identify the users, so the scope `openid` is requested.
    #[must_use]
    pub fn new(
        issuer: impl Into<String>,
        client_id: impl Into<String>,
        client_secret: impl Into<Secret>,
    ) -> Self {
        Self {
            issuer: issuer.into(),
            client_id: client_id.into(),
            client_secret: client_secret.into(),
            secret_in_body: false,
            endpoints: None,
            user: UserSource::IdToken,
            scopes: vec!["openid".to_owned()],
            parameters: Vec::new(),
        }
    }

    /// Creates a client for an OAuth app of GitHub. The numeric id identifies users, because it does not change with
    /// the user name. Handlers find the user name in the claim `login`.
    #[must_use]
    pub fn github(client_id: impl Into<String>, client_secret: impl Into<Secret>) -> Self {
        let mut github = Self::new("https://github.com/login/oauth", client_id, client_secret)
            .with_endpoints(
                "https://github.com/login/oauth/authorize",
                "https://github.com/login/oauth/access_token",
            )
            .with_user_info("https://api.github.com/user", "id")
            .with_secret_in_body();
        // Without scopes, a token reads the public data of its user, which is sufficient to identify the user.
        github.scopes.clear();
        github
    }

    /// Creates a client for an OAuth client of Google, with access while the user is offline.
    #[must_use]
    pub fn google(client_id: impl Into<String>, client_secret: impl Into<Secret>) -> Self {
        // Google issues a refresh token only if it asks the user for consent.
        Self::new("https://accounts.google.com", client_id, client_secret)
            .with_scopes(["email"])
            .with_parameter("access_type", "offline")
            .with_parameter("prompt", "consent")
    }

    /// Sets the authorization endpoint and the token endpoint of a provider without metadata.
    #[must_use]
    pub fn with_endpoints(
        mut self,
        authorization: impl Into<String>,
        token: impl Into<String>,
    ) -> Self {
        self.endpoints = Some((authorization.into(), token.into()));
        self
    }

    /// Identifies users by a document instead of an ID token. The document is fetched from `url` with the user's access
    /// token. Its member `subject` identifies the user, and must never be reassigned to another user.
    #[must_use]
    pub fn with_user_info(mut self, url: impl Into<String>, subject: impl Into<String>) -> Self {
        self.user = UserSource::Endpoint {
            url: url.into(),
            subject: subject.into(),
        };
        self
    }

    /// Requests additional scopes from the provider, which handlers need to act for the user there.
    #[must_use]
    pub fn with_scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes.extend(scopes.into_iter().map(Into::into));
        self
    }

    /// Adds a parameter to the authorization request.
    #[must_use]
    pub fn with_parameter(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.parameters.push((name.into(), value.into()));
        self
    }

    /// Sends the client secret in the body, for providers that do not read the `Authorization` header.
    #[must_use]
    pub fn with_secret_in_body(mut self) -> Self {
        self.secret_in_body = true;
        self
    }
}

impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upstream")
            .field("issuer", &self.issuer)
            .field("client_id", &self.client_id)
            .field("user", &self.user)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}

/// A user of an identity provider.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UpstreamUser {
    /// The identifier that is unique among the provider's users.
    pub subject: String,
    /// Further claims of the provider about the user.
    pub claims: Map<String, Value>,
}

impl UpstreamUser {
    /// Returns the user that a document describes, or `None` if it has no identifier.
    pub(super) fn read(mut claims: Map<String, Value>, subject: &str) -> Option<Self> {
        let subject = match claims.remove(subject)? {
            Value::String(text) if !text.trim().is_empty() => text,
            Value::Number(number) => number.to_string(),
            _ => return None,
        };
        (subject.len() <= LONGEST_CLAIM).then_some(Self { subject, claims })
    }

    /// Returns the user with only the claims that are retained.
    pub(super) fn with_retained_claims(mut self) -> Self {
        self.claims.retain(|name, value| {
            let is_short = match value {
                Value::String(text) => text.len() <= LONGEST_CLAIM,
                Value::Bool(_) | Value::Number(_) => true,
                _ => false,
            };
            is_short && RETAINED_CLAIMS.contains(&name.as_str())
        });
        self
    }
}

impl fmt::Debug for UpstreamUser {
    /// Claims are personal data, so only their names are printed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UpstreamUser")
            .field("subject", &self.subject)
            .field("claims", &self.claims.keys().collect::<Vec<_>>())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn user(document: Value, subject: &str) -> Option<UpstreamUser> {
        let Value::Object(members) = document else {
            panic!("an object");
        };
        UpstreamUser::read(members, subject)
    }

    #[test]
    fn user_is_identified_by_a_string_or_a_number() {
        let check = |document: Value, expected: Option<&str>| {
            let user = user(document, "id");
            assert_eq!(user.as_ref().map(|user| user.subject.as_str()), expected);
        };
        check(json!({"id": 583_231}), Some("583231"));
        check(json!({"id": "ann"}), Some("ann"));
        check(
            json!({"id": "a".repeat(LONGEST_CLAIM)}),
            Some(&"a".repeat(LONGEST_CLAIM)),
        );
        check(json!({"id": "a".repeat(LONGEST_CLAIM + 1)}), None);
        check(json!({"id": ""}), None);
        check(json!({"id": " \t\u{2003}"}), None);
        check(json!({"id": null}), None);
        check(json!({"id": ["ann"]}), None);
        check(json!({"login": "ann"}), None);
    }

    #[test]
    fn only_listed_short_claims_are_retained() {
        let document = json!({
            "id": 1, "login": "ann", "email": "a".repeat(LONGEST_CLAIM + 1), "email_verified": true,
            "name": ["ann"], "hd": "a".repeat(LONGEST_CLAIM), "bio": "long",
        });
        let user = user(document, "id").unwrap().with_retained_claims();
        let names: Vec<&String> = user.claims.keys().collect();
        assert_eq!(names, ["login", "email_verified", "hd"]);
    }

    #[test]
    fn debug_output_contains_no_secret_and_no_claim() {
        let printed = format!("{:?}", Upstream::github("id", "hidden"));
        assert!(!printed.contains("hidden"), "{printed}");
        let ann = user(json!({"id": 1, "email": "hidden"}), "id").unwrap();
        assert!(!format!("{ann:?}").contains("hidden"));
    }
}
