//! The caller's access token and principal, as verified by the transport.

use std::fmt;
use std::sync::{Arc, LazyLock};
use std::time::SystemTime;

use serde_json::{Map, Value};
use toolwire_proto::scopes::ScopeSet;
use toolwire_types::ErrorObject;
use toolwire_types::json;

/// The content of a verified access token.
///
/// On transports without authorization (stdio, in process), and if no token was required, `valid` is `false` and all
/// other fields are empty. The token itself is not stored.
#[derive(Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct TokenInfo {
    /// Whether a token was presented and verified.
    pub valid: bool,
    /// The user or service that the token represents.
    pub subject: Option<String>,
    /// The client that the token was issued to.
    pub client_id: Option<String>,
    /// The scopes that the token grants.
    pub scopes: Vec<String>,
    /// When the token expires, including the verifier's leeway for clock skew. Streams opened with the token end at
    /// this time. `None` if the token does not expire.
    pub expires_at: Option<SystemTime>,
    /// All claims of the token.
    pub claims: Map<String, Value>,
}

impl TokenInfo {
    /// Returns the value for requests without a verified token.
    #[must_use]
    pub fn none() -> &'static Self {
        static NONE: LazyLock<TokenInfo> = LazyLock::new(TokenInfo::default);
        &NONE
    }

    /// Creates the content of a verified token, for the result of an authorizer and for tests. The `with_*` methods set
    /// what the token says.
    ///
    /// ```
    /// use std::time::{Duration, SystemTime};
    /// use toolwire::{Principal, TokenInfo};
    ///
    /// let token = TokenInfo::verified()
    ///     .with_issuer("https://login.example.com")
    ///     .with_subject("ann")
    ///     .with_client_id("notes-app")
    ///     .with_scopes(["notes:read", "notes:write"])
    ///     .with_expires_at(SystemTime::now() + Duration::from_secs(600))
    ///     .with_claim("team", "blue");
    /// assert!(token.valid && token.has_scope("notes:read"));
    /// assert_ne!(Principal::of(&token), Principal::anonymous());
    /// ```
    #[must_use]
    pub fn verified() -> Self {
        Self {
            valid: true,
            ..Self::default()
        }
    }

    /// Sets the issuer, which is the claim `iss`. Sessions, streams and states belong to the issuer and the subject.
    #[must_use]
    pub fn with_issuer(self, issuer: impl Into<String>) -> Self {
        let issuer: String = issuer.into();
        self.with_claim("iss", issuer)
    }

    /// Sets the user or service that the token represents.
    #[must_use]
    pub fn with_subject(mut self, subject: impl Into<String>) -> Self {
        self.subject = Some(subject.into());
        self
    }

    /// Sets the client that the token was issued to.
    #[must_use]
    pub fn with_client_id(mut self, client_id: impl Into<String>) -> Self {
        self.client_id = Some(client_id.into());
        self
    }

    /// Adds scopes that the token grants.
    #[must_use]
    pub fn with_scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes.extend(scopes.into_iter().map(Into::into));
        self
    }

    /// Sets when the token expires. Default: never.
    #[must_use]
    pub fn with_expires_at(mut self, time: SystemTime) -> Self {
        self.expires_at = Some(time);
        self
    }

    /// Sets a claim.
    #[must_use]
    pub fn with_claim(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.claims.insert(name.into(), value.into());
        self
    }

    /// Returns `true` if the token grants a scope.
    #[must_use]
    pub fn has_scope(&self, scope: &str) -> bool {
        self.valid && self.scopes.iter().any(|granted| granted == scope)
    }

    /// Returns the scopes in `needed` that the token does not grant.
    #[must_use]
    pub fn missing_scopes(&self, needed: &ScopeSet) -> ScopeSet {
        needed.filtered(|scope| !self.has_scope(scope))
    }

    /// Returns `true` if the token grants all scopes in `needed`. Most requests need no scopes.
    #[inline]
    pub(crate) fn grants(&self, needed: &ScopeSet) -> bool {
        needed.is_empty() || needed.iter().all(|scope| self.has_scope(scope))
    }

    /// Rejects a caller whose token does not grant all scopes in `needed`.
    #[inline]
    pub(crate) fn check_scopes(&self, needed: &ScopeSet) -> Result<(), ErrorObject> {
        if self.grants(needed) {
            Ok(())
        } else {
            Err(self.missing_scopes_error(needed))
        }
    }

    #[cold]
    fn missing_scopes_error(&self, needed: &ScopeSet) -> ErrorObject {
        let missing = self.missing_scopes(needed);
        ErrorObject::invalid_request(format!("the access token does not grant {missing}"))
    }
}

