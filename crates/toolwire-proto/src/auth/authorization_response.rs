//! The redirect that brings a user back: a code, an error, or an attack.
//!
//! Spec 2026-07-28, authorization, "Authorization Response Validation"; RFC 9207, section 2.4. The order of the checks
//! matters: neither the code nor the text of an error is given out before `state` and `iss` are what they must be.

use std::fmt;

use toolwire_types::auth::{OAuthError, Secret};

use crate::auth::form;
use crate::auth::token_response::described;

/// The longest query that is read, in bytes.
pub const LONGEST_QUERY: usize = 16 * 1024;

/// What was remembered when the user was sent away.
#[derive(Debug, Clone, Copy)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a caller that forgets a new member would skip its check"
)]
pub struct ExpectedResponse<'a> {
    /// The `state` that was sent.
    pub state: &'a Secret,
    /// The `issuer` of the validated metadata of the authorization server.
    pub issuer: &'a str,
    /// `authorization_response_iss_parameter_supported` of that metadata.
    pub announces_iss: bool,
}

/// Reads the query of a redirect, and gives the code.
///
/// ```
/// use toolwire_proto::auth::authorization_response::{ExpectedResponse, read};
/// use toolwire_types::auth::Secret;
///
/// let state = Secret::new("af0ifjsldkj");
/// let expected = ExpectedResponse { state: &state, issuer: "https://honest.as.example", announces_iss: true };
/// let code = read("code=x1848ZT64p4IirMPT0R-X3141MFPTuBX&state=af0ifjsldkj&iss=https%3A%2F%2Fhonest.as.example", &expected)?;
/// assert_eq!(code.expose(), "x1848ZT64p4IirMPT0R-X3141MFPTuBX");
/// # Ok::<(), toolwire_proto::auth::authorization_response::AuthorizationResponseError>(())
/// ```
///
/// # Errors
/// When the query cannot be read or has a parameter twice, is not the answer to our request, or is a refusal. Keep what
/// was remembered after [`AuthorizationResponseError::is_foreign`] errors: the true answer may still come.
pub fn read(
    query: &str,
    expected: &ExpectedResponse<'_>,
) -> Result<Secret, AuthorizationResponseError> {
    let parameters = ResponseParameters::read(query)?;

    // `state` and `iss` say whether this is an answer to us; everything else counts only if it is.
    let state = parameters
        .get("state")
        .ok_or(AuthorizationResponseError::NoState)?;
    if Secret::new(state) != *expected.state {
        return Err(AuthorizationResponseError::OtherState);
    }
    match parameters.get("iss") {
        // Character by character: nothing is normalised before the comparison.
        Some(issuer) if issuer != expected.issuer => {
            return Err(AuthorizationResponseError::OtherIssuer);
        }
        None if expected.announces_iss => return Err(AuthorizationResponseError::NoIssuer),
        _ => {}
    }

    match (parameters.get("error"), parameters.get("code")) {
        (Some(error), None) => {
            let mut refusal = OAuthError::new(error);
            refusal.error_description = parameters.get("error_description").map(str::to_owned);
            refusal.error_uri = parameters.get("error_uri").map(str::to_owned);
            Err(AuthorizationResponseError::Refusal(Box::new(refusal)))
        }
        (None, Some(code)) if !code.is_empty() => Ok(Secret::new(code)),
        (None, _) => Err(AuthorizationResponseError::NoCode),
        (Some(_), Some(_)) => Err(AuthorizationResponseError::Malformed),
    }
}

/// The `state` of a redirect, to find the request it belongs to; nothing when it has none or more than one.
#[must_use]
pub fn state_of(query: &str) -> Option<Secret> {
    let parameters = ResponseParameters::read(query).ok()?;
    parameters.get("state").map(Secret::from)
}

