//! Checks the responses of a token endpoint.

use std::fmt;

use toolwire_proto::http::truncated_for_display;
use toolwire_proto::scopes::{InvalidScope, ScopeSet};

use crate::documents::{OAuthError, Secret, TokenResponse};
use crate::rules::challenge::TokenScheme;
use crate::rules::credentials::is_token;
use crate::rules::token_request::{ACCESS_TOKEN, ID_JAG};

/// The token type of a JSON Web Token (RFC 8693, section 3).
const JWT: &str = "urn:ietf:params:oauth:token-type:jwt";

/// The non-secret properties of an issued token.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) struct GrantedToken {
    /// The scheme in which the token is presented.
    pub scheme: TokenScheme,
    /// The granted scopes, or `None` if neither client nor server named scopes.
    pub scopes: Option<ScopeSet>,
    /// The expiry in seconds since the Unix epoch, or `None` if the server does not state it.
    pub expires_at: Option<u64>,
    /// The time of the next renewal. It is shortly before the expiry, so that no request is sent with an expired token.
    pub renew_at: Option<u64>,
}

/// How many seconds before its expiry a token is renewed. It is less for short-lived tokens, which would otherwise be
/// renewed on every use.
pub(crate) const RENEWED_BEFORE_EXPIRY: u64 = 30;

impl GrantedToken {
    /// Checks a response to a request for scopes, received at a time in seconds since the Unix epoch.
    ///
    /// # Errors
    /// Returns an error if the token is not a valid header value or its type is not supported.
    pub(crate) fn read(
        response: &TokenResponse,
        requested: Option<&ScopeSet>,
        now: u64,
    ) -> Result<Self, TokenResponseError> {
        if !is_token(response.access_token.expose()) {
            return Err(TokenResponseError::Malformed);
        }
        let scheme =
            TokenScheme::from_name(&response.token_type).ok_or(TokenResponseError::Type)?;
        // RFC 6749, section 5.1: without `scope`, the server granted the requested scopes.
        let scopes = match response.scope.as_deref() {
            Some(scope) => Some(ScopeSet::parse(scope).map_err(TokenResponseError::Scope)?),
            None => requested.cloned(),
        };
        let after = |seconds: u64| now.saturating_add(seconds);
        let renewal = |seconds: u64| seconds - RENEWED_BEFORE_EXPIRY.min(seconds / 4);
        Ok(Self {
            scheme,
            scopes,
            expires_at: response.expires_in.map(after),
            renew_at: response.expires_in.map(renewal).map(after),
        })
    }
}

/// Returns the assertion of an identity provider's response (RFC 8693, section 2.2.1).
///
/// # Errors
/// Returns an error if it is another type of token, which must not be sent to an authorization server.
pub(crate) fn read_assertion(response: &TokenResponse) -> Result<Secret, TokenResponseError> {
    match response.issued_token_type.as_deref() {
        Some(ID_JAG) => Ok(response.access_token.clone()),
        _ => Err(TokenResponseError::NoAssertion),
    }
}

/// Checks that an exchanged token is an access token (RFC 8693, section 2.2.1). A JSON Web Token is one as well.
///
/// # Errors
/// Returns an error if it is another type of token, which must not be sent to an MCP server.
pub(crate) fn check_exchanged(response: &TokenResponse) -> Result<(), TokenResponseError> {
    match response.issued_token_type.as_deref() {
        Some(ACCESS_TOKEN | JWT) => Ok(()),
        _ => Err(TokenResponseError::NoAccessToken),
    }
}

/// The reason why an issued token is unusable.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) enum TokenResponseError {
    /// It is too long or not a valid header value.
    Malformed,
    /// Its type is not supported by this SDK.
    Type,
    /// Its scopes are malformed.
    Scope(InvalidScope),
    /// It is not the requested assertion.
    NoAssertion,
    /// It is not the requested access token.
    NoAccessToken,
}

impl fmt::Display for TokenResponseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "the issued token is not a valid header value",
            Self::Type => "the type of the issued token is neither Bearer nor DPoP",
            Self::Scope(_) => "the issued token has malformed scopes",
            Self::NoAssertion => {
                "the identity provider issued a token that is not the requested assertion"
            }
            Self::NoAccessToken => {
                "the authorization server exchanged the token for one that is not an access token"
            }
        })
    }
}

impl std::error::Error for TokenResponseError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Scope(invalid) => Some(invalid),
            _ => None,
        }
    }
}

/// Returns the text of an OAuth error for an error message. It is untrusted, so it is shortened and escaped.
#[must_use]
pub(crate) fn describe(error: &OAuthError) -> String {
    let quoted = |text: &str| truncated_for_display(text).escape_debug().to_string();
    match &error.error_description {
        Some(description) => format!("{} ({})", quoted(&error.error), quoted(description)),
        None => quoted(&error.error),
    }
}

/// The consequence of an error response of a token endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) enum Consequence {
    /// The code or refresh token is no longer valid. Remove it, and authorize again.
    AuthorizeAgain,
    /// The server does not know the client. Remove its registration.
    RegisterAgain,
    /// Repeat the request with the nonce of the response.
    RepeatWithNonce,
    /// The server is temporarily unavailable. Retain everything, and try again later.
    TryLater,
    /// Repeating the request would not help.
    Fail,
}