/// The owner of sessions, streams and states: the issuer and subject of a verified token, or anonymous.
///
/// Two principals are equal if they are the same user of the same issuer. The text form is for stores. It contains no
/// secret, but may identify a person.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Principal(Option<Arc<str>>);

impl Principal {
    /// Returns the principal of requests without a verified token. Anonymous callers share it.
    #[must_use]
    pub fn anonymous() -> Self {
        Self(None)
    }

    /// Returns the principal that a token represents.
    #[must_use]
    pub fn of(token: &TokenInfo) -> Self {
        if !token.valid {
            return Self::anonymous();
        }
        let issuer = token.claims.get("iss").and_then(Value::as_str);
        let (kind, name) = match (&token.subject, &token.client_id) {
            (Some(subject), _) => ("subject", subject.as_str()),
            (None, Some(client)) => ("client", client.as_str()),
            (None, None) => ("nobody", ""), // tidy: allow(nobody) part of stored principals
        };
        // JSON is unambiguous: different pairs of issuer and subject have different texts.
        let text = json::to_string(&(issuer, kind, name)).expect("text and null are JSON");
        Self(Some(text.into()))
    }

    /// Returns the principal with the text that [`as_str`](Self::as_str) returned, for stores.
    #[must_use]
    pub fn from_stored(text: Option<&str>) -> Self {
        Self(text.map(Arc::from))
    }

    /// Returns a text that is unique per principal, or `None` for the anonymous principal.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

impl fmt::Debug for TokenInfo {
    /// Prints only the names of the claims, because their values may contain personal data.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenInfo")
            .field("valid", &self.valid)
            .field("subject", &self.subject)
            .field("client_id", &self.client_id)
            .field("scopes", &self.scopes)
            .field("expires_at", &self.expires_at)
            .field("claims", &self.claims.keys().collect::<Vec<_>>())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn principal(issuer: &str, subject: Option<&str>, client: Option<&str>) -> Principal {
        let mut token = TokenInfo::verified().with_issuer(issuer);
        token.subject = subject.map(str::to_owned);
        token.client_id = client.map(str::to_owned);
        Principal::of(&token)
    }

    #[test]
    fn verified_token_has_what_was_set() {
        let expires_at = SystemTime::UNIX_EPOCH;
        let token = TokenInfo::verified()
            .with_subject("ann")
            .with_client_id("app")
            .with_scopes(["read", "write"])
            .with_scopes([String::from("admin")])
            .with_expires_at(expires_at)
            .with_claim("age", 42)
            .with_issuer("https://a");
        assert!(token.valid);
        assert_eq!(token.subject.as_deref(), Some("ann"));
        assert_eq!(token.client_id.as_deref(), Some("app"));
        assert_eq!(token.scopes, ["read", "write", "admin"]);
        assert_eq!(token.expires_at, Some(expires_at));
        assert_eq!(token.claims["age"], 42);
        assert_eq!(
            Principal::of(&token),
            principal("https://a", Some("ann"), None)
        );
        let plain = TokenInfo::verified();
        assert!(plain.valid && plain.scopes.is_empty() && plain.claims.is_empty());
        assert_eq!(plain.expires_at, None);
    }

    #[test]
    fn principal_consists_of_issuer_and_subject() {
        let ann = principal("https://a", Some("ann"), Some("app"));
        assert_eq!(ann, principal("https://a", Some("ann"), Some("other app")));
        assert_ne!(ann, principal("https://b", Some("ann"), Some("app")));
        assert_ne!(ann, principal("https://a", None, Some("ann")));
        assert_ne!(ann, principal("https://a", Some("bob"), None));
        assert_ne!(ann, Principal::anonymous());
        assert_eq!(Principal::of(TokenInfo::none()), Principal::anonymous());
    }
}
