//! What a token endpoint's answer means.

use std::fmt;

use toolwire_types::auth::{OAuthError, Secret, TokenResponse};

use crate::auth::challenge::TokenScheme;
use crate::auth::credentials::is_token;
use crate::auth::token_request::ID_JAG;
use crate::http::shown;
use crate::scopes::{InvalidScope, ScopeSet};

/// A token that was given out, as far as it needs no secrecy.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GrantedToken {
    /// How it is presented.
    pub scheme: TokenScheme,
    /// What it grants; nothing is known when neither side named scopes.
    pub scopes: Option<ScopeSet>,
    /// When it ends, in seconds since the Unix epoch; unknown when the server does not say.
    pub expires_at: Option<u64>,
    /// When a new one is asked for: a little before the end, so that no request comes too late with it.
    pub renew_at: Option<u64>,
}

/// How many seconds before its end a token is renewed; less for one that lives so short that it would always be renewed.
pub const RENEWED_BEFORE_END: u64 = 30;

impl GrantedToken {
    /// Judges an answer to a request for scopes, received at a time in seconds since the Unix epoch.
    ///
    /// # Errors
    /// When the token cannot be put into a header, or it is of a type that cannot be presented.
    pub fn read(
        response: &TokenResponse,
        requested: Option<&ScopeSet>,
        now: u64,
    ) -> Result<Self, TokenUnusable> {
        if !is_token(response.access_token.expose()) {
            return Err(TokenUnusable::Malformed);
        }
        let scheme = TokenScheme::from_name(&response.token_type).ok_or(TokenUnusable::Type)?;
        // RFC 6749, section 5.1: a server that says nothing granted what was asked for.
        let scopes = match response.scope.as_deref() {
            Some(scope) => Some(ScopeSet::parse(scope).map_err(TokenUnusable::Scope)?),
            None => requested.cloned(),
        };
        let after = |seconds: u64| now.saturating_add(seconds);
        let early = |seconds: u64| seconds - RENEWED_BEFORE_END.min(seconds / 4);
        Ok(Self {
            scheme,
            scopes,
            expires_at: response.expires_in.map(after),
            renew_at: response.expires_in.map(early).map(after),
        })
    }
}

/// Takes the assertion out of an identity provider's answer (RFC 8693, section 2.2.1).
///
/// # Errors
/// When it is something else: another kind of token must not be shown to an authorization server.
pub fn read_assertion(response: &TokenResponse) -> Result<Secret, TokenUnusable> {
    match response.issued_token_type.as_deref() {
        Some(ID_JAG) => Ok(response.access_token.clone()),
        _ => Err(TokenUnusable::NoAssertion),
    }
}

/// Why a token that was given out is of no use.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TokenUnusable {
    /// It has characters that no header may carry, or is too long.
    Malformed,
    /// It is of a type that this SDK cannot present.
    Type,
    /// Its scopes cannot be read.
    Scope(InvalidScope),
    /// It is not the assertion that was asked for.
    NoAssertion,
}

impl fmt::Display for TokenUnusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "the token that was given out fits into no header",
            Self::Type => "the token that was given out is neither of the type Bearer nor DPoP",
            Self::Scope(_) => "the token that was given out has scopes that cannot be read",
            Self::NoAssertion => {
                "the identity provider gave out something else than the assertion it was asked for"
            }
        })
    }
}

impl std::error::Error for TokenUnusable {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Scope(invalid) => Some(invalid),
            _ => None,
        }
    }
}

/// The words of a refusal, to be put into an error. They are the server's, so they are shortened and escaped.
#[must_use]
pub fn described(refusal: &OAuthError) -> String {
    let quoted = |text: &str| shown(text).escape_debug().to_string();
    match &refusal.error_description {
        Some(description) => format!("{} ({})", quoted(&refusal.error), quoted(description)),
        None => quoted(&refusal.error),
    }
}

