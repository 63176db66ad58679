//! Who is calling, as far as the transport verified it.

use std::fmt;
use std::sync::{Arc, LazyLock};
use std::time::SystemTime;

use serde_json::{Map, Value};
use toolwire_proto::scopes::ScopeSet;
use toolwire_types::ErrorObject;
use toolwire_types::json;

/// What a verified access token says.
///
/// On transports without authorization (stdio, in process) and where no token was required, `valid` is false and
/// everything else is empty. The token itself is not kept.
#[derive(Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct TokenInfo {
    /// Whether a token was presented and verified.
    pub valid: bool,
    /// The user or service the token speaks for.
    pub subject: Option<String>,
    /// The client the token was issued to.
    pub client_id: Option<String>,
    /// The scopes it grants.
    pub scopes: Vec<String>,
    /// When it stops being good, with whatever leeway whoever verified it gives to clocks. Streams that were opened with it
    /// end then; those of a token without an end do not.
    pub expires_at: Option<SystemTime>,
    /// All claims of the token.
    pub claims: Map<String, Value>,
}

impl TokenInfo {
    /// The answer where no token was verified.
    #[must_use]
    pub fn none() -> &'static Self {
        static NONE: LazyLock<TokenInfo> = LazyLock::new(TokenInfo::default);
        &NONE
    }

    /// Whether the token grants a scope.
    #[must_use]
    pub fn has_scope(&self, scope: &str) -> bool {
        self.valid && self.scopes.iter().any(|granted| granted == scope)
    }

    /// Those of the scopes that the token does not grant.
    #[must_use]
    pub fn missing_scopes(&self, needed: &ScopeSet) -> ScopeSet {
        needed.filtered(|scope| !self.has_scope(scope))
    }

    /// Whether the token grants all of these. Most of what is asked for needs none.
    #[inline]
    pub(crate) fn grants(&self, needed: &ScopeSet) -> bool {
        needed.is_empty() || needed.iter().all(|scope| self.has_scope(scope))
    }

    /// Refuses a caller whose token does not grant all of these.
    #[inline]
    pub(crate) fn check_scopes(&self, needed: &ScopeSet) -> Result<(), ErrorObject> {
        if self.grants(needed) {
            Ok(())
        } else {
            Err(self.lack(needed))
        }
    }

    #[cold]
    fn lack(&self, needed: &ScopeSet) -> ErrorObject {
        let missing = self.missing_scopes(needed);
        ErrorObject::invalid_request(format!("the access token does not grant {missing}"))
    }
}

/// Whom sessions, streams and states belong to: the issuer and the subject of a verified token, or nobody.
///
/// Two principals are equal when they are the same user of the same issuer. Its text form is for stores; it holds no
/// secret, but it may name a person.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Principal(Option<Arc<str>>);

impl Principal {
    /// The principal of requests without a verified token: everybody who has the handle.
    #[must_use]
    pub fn anonymous() -> Self {
        Self(None)
    }

    /// The principal a token speaks for.
    #[must_use]
    pub fn of(token: &TokenInfo) -> Self {
        if !token.valid {
            return Self::anonymous();
        }
        let issuer = token.claims.get("iss").and_then(Value::as_str);
        let (kind, name) = match (&token.subject, &token.client_id) {
            (Some(subject), _) => ("subject", subject.as_str()),
            (None, Some(client)) => ("client", client.as_str()),
            (None, None) => ("nobody", ""),
        };
        // As JSON, so that no issuer and subject can be read as another pair.
        let text = json::to_string(&(issuer, kind, name)).expect("text and null are JSON");
        Self(Some(text.into()))
    }

    /// A text that is different for different principals; `None` for the anonymous one.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

impl fmt::Debug for TokenInfo {
    /// Claims may hold personal data, so only their names print.
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
        let mut token = TokenInfo {
            valid: true,
            subject: subject.map(str::to_owned),
            client_id: client.map(str::to_owned),
            ..TokenInfo::default()
        };
        token.claims.insert("iss".to_owned(), issuer.into());
        Principal::of(&token)
    }

    #[test]
    fn a_principal_is_an_issuer_and_a_subject() {
        let ann = principal("https://a", Some("ann"), Some("app"));
        assert_eq!(ann, principal("https://a", Some("ann"), Some("other app")));
        assert_ne!(ann, principal("https://b", Some("ann"), Some("app")));
        assert_ne!(ann, principal("https://a", None, Some("ann")));
        assert_ne!(ann, principal("https://a", Some("bob"), None));
        assert_ne!(ann, Principal::anonymous());
        assert_eq!(Principal::of(TokenInfo::none()), Principal::anonymous());
    }
}
