//! Validates the redirect from an authorization server.
//!
//! Spec 2026-07-28, authorization, "Authorization Response Validation"; RFC 9207, section 2.4. The order of the checks
//! matters: neither the code nor the error text is returned before `state` and `iss` are verified.

use std::fmt;

use crate::documents::{OAuthError, Secret};
use crate::rules::form;
use crate::rules::token_response::describe;

/// The maximum length of a query, in bytes.
pub(crate) const LONGEST_QUERY: usize = 16 * 1024;

/// The stored values of the authorization request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExpectedResponse<'a> {
    /// The `state` that was sent.
    pub state: &'a Secret,
    /// The `issuer` of the validated metadata of the authorization server.
    pub issuer: &'a str,
    /// `authorization_response_iss_parameter_supported` of that metadata.
    pub declares_iss: bool,
}

/// Parses the query of a redirect and returns the code.
///
/// # Errors
/// Returns an error if the query is malformed or has a duplicate parameter, does not belong to the request, or is an
/// error response. Retain the stored values after [`AuthorizationResponseError::is_unrelated`] errors: the real
/// response may still arrive.
pub(crate) fn read(
    query: &str,
    expected: &ExpectedResponse<'_>,
) -> Result<Secret, AuthorizationResponseError> {
    let parameters = ResponseParameters::read(query)?;

    // `state` and `iss` decide whether the response belongs to the request. All other parameters are used only if it
    // does.
    let state = parameters
        .get("state")
        .ok_or(AuthorizationResponseError::NoState)?;
    if Secret::new(state) != *expected.state {
        return Err(AuthorizationResponseError::OtherState);
    }
    match parameters.get("iss") {
        // Exact comparison: nothing is normalised before.
        Some(issuer) if issuer != expected.issuer => {
            return Err(AuthorizationResponseError::OtherIssuer);
        }
        None if expected.declares_iss => return Err(AuthorizationResponseError::NoIssuer),
        _ => {}
    }

    match (parameters.get("error"), parameters.get("code")) {
        (Some(error), None) => {
            let mut error = OAuthError::new(error);
            error.error_description = parameters.get("error_description").map(str::to_owned);
            error.error_uri = parameters.get("error_uri").map(str::to_owned);
            Err(AuthorizationResponseError::Rejected(Box::new(error)))
        }
        (None, Some(code)) if !code.is_empty() => Ok(Secret::new(code)),
        (None, _) => Err(AuthorizationResponseError::NoCode),
        (Some(_), Some(_)) => Err(AuthorizationResponseError::Malformed),
    }
}

/// Returns the `state` of a redirect, to find its request, or `None` if it has none or more than one.
#[must_use]
pub(crate) fn state_of(query: &str) -> Option<Secret> {
    let parameters = ResponseParameters::read(query).ok()?;
    parameters.get("state").map(Secret::from)
}

/// Parameters that each occur once (RFC 6749, section 3.1).
struct ResponseParameters(Vec<(String, String)>);

impl ResponseParameters {
    fn read(query: &str) -> Result<Self, AuthorizationResponseError> {
        if query.len() > LONGEST_QUERY {
            return Err(AuthorizationResponseError::Malformed);
        }
        let pairs = form::decode(query).ok_or(AuthorizationResponseError::Malformed)?;
        let mut names: Vec<&str> = pairs.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        if names
            .windows(2)
            .any(|pair| matches!(pair, [one, other] if one == other))
        {
            return Err(AuthorizationResponseError::Duplicate);
        }
        Ok(Self(pairs))
    }

    fn get(&self, name: &str) -> Option<&str> {
        let pair = self.0.iter().find(|(pair_name, _)| pair_name == name);
        pair.map(|(_, value)| value.as_str())
    }
}

/// The reason why a redirect has no usable code.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub(crate) enum AuthorizationResponseError {
    /// It is too long, cannot be decoded, or is both a success and an error.
    Malformed,
    /// It has a duplicate parameter.
    Duplicate,
    /// It has no `state`.
    NoState,
    /// Its `state` differs from the one that was sent.
    OtherState,
    /// It has no `iss`, although the authorization server declares support for it.
    NoIssuer,
    /// Its `iss` is another authorization server.
    OtherIssuer,
    /// It has no code.
    NoCode,
    /// The authorization server or the user rejected the request.
    Rejected(Box<OAuthError>),
}