/// Parameters of which each is there once (RFC 6749, section 3.1).
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
            return Err(AuthorizationResponseError::Doubled);
        }
        Ok(Self(pairs))
    }

    fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(own, _)| own == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// Why a redirect brings no code.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum AuthorizationResponseError {
    /// It is too long, cannot be decoded, or is a success and a refusal at once.
    Malformed,
    /// It has a parameter twice.
    Doubled,
    /// It has no `state`.
    NoState,
    /// It has another `state` than was sent.
    OtherState,
    /// It has no `iss`, and the authorization server announces that it sends one.
    NoIssuer,
    /// It comes from another authorization server than was asked.
    OtherIssuer,
    /// It has no code.
    NoCode,
    /// The authorization server or the user refused.
    Refusal(Box<OAuthError>),
}

impl AuthorizationResponseError {
    /// Whether this was no answer to our request at all, but somebody else's doing.
    #[must_use]
    pub fn is_foreign(&self) -> bool {
        !matches!(self, Self::NoCode | Self::Refusal(_))
    }
}

impl fmt::Display for AuthorizationResponseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "the redirect's query makes no sense",
            Self::Doubled => "the redirect has a parameter twice",
            Self::NoState => "the redirect has no `state`",
            Self::OtherState => "the redirect's `state` is not the one that was sent",
            Self::NoIssuer => "the redirect has no `iss`, which the authorization server promises",
            Self::OtherIssuer => {
                "the redirect's `iss` is not the authorization server that was asked"
            }
            Self::NoCode => "the redirect has no code",
            Self::Refusal(error) => {
                return write!(f, "authorization was refused: {}", described(error));
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

    fn judged(query: &str, announces_iss: bool) -> Result<String, AuthorizationResponseError> {
        let state = Secret::new("s1");
        let expected = ExpectedResponse {
            state: &state,
            issuer: ISSUER,
            announces_iss,
        };
        read(query, &expected).map(|code| code.expose().to_owned())
    }

    #[track_caller]
    fn refused(query: &str, expected: &AuthorizationResponseError) {
        for announces_iss in [true, false] {
            assert_eq!(
                judged(query, announces_iss).as_ref(),
                Err(expected),
                "{query}"
            );
        }
    }

    #[test]
    fn the_four_rows_of_the_specification() {
        let with = "code=c&state=s1&iss=https%3A%2F%2Fhonest.as.example";
        let without = "code=c&state=s1";
        let other = "code=c&state=s1&iss=https%3A%2F%2Fevil.example";
        assert_eq!(judged(with, true).as_deref(), Ok("c"));
        assert_eq!(
            judged(without, true),
            Err(AuthorizationResponseError::NoIssuer)
        );
        assert_eq!(judged(with, false).as_deref(), Ok("c"));
        assert_eq!(judged(without, false).as_deref(), Ok("c"));
        refused(other, &AuthorizationResponseError::OtherIssuer);
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
            refused(&query, &AuthorizationResponseError::OtherIssuer);
        }
    }

    #[test]
    fn a_state_is_there_and_the_one_that_was_sent() {
        let iss = "iss=https://honest.as.example";
        refused(
            &format!("code=c&{iss}"),
            &AuthorizationResponseError::NoState,
        );
        refused(
            &format!("code=c&{iss}&state="),
            &AuthorizationResponseError::OtherState,
        );
        refused(
            &format!("code=c&{iss}&state=s2"),
            &AuthorizationResponseError::OtherState,
        );
        refused(
            &format!("code=c&{iss}&state=S1"),
            &AuthorizationResponseError::OtherState,
        );
        refused(
            &format!("code=c&{iss}&state=s1%20"),
            &AuthorizationResponseError::OtherState,
        );
    }

    #[test]
    fn errors_are_told_only_when_they_are_for_us() {
        let error = "error=access_denied&error_description=No%20way&error_uri=https://a";
        let answer = judged(&format!("{error}&state=s1&iss={ISSUER}"), true);
        let Err(AuthorizationResponseError::Refusal(told)) = answer else {
            panic!("{answer:?}");
        };
        assert_eq!(told.error, "access_denied");
        assert_eq!(told.error_description.as_deref(), Some("No way"));
        assert_eq!(told.error_uri.as_deref(), Some("https://a"));

        refused(
            &format!("{error}&state=s2&iss={ISSUER}"),
            &AuthorizationResponseError::OtherState,
        );
        refused(
            &format!("{error}&state=s1&iss=https://evil.example"),
            &AuthorizationResponseError::OtherIssuer,
        );
        assert_eq!(
            judged(&format!("{error}&state=s1"), true),
            Err(AuthorizationResponseError::NoIssuer)
        );
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let rest = format!("state=s1&iss={ISSUER}");
        refused(
            &format!("code=c&code=c&{rest}"),
            &AuthorizationResponseError::Doubled,
        );
        refused(
            &format!("code=c&{rest}&state=s1"),
            &AuthorizationResponseError::Doubled,
        );
        refused(
            &format!("code=c&{rest}&iss={ISSUER}"),
            &AuthorizationResponseError::Doubled,
        );
        refused(
            &format!("code=c&{rest}&x=1&x=2"),
            &AuthorizationResponseError::Doubled,
        );
        refused(
            &format!("code=c&{rest}&%73tate=s1"),
            &AuthorizationResponseError::Doubled,
        );
        refused(
            &format!("code=c&error=e&{rest}"),
            &AuthorizationResponseError::Malformed,
        );
        refused(
            &format!("code=%zz&{rest}"),
            &AuthorizationResponseError::Malformed,
        );
        refused(
            &format!("code=&{rest}"),
            &AuthorizationResponseError::NoCode,
        );
        refused(&rest, &AuthorizationResponseError::NoCode);
        refused("", &AuthorizationResponseError::NoState);
    }

    #[test]
    fn queries_are_read_up_to_their_longest_and_no_further() {
        let start = format!("state=s1&iss={ISSUER}&code=");
        let longest = format!("{start}{}", "c".repeat(LONGEST_QUERY - start.len()));
        assert!(judged(&longest, true).is_ok());
        refused(
            &format!("{longest}c"),
            &AuthorizationResponseError::Malformed,
        );
    }

    #[test]
    fn foreign_answers_are_told_from_refusals() {
        for query in ["", "state=s2", "state=s1&iss=x", "a=1&a=2"] {
            assert!(judged(query, false).unwrap_err().is_foreign(), "{query}");
        }
        for query in ["state=s1", "state=s1&error=server_error"] {
            assert!(!judged(query, false).unwrap_err().is_foreign(), "{query}");
        }
    }

    #[test]
    fn the_state_of_a_redirect_can_be_looked_up() {
        assert_eq!(state_of("code=c&state=s1"), Some(Secret::new("s1")));
        assert_eq!(state_of("state=s1&state=s2"), None);
        assert_eq!(state_of("code=c"), None);
    }

    #[test]
    fn an_error_prints_on_one_line() {
        let error = judged("state=s1&error=a%0Ab", false).unwrap_err();
        assert_eq!(error.to_string(), "authorization was refused: a\\nb");
        let error = judged("state=s1&error=a&error_description=b%0Ac", false).unwrap_err();
        assert_eq!(error.to_string(), "authorization was refused: a (b\\nc)");
    }

    proptest! {
        #[test]
        fn no_code_without_our_state(query in "((code|state|iss|error|x)=[a-z0-9]{0,2}&){0,5}") {
            let state = Secret::new("s1");
            let expected = ExpectedResponse { state: &state, issuer: "a", announces_iss: true };
            if read(&query, &expected).is_ok() {
                prop_assert!(query.contains("state=s1") && query.contains("iss=a"));
            }
        }

        #[test]
        fn reading_anything_does_not_panic(query in any::<String>()) {
            let _ = judged(&query, true);
        }
    }
}