/// Returns the consequence of the status and body of an error response (RFC 6749, section 5.2; RFC 9449, section 8).
///
/// A credential is removed only after an explicit OAuth error. A body that is not an OAuth error never removes one.
#[must_use]
pub(crate) fn consequence(status: u16, error: Option<&OAuthError>) -> Consequence {
    match (status, error.map(|error| error.error.as_str())) {
        (500.., _) | (408 | 425 | 429, _) => Consequence::TryLater,
        (_, Some("temporarily_unavailable" | "server_error" | "slow_down")) => {
            Consequence::TryLater
        }
        (_, Some("invalid_grant")) => Consequence::AuthorizeAgain,
        (_, Some("invalid_client")) => Consequence::RegisterAgain,
        (_, Some("use_dpop_nonce")) => Consequence::RepeatWithNonce,
        _ => Consequence::Fail,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_is_renewed_shortly_before_its_expiry() {
        for (lives, renewed_after) in [
            (3600, 3570),
            (120, 90),
            (119, 90),
            (100, 75),
            (3, 3),
            (0, 0),
        ] {
            let response = TokenResponse::new("t", "Bearer").with_expires_in(lives);
            let granted = GrantedToken::read(&response, None, 1_000).unwrap();
            let renew_at = granted.renew_at.map(|at| at - 1_000);
            assert_eq!(renew_at, Some(renewed_after), "{lives}");
        }
        let without_expiry =
            GrantedToken::read(&TokenResponse::new("t", "Bearer"), None, 1_000).unwrap();
        assert_eq!(
            (without_expiry.expires_at, without_expiry.renew_at),
            (None, None)
        );
    }

    #[test]
    fn error_text_is_escaped() {
        let error = OAuthError::new("invalid_grant").with_description("no\n\u{1b}[31mway");
        assert_eq!(describe(&error), r"invalid_grant (no\n\u{1b}[31mway)");
        assert_eq!(
            describe(&OAuthError::new("a".repeat(101))).chars().count(),
            101
        );
    }

    #[test]
    fn other_token_types_are_not_assertions() {
        let mut response = TokenResponse::new("jag", "N_A");
        assert!(check_exchanged(&response).is_err());
        assert_eq!(
            read_assertion(&response),
            Err(TokenResponseError::NoAssertion)
        );
        response.issued_token_type =
            Some("urn:ietf:params:oauth:token-type:access_token".to_owned());
        assert_eq!(
            read_assertion(&response),
            Err(TokenResponseError::NoAssertion)
        );
        assert_eq!(check_exchanged(&response), Ok(()));
        response.issued_token_type = Some(ID_JAG.to_owned());
        assert!(check_exchanged(&response).is_err());
        assert_eq!(read_assertion(&response), Ok(Secret::new("jag")));
    }

    #[test]
    fn absent_scope_means_the_requested_scopes() {
        let requested = ScopeSet::parse("a b").unwrap();
        let read = |response: TokenResponse| GrantedToken::read(&response, Some(&requested), 1_000);

        let plain = read(TokenResponse::new("t", "bearer")).unwrap();
        assert_eq!(plain.scheme, TokenScheme::Bearer);
        assert_eq!(plain.scopes, Some(requested.clone()));
        assert_eq!(plain.expires_at, None);

        let response = TokenResponse::new("t", "DPoP")
            .with_scope("a")
            .with_expires_in(60);
        let less = read(response).unwrap();
        assert_eq!(less.scheme, TokenScheme::Dpop);
        assert_eq!(less.scopes, Some(ScopeSet::parse("a").unwrap()));
        assert_eq!(less.expires_at, Some(1_060));

        let longest = read(TokenResponse::new("t", "Bearer").with_expires_in(u64::MAX)).unwrap();
        assert_eq!(longest.expires_at, Some(u64::MAX));
        let without_scope =
            GrantedToken::read(&TokenResponse::new("t", "Bearer"), None, 0).unwrap();
        assert_eq!(without_scope.scopes, None);
    }

    #[test]
    fn unusable_tokens_are_rejected() {
        let error = |response: TokenResponse| GrantedToken::read(&response, None, 0).unwrap_err();
        for token in ["", "a b", "a\r\nHost: evil", "ü"] {
            let error = error(TokenResponse::new(token, "Bearer"));
            assert_eq!(error, TokenResponseError::Malformed, "{token:?}");
        }
        assert_eq!(
            error(TokenResponse::new("t", "N_A")),
            TokenResponseError::Type
        );
        assert_eq!(
            error(TokenResponse::new("t", "mac")),
            TokenResponseError::Type
        );
        let scope = error(TokenResponse::new("t", "Bearer").with_scope("\""));
        assert!(matches!(scope, TokenResponseError::Scope(_)));
    }

    #[test]
    fn only_explicit_errors_remove_credentials() {
        #[track_caller]
        fn check(status: u16, error: Option<&str>, expected: Consequence) {
            let error = error.map(OAuthError::new);
            assert_eq!(
                consequence(status, error.as_ref()),
                expected,
                "{status} {error:?}"
            );
        }
        check(400, Some("invalid_grant"), Consequence::AuthorizeAgain);
        check(401, Some("invalid_client"), Consequence::RegisterAgain);
        check(400, Some("use_dpop_nonce"), Consequence::RepeatWithNonce);
        check(400, Some("temporarily_unavailable"), Consequence::TryLater);
        check(429, None, Consequence::TryLater);
        check(503, None, Consequence::TryLater);
        check(500, Some("invalid_grant"), Consequence::TryLater);
        check(400, Some("invalid_scope"), Consequence::Fail);
        check(400, Some("invalid_target"), Consequence::Fail);
        check(401, None, Consequence::Fail);
        check(404, None, Consequence::Fail);
        check(400, Some("made_up"), Consequence::Fail);
    }
}