impl AuthorizationResponseError {
    /// Returns `true` if this is not a response to the request.
    #[must_use]
    pub(crate) fn is_unrelated(&self) -> bool {
        !matches!(self, Self::NoCode | Self::Rejected(_))
    }
}

impl fmt::Display for AuthorizationResponseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "the query of the redirect is malformed",
            Self::Duplicate => "the redirect has a duplicate parameter",
            Self::NoState => "the redirect has no `state`",
            Self::OtherState => "the `state` of the redirect is not the one that was sent",
            Self::NoIssuer => {
                "the redirect has no `iss`, although the authorization server declares it"
            }
            Self::OtherIssuer => "the `iss` of the redirect is another authorization server",
            Self::NoCode => "the redirect has no code",
            Self::Rejected(error) => {
                return write!(f, "authorization was rejected: {}", describe(error));
            }
        })
    }
}

impl std::error::Error for AuthorizationResponseError {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ISSUER: &str = "https://honest.as.example";

    fn outcome(query: &str, declares_iss: bool) -> Result<String, AuthorizationResponseError> {
        let state = Secret::new("s1");
        let expected = ExpectedResponse {
            state: &state,
            issuer: ISSUER,
            declares_iss,
        };
        read(query, &expected).map(|code| code.expose().to_owned())
    }

    #[track_caller]
    fn assert_rejected(query: &str, expected: &AuthorizationResponseError) {
        for declares_iss in [true, false] {
            assert_eq!(
                outcome(query, declares_iss).as_ref(),
                Err(expected),
                "{query}"
            );
        }
    }

    #[test]
    fn iss_table_of_the_specification() {
        let with = "code=c&state=s1&iss=https%3A%2F%2Fhonest.as.example";
        let without = "code=c&state=s1";
        let other = "code=c&state=s1&iss=https%3A%2F%2Fevil.example";
        assert_eq!(outcome(with, true).as_deref(), Ok("c"));
        assert_eq!(
            outcome(without, true),
            Err(AuthorizationResponseError::NoIssuer)
        );
        assert_eq!(outcome(with, false).as_deref(), Ok("c"));
        assert_eq!(outcome(without, false).as_deref(), Ok("c"));
        assert_rejected(other, &AuthorizationResponseError::OtherIssuer);
    }

    #[test]
    fn issuers_are_not_normalised() {
        for issuer in [
            "https://honest.as.example/",
            "https://HONEST.as.example",
            "HTTPS://honest.as.example",
            "https://honest.as.example:443",
            "https://honest.as.example%2F",
            "https://honest%2Eas.example",
            "",
        ] {
            let query = form::encode([("code", "c"), ("state", "s1"), ("iss", issuer)]);
            assert_rejected(&query, &AuthorizationResponseError::OtherIssuer);
        }
    }

    #[test]
    fn state_must_equal_the_sent_state() {
        let iss = "iss=https://honest.as.example";
        assert_rejected(
            &format!("code=c&{iss}"),
            &AuthorizationResponseError::NoState,
        );
        assert_rejected(
            &format!("code=c&{iss}&state="),
            &AuthorizationResponseError::OtherState,
        );
        assert_rejected(
            &format!("code=c&{iss}&state=s2"),
            &AuthorizationResponseError::OtherState,
        );
        assert_rejected(
            &format!("code=c&{iss}&state=S1"),
            &AuthorizationResponseError::OtherState,
        );
        assert_rejected(
            &format!("code=c&{iss}&state=s1%20"),
            &AuthorizationResponseError::OtherState,
        );
    }

