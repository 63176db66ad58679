//! Who is calling, as far as the transport verified it.

use std::fmt;
use std::sync::LazyLock;

use serde_json::{Map, Value};

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
}

impl fmt::Debug for TokenInfo {
    /// Claims may hold personal data, so only their names print.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenInfo")
            .field("valid", &self.valid)
            .field("subject", &self.subject)
            .field("client_id", &self.client_id)
            .field("scopes", &self.scopes)
            .field("claims", &self.claims.keys().collect::<Vec<_>>())
            .finish()
    }
}
