//! The token in the `Authorization` header of a request (OAuth 2.1, section 5.1.1).
//!
//! Tokens in queries and bodies are not supported, because MCP forbids them.

use std::fmt;

use crate::documents::Secret;
use crate::rules::challenge::TokenScheme;
use crate::rules::form;

/// The maximum length of a token, in bytes.
pub(crate) const LONGEST_TOKEN: usize = 16 * 1024;

/// A token with its scheme.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) struct Credentials {
    /// The scheme in which the token is presented.
    pub scheme: TokenScheme,
    /// The token.
    pub token: Secret,
}

impl Credentials {
    /// Creates credentials, or returns `None` if the token is not a valid header value.
    #[must_use]
    pub(crate) fn new(scheme: TokenScheme, token: Secret) -> Option<Self> {
        is_token(token.expose()).then_some(Self { scheme, token })
    }

    /// Parses all `Authorization` headers of a request. Returns `Ok(None)` if they present no token.
    ///
    /// # Errors
    /// Returns an error if there are several headers, or if the token has invalid characters. The request is then
    /// malformed and gets status 400 with `invalid_request`.
    pub(crate) fn read<'a>(
        headers: impl IntoIterator<Item = &'a str>,
    ) -> Result<Option<Self>, MalformedCredentials> {
        let mut headers = headers.into_iter();
        let Some(header) = headers.next() else {
            return Ok(None);
        };
        if headers.next().is_some() {
            return Err(MalformedCredentials);
        }
        let (name, token) = header.split_once(' ').unwrap_or((header, ""));
        let Some(scheme) = TokenScheme::from_name(name) else {
            return Ok(None);
        };
        let token = Secret::new(token.trim_matches(' '));
        Self::new(scheme, token)
            .map(Some)
            .ok_or(MalformedCredentials)
    }

    /// Returns the header value.
    #[must_use]
    pub(crate) fn to_header(&self) -> Secret {
        Secret::new(format!("{} {}", self.scheme.as_str(), self.token.expose()))
    }
}

/// Returns `true` if a query contains a token, which MCP forbids, because URLs are logged.
///
/// RFC 6750, section 2.3, names the parameter; spec 2026-07-28, authorization, "Token Requirements".
#[must_use]
pub(crate) fn is_in_query(query: &str) -> bool {
    let mut pairs = query.split('&').filter_map(form::decode);
    pairs.any(|pair| pair.iter().any(|(name, _)| name == "access_token"))
}

/// Returns `true` if a text is a token (RFC 6749, appendix A.12). RFC 6750 permits fewer characters, but tokens with
/// others are in use. Quotation marks and commas are excluded, because proxies join two headers with a comma.
pub(super) fn is_token(text: &str) -> bool {
    (1..=LONGEST_TOKEN).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b',' | b'\\'))
}

/// The error of a malformed `Authorization` header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) struct MalformedCredentials;

impl fmt::Display for MalformedCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the request must have one Authorization header with one token")
    }
}

impl std::error::Error for MalformedCredentials {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn token_in_the_query_is_detected() {
        let check = |query: &str, expected: bool| {
            assert_eq!(is_in_query(query), expected, "{query}");
        };
        check("access_token=x", true);
        check("a=1&access_token", true);
        check("%zz&access%5Ftoken=x", true);
        check("", false);
        check("token=x&my_access_token=y&b=access_token", false);
    }

    #[test]
    fn token_is_parsed_from_one_header() {
        #[track_caller]
        fn check(headers: &[&str], expected: Option<(TokenScheme, &str)>) {
            let read = Credentials::read(headers.iter().copied()).unwrap();
            let read = read.as_ref().map(|read| (read.scheme, read.token.expose()));
            assert_eq!(read, expected, "{headers:?}");
        }
        check(&[], None);
        check(&["Bearer abc"], Some((TokenScheme::Bearer, "abc")));
        check(&["BEARER  abc== "], Some((TokenScheme::Bearer, "abc==")));
        check(
            &["DPoP a.b-c_d~e+f/g"],
            Some((TokenScheme::Dpop, "a.b-c_d~e+f/g")),
        );
        check(&["Basic abc"], None);
        check(&["Bearerabc"], None);
        check(&[""], None);
    }

    #[test]
    fn malformed_headers_are_rejected() {
        for headers in [
            &["Bearer a", "Bearer a"][..],
            &["Basic a", "Bearer a"],
            &["Bearer"],
            &["Bearer "],
            &["Bearer a b"],
            &["Bearer a,Bearer b"],
            &["Bearer \"a\""],
            &["Bearer ü"],
            &["Bearer a\tb"],
        ] {
            let read = Credentials::read(headers.iter().copied());
            assert_eq!(read, Err(MalformedCredentials), "{headers:?}");
        }
    }

    #[test]
    fn token_over_the_maximum_length_is_rejected() {
        assert!(is_token(&"a".repeat(LONGEST_TOKEN)));
        assert!(!is_token(&"a".repeat(LONGEST_TOKEN + 1)));
    }

    proptest! {
        #[test]
        fn credentials_round_trip(token in "[!#-+\\--\\[\\]-~]{1,20}", is_dpop in any::<bool>()) {
            let scheme = if is_dpop { TokenScheme::Dpop } else { TokenScheme::Bearer };
            let credentials = Credentials::new(scheme, token.into()).unwrap();
            let header = credentials.to_header();
            prop_assert_eq!(Credentials::read([header.expose()]), Ok(Some(credentials)));
        }

        #[test]
        fn token_cannot_inject_header_content(token in any::<String>()) {
            if let Some(credentials) = Credentials::new(TokenScheme::Bearer, token.into()) {
                prop_assert!(credentials.to_header().expose().bytes().all(|byte| (b' '..=b'~').contains(&byte)));
            }
        }
    }
}