    #[test]
    fn errors_are_returned_only_for_the_sent_request() {
        let error = "error=access_denied&error_description=No%20way&error_uri=https://a";
        let response = outcome(&format!("{error}&state=s1&iss={ISSUER}"), true);
        let Err(AuthorizationResponseError::Rejected(rejection)) = response else {
            panic!("{response:?}");
        };
        assert_eq!(rejection.error, "access_denied");
        assert_eq!(rejection.error_description.as_deref(), Some("No way"));
        assert_eq!(rejection.error_uri.as_deref(), Some("https://a"));

        assert_rejected(
            &format!("{error}&state=s2&iss={ISSUER}"),
            &AuthorizationResponseError::OtherState,
        );
        assert_rejected(
            &format!("{error}&state=s1&iss=https://evil.example"),
            &AuthorizationResponseError::OtherIssuer,
        );
        assert_eq!(
            outcome(&format!("{error}&state=s1"), true),
            Err(AuthorizationResponseError::NoIssuer)
        );
    }

    #[test]
    fn malformed_queries_are_rejected() {
        let rest = format!("state=s1&iss={ISSUER}");
        assert_rejected(
            &format!("code=c&code=c&{rest}"),
            &AuthorizationResponseError::Duplicate,
        );
        assert_rejected(
            &format!("code=c&{rest}&state=s1"),
            &AuthorizationResponseError::Duplicate,
        );
        assert_rejected(
            &format!("code=c&{rest}&iss={ISSUER}"),
            &AuthorizationResponseError::Duplicate,
        );
        assert_rejected(
            &format!("code=c&{rest}&x=1&x=2"),
            &AuthorizationResponseError::Duplicate,
        );
        assert_rejected(
            &format!("code=c&{rest}&%73tate=s1"),
            &AuthorizationResponseError::Duplicate,
        );
        assert_rejected(
            &format!("code=c&error=e&{rest}"),
            &AuthorizationResponseError::Malformed,
        );
        assert_rejected(
            &format!("code=%zz&{rest}"),
            &AuthorizationResponseError::Malformed,
        );
        assert_rejected(
            &format!("code=&{rest}"),
            &AuthorizationResponseError::NoCode,
        );
        assert_rejected(&rest, &AuthorizationResponseError::NoCode);
        assert_rejected("", &AuthorizationResponseError::NoState);
    }

    #[test]
    fn query_over_the_maximum_length_is_rejected() {
        let start = format!("state=s1&iss={ISSUER}&code=");
        let longest = format!("{start}{}", "c".repeat(LONGEST_QUERY - start.len()));
        assert!(outcome(&longest, true).is_ok());
        assert_rejected(
            &format!("{longest}c"),
            &AuthorizationResponseError::Malformed,
        );
    }

    #[test]
    fn unrelated_responses_differ_from_error_responses() {
        for query in ["", "state=s2", "state=s1&iss=x", "a=1&a=2"] {
            assert!(outcome(query, false).unwrap_err().is_unrelated(), "{query}");
        }
        for query in ["state=s1", "state=s1&error=server_error"] {
            assert!(
                !outcome(query, false).unwrap_err().is_unrelated(),
                "{query}"
            );
        }
    }

    #[test]
    fn state_of_a_redirect_is_returned() {
        assert_eq!(state_of("code=c&state=s1"), Some(Secret::new("s1")));
        assert_eq!(state_of("state=s1&state=s2"), None);
        assert_eq!(state_of("code=c"), None);
    }

    #[test]
    fn error_text_is_one_line() {
        let error = outcome("state=s1&error=a%0Ab", false).unwrap_err();
        assert_eq!(error.to_string(), "authorization was rejected: a\\nb");
        let error = outcome("state=s1&error=a&error_description=b%0Ac", false).unwrap_err();
        assert_eq!(error.to_string(), "authorization was rejected: a (b\\nc)");
    }

    proptest! {
        #[test]
        fn code_requires_the_sent_state(query in "((code|state|iss|error|x)=[a-z0-9]{0,2}&){0,5}") {
            let state = Secret::new("s1");
            let expected = ExpectedResponse { state: &state, issuer: "a", declares_iss: true };
            if read(&query, &expected).is_ok() {
                prop_assert!(query.contains("state=s1") && query.contains("iss=a"));
            }
        }

        #[test]
        fn parsing_never_panics(query in any::<String>()) {
            let _ = outcome(&query, true);
        }
    }
}