/// What a client does about a refusal of a token endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Consequence {
    /// The code or refresh token is used up: forget it, and authorize anew.
    AuthorizeAnew,
    /// The client is not known there, or no longer: forget its registration.
    RegisterAnew,
    /// Ask again with the nonce that came along.
    RepeatWithNonce,
    /// The server is in trouble: forget nothing, and ask again later.
    TryLater,
    /// Asking again would not help.
    Fail,
}

/// What follows from the status and the body of a refusal (RFC 6749, section 5.2; RFC 9449, section 8).
///
/// Only a clear word of the server costs a credential. A body that is no OAuth error never does.
#[must_use]
pub fn consequence(status: u16, error: Option<&OAuthError>) -> Consequence {
    match (status, error.map(|error| error.error.as_str())) {
        (500.., _) | (408 | 425 | 429, _) => Consequence::TryLater,
        (_, Some("temporarily_unavailable" | "server_error" | "slow_down")) => {
            Consequence::TryLater
        }
        (_, Some("invalid_grant")) => Consequence::AuthorizeAnew,
        (_, Some("invalid_client")) => Consequence::RegisterAnew,
        (_, Some("use_dpop_nonce")) => Consequence::RepeatWithNonce,
        _ => Consequence::Fail,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_renewed_a_little_before_its_end() {
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
        let endless = GrantedToken::read(&TokenResponse::new("t", "Bearer"), None, 1_000).unwrap();
        assert_eq!((endless.expires_at, endless.renew_at), (None, None));
    }

    #[test]
    fn a_refusal_is_repeated_without_its_tricks() {
        let refusal = OAuthError::new("invalid_grant").with_description("no\n\u{1b}[31mway");
        assert_eq!(described(&refusal), r"invalid_grant (no\n\u{1b}[31mway)");
        assert_eq!(
            described(&OAuthError::new("a".repeat(101))).chars().count(),
            101
        );
    }

    #[test]
    fn nothing_but_an_assertion_is_taken_for_one() {
        let mut response = TokenResponse::new("jag", "N_A");
        assert_eq!(read_assertion(&response), Err(TokenUnusable::NoAssertion));
        response.issued_token_type =
            Some("urn:ietf:params:oauth:token-type:access_token".to_owned());
        assert_eq!(read_assertion(&response), Err(TokenUnusable::NoAssertion));
        response.issued_token_type = Some(ID_JAG.to_owned());
        assert_eq!(read_assertion(&response), Ok(Secret::new("jag")));
    }

    #[test]
    fn answers_are_read_with_what_was_asked() {
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

        let endless = read(TokenResponse::new("t", "Bearer").with_expires_in(u64::MAX)).unwrap();
        assert_eq!(endless.expires_at, Some(u64::MAX));
        let silent = GrantedToken::read(&TokenResponse::new("t", "Bearer"), None, 0).unwrap();
        assert_eq!(silent.scopes, None);
    }

    #[test]
    fn tokens_that_cannot_be_presented_are_refused() {
        let refused = |response: TokenResponse| GrantedToken::read(&response, None, 0).unwrap_err();
        for token in ["", "a b", "a\r\nHost: evil", "ü"] {
            let error = refused(TokenResponse::new(token, "Bearer"));
            assert_eq!(error, TokenUnusable::Malformed, "{token:?}");
        }
        assert_eq!(refused(TokenResponse::new("t", "N_A")), TokenUnusable::Type);
        assert_eq!(refused(TokenResponse::new("t", "mac")), TokenUnusable::Type);
        let scope = refused(TokenResponse::new("t", "Bearer").with_scope("\""));
        assert!(matches!(scope, TokenUnusable::Scope(_)));
    }

    #[test]
    fn only_a_clear_word_costs_a_credential() {
        #[track_caller]
        fn check(status: u16, error: Option<&str>, expected: Consequence) {
            let error = error.map(OAuthError::new);
            assert_eq!(
                consequence(status, error.as_ref()),
                expected,
                "{status} {error:?}"
            );
        }
        check(400, Some("invalid_grant"), Consequence::AuthorizeAnew);
        check(401, Some("invalid_client"), Consequence::RegisterAnew);
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
