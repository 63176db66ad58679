//! The `WWW-Authenticate` challenge of a resource server.
//!
//! Resource servers write it and clients parse it (RFC 6750, section 3; RFC 9449, section 7.1; RFC 9728, section 5.1;
//! spec 2026-07-28, authorization, "Error Handling"). Schemes other than `Bearer` and `DPoP` are skipped.

mod read;
#[cfg(test)]
mod tests;

use std::fmt;

use toolwire_proto::scopes::ScopeSet;

pub(crate) use self::read::parse;

/// A challenge that requires a token.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) struct Challenge {
    /// The scheme in which the token has to be presented.
    pub scheme: TokenScheme,
    /// The server's description of the protected realm.
    pub realm: Option<String>,
    /// The reason of the rejection, or `None` if the request had no token.
    pub error: Option<ChallengeError>,
    /// The server's explanation for developers. It is for display only.
    pub error_description: Option<String>,
    /// The required scopes, separated by spaces. Parse them with [`ScopeSet::parse`].
    pub scope: Option<String>,
    /// The URL of the protected resource metadata. Check it with
    /// [`check_named_by`](crate::rules::endpoints::check_named_by) before fetching it.
    pub resource_metadata: Option<String>,
    /// The accepted signature algorithms of proofs, separated by spaces (`DPoP` only).
    pub algs: Option<String>,
}

impl Challenge {
    /// Creates a challenge with a scheme.
    #[must_use]
    pub(crate) const fn new(scheme: TokenScheme) -> Self {
        Self {
            scheme,
            realm: None,
            error: None,
            error_description: None,
            scope: None,
            resource_metadata: None,
            algs: None,
        }
    }

    /// Creates a challenge for a bearer token.
    #[cfg(test)]
    pub(crate) const fn bearer() -> Self {
        Self::new(TokenScheme::Bearer)
    }

    /// Creates a challenge for a token that is bound to a key.
    #[cfg(test)]
    pub(crate) const fn dpop() -> Self {
        Self::new(TokenScheme::Dpop)
    }

    /// Sets the realm.
    #[must_use]
    pub(crate) fn with_realm(mut self, realm: impl Into<String>) -> Self {
        self.realm = Some(realm.into());
        self
    }

    /// Sets the reason of the rejection.
    #[must_use]
    pub(crate) fn with_error(mut self, error: ChallengeError) -> Self {
        self.error = Some(error);
        self
    }

    /// Sets the explanation for developers.
    #[must_use]
    pub(crate) fn with_error_description(mut self, description: impl Into<String>) -> Self {
        self.error_description = Some(description.into());
        self
    }

    /// Sets all scopes that the request needs. An empty set sets nothing.
    #[must_use]
    pub(crate) fn with_scopes(mut self, scopes: &ScopeSet) -> Self {
        self.scope = (!scopes.is_empty()).then(|| scopes.to_string());
        self
    }

    /// Sets the URL of the resource metadata.
    #[must_use]
    pub(crate) fn with_resource_metadata(mut self, url: impl Into<String>) -> Self {
        self.resource_metadata = Some(url.into());
        self
    }

    /// Sets the accepted signature algorithms of proofs, separated by spaces.
    #[must_use]
    pub(crate) fn with_algs(mut self, algs: impl Into<String>) -> Self {
        self.algs = Some(algs.into());
        self
    }

    /// Returns the HTTP status for the challenge (RFC 6750, section 3.1).
    #[must_use]
    pub(crate) fn status(&self) -> u16 {
        match self.error {
            Some(ChallengeError::InvalidRequest) => 400,
            Some(ChallengeError::InsufficientScope) => 403,
            _ => 401,
        }
    }

    fn parameters(&self) -> [(&'static str, Option<&str>); 6] {
        [
            ("realm", self.realm.as_deref()),
            ("error", self.error.as_ref().map(ChallengeError::as_str)),
            ("error_description", self.error_description.as_deref()),
            ("scope", self.scope.as_deref()),
            ("resource_metadata", self.resource_metadata.as_deref()),
            ("algs", self.algs.as_deref()),
        ]
    }
}

/// The header value. It is always one line of printable ASCII.
impl fmt::Display for Challenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.scheme.as_str())?;
        let mut separator = " ";
        for (name, value) in self.parameters() {
            if let Some(value) = value {
                write!(f, "{separator}{name}=")?;
                write_quoted(f, value)?;
                separator = ", ";
            }
        }
        Ok(())
    }
}

/// Writes a quoted string (RFC 9110, section 5.6.4). Characters that are not printable ASCII become `?`.
fn write_quoted(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    use fmt::Write as _;

    f.write_char('"')?;
    for character in text.chars() {
        match character {
            '"' | '\\' => write!(f, "\\{character}")?,
            ' '..='~' => f.write_char(character)?,
            _ => f.write_char('?')?,
        }
    }
    f.write_char('"')
}

/// The scheme in which a token is presented.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub(crate) enum TokenScheme {
    /// A bearer token: its possession is sufficient (RFC 6750).
    Bearer,
    /// A token with a proof of possession of its key (RFC 9449).
    Dpop,
}

impl TokenScheme {
    /// Returns the scheme name in headers.
    #[must_use]
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Bearer => "Bearer",
            Self::Dpop => "DPoP",
        }
    }

    /// Parses a scheme name without regard to case (RFC 9110, section 11.1).
    #[must_use]
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        [Self::Bearer, Self::Dpop]
            .into_iter()
            .find(|scheme| scheme.as_str().eq_ignore_ascii_case(name))
    }
}

/// The reason why a request was rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) enum ChallengeError {
    /// The request itself is malformed.
    InvalidRequest,
    /// The token is expired, revoked, malformed or for another audience.
    InvalidToken,
    /// The token is valid but lacks scopes.
    InsufficientScope,
    /// The proof has to carry the nonce of the `DPoP-Nonce` header.
    UseDpopNonce,
    /// The proof is missing or invalid.
    InvalidDpopProof,
    /// An error code of an extension.
    Other(String),
}

impl ChallengeError {
    /// Returns the error code on the wire.
    #[must_use]
    pub(crate) fn as_str(&self) -> &str {
        match self {
            Self::InvalidRequest => "invalid_request",
            Self::InvalidToken => "invalid_token",
            Self::InsufficientScope => "insufficient_scope",
            Self::UseDpopNonce => "use_dpop_nonce",
            Self::InvalidDpopProof => "invalid_dpop_proof",
            Self::Other(code) => code,
        }
    }

    fn from_code(code: String) -> Self {
        let known = [
            Self::InvalidRequest,
            Self::InvalidToken,
            Self::InsufficientScope,
            Self::UseDpopNonce,
            Self::InvalidDpopProof,
        ];
        known
            .into_iter()
            .find(|error| error.as_str() == code)
            .unwrap_or(Self::Other(code))
    }
}
