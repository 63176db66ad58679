//! The identity provider, as the author of a server describes it, and the users it knows.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use toolwire_types::auth::Secret;

/// Members of what a provider says about a user that handlers see among the claims. Everything else is forgotten.
const KEPT_CLAIMS: [&str; 7] = [
    "login",
    "name",
    "email",
    "email_verified",
    "preferred_username",
    "hd",
    "tid",
];

/// The longest text that is kept of a claim, in bytes.
const LONGEST_CLAIM: usize = 256;

/// The client that stands for a server at an identity provider.
///
/// Register it there with the redirect URI that [`OAuthProxy::callback_url`](crate::auth::proxy::OAuthProxy::callback_url) names:
/// `https://mcp.example.com/callback` for the resource `https://mcp.example.com/mcp`.
#[derive(Clone)]
pub struct Upstream {
    pub(super) issuer: String,
    pub(super) client_id: String,
    pub(super) client_secret: Secret,
    pub(super) secret_in_body: bool,
    /// Where users authorize and where tokens are given out; found by the issuer's metadata if not said.
    pub(super) endpoints: Option<(String, String)>,
    pub(super) user: UserSource,
    pub(super) scopes: Vec<String>,
    pub(super) parameters: Vec<(String, String)>,
}

/// How a user is recognised.
#[derive(Debug, Clone)]
pub(super) enum UserSource {
    /// By the ID token that comes with the access token.
    IdToken,
    /// By asking with the access token.
    Endpoint {
        url: String,
        /// The member that tells users apart.
        subject: String,
    },
}

impl Upstream {
    /// A provider of OpenID Connect, whose endpoints are found by its metadata: Entra ID, Okta, Keycloak and others.
    /// Users are recognised by their ID tokens, so the scope `openid` is asked for.
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

    /// An OAuth app of GitHub. Users are recognised by their number, which stays when they change their name; handlers
    /// find the name among the claims, as `login`.
    #[must_use]
    pub fn github(client_id: impl Into<String>, client_secret: impl Into<Secret>) -> Self {
        let mut github = Self::new("https://github.com/login/oauth", client_id, client_secret)
            .with_endpoints(
                "https://github.com/login/oauth/authorize",
                "https://github.com/login/oauth/access_token",
            )
            .with_user_info("https://api.github.com/user", "id")
            .with_secret_in_body();
        // Without a scope a token reads what is public about its user, which is enough to know them.
        github.scopes.clear();
        github
    }

    /// An OAuth client of Google, for users who may be asked again without being there.
    #[must_use]
    pub fn google(client_id: impl Into<String>, client_secret: impl Into<Secret>) -> Self {
        // Google gives a refresh token only to whom it asks for consent.
        Self::new("https://accounts.google.com", client_id, client_secret)
            .with_scopes(["email"])
            .with_parameter("access_type", "offline")
            .with_parameter("prompt", "consent")
    }

    /// Names the endpoints of a provider without metadata: where users authorize, and where tokens are given out.
    #[must_use]
    pub fn with_endpoints(
        mut self,
        authorization: impl Into<String>,
        token: impl Into<String>,
    ) -> Self {
        self.endpoints = Some((authorization.into(), token.into()));
        self
    }

    /// Recognises users by a document instead of an ID token: it is fetched from here with the user's access token, and
    /// this member of it tells users apart. It has to be one that never belongs to somebody else.
    #[must_use]
    pub fn with_user_info(mut self, url: impl Into<String>, subject: impl Into<String>) -> Self {
        self.user = UserSource::Endpoint {
            url: url.into(),
            subject: subject.into(),
        };
        self
    }

    /// Asks the provider for more scopes: what handlers need to act for the user there.
    #[must_use]
    pub fn with_scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes.extend(scopes.into_iter().map(Into::into));
        self
    }

    /// Adds a parameter to the request that users are sent with.
    #[must_use]
    pub fn with_parameter(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.parameters.push((name.into(), value.into()));
        self
    }

    /// Sends the client's secret in the body, to providers that do not read it from the header.
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
    /// What tells this user apart from all others there.
    pub subject: String,
    /// What else the provider says about the user.
    pub claims: Map<String, Value>,
}

impl UpstreamUser {
    /// The user that a document describes; nothing when it names nobody.
    pub(super) fn read(mut claims: Map<String, Value>, subject: &str) -> Option<Self> {
        let subject = match claims.remove(subject)? {
            Value::String(text) if !text.trim().is_empty() => text,
            Value::Number(number) => number.to_string(),
            _ => return None,
        };
        (subject.len() <= LONGEST_CLAIM).then_some(Self { subject, claims })
    }

    /// What is remembered of the user: a few short claims.
    pub(super) fn kept(mut self) -> Self {
        self.claims.retain(|name, value| {
            let is_short = match value {
                Value::String(text) => text.len() <= LONGEST_CLAIM,
                Value::Bool(_) | Value::Number(_) => true,
                _ => false,
            };
            is_short && KEPT_CLAIMS.contains(&name.as_str())
        });
        self
    }
}

impl fmt::Debug for UpstreamUser {
    /// Claims are personal, so only their names print.
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
    fn users_are_told_apart_by_a_text_or_a_number() {
        let check = |document: Value, expected: Option<&str>| {
            let found = user(document, "id");
            assert_eq!(found.as_ref().map(|user| user.subject.as_str()), expected);
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
    fn little_is_remembered_of_a_user() {
        let document = json!({
            "id": 1, "login": "ann", "email": "a".repeat(LONGEST_CLAIM + 1), "email_verified": true,
            "name": ["ann"], "hd": "a".repeat(LONGEST_CLAIM), "bio": "long",
        });
        let kept = user(document, "id").unwrap().kept();
        let names: Vec<&String> = kept.claims.keys().collect();
        assert_eq!(names, ["login", "email_verified", "hd"]);
    }

    #[test]
    fn secrets_and_claims_do_not_print() {
        let printed = format!("{:?}", Upstream::github("id", "hidden"));
        assert!(!printed.contains("hidden"), "{printed}");
        let ann = user(json!({"id": 1, "email": "hidden"}), "id").unwrap();
        assert!(!format!("{ann:?}").contains("hidden"));
    }
}
