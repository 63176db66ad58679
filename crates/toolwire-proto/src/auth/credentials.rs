//! The `Authorization` header of a request: which token it presents, and how (OAuth 2.1, section 5.1.1).
//!
//! Tokens in queries and bodies do not exist here, since MCP forbids them.

use std::fmt;

use toolwire_types::auth::Secret;

use crate::auth::challenge::TokenScheme;
use crate::auth::form;

/// The longest token that is read or sent, in bytes.
pub const LONGEST_TOKEN: usize = 16 * 1024;

/// A token and how it is presented.
///
/// ```
/// use toolwire_proto::auth::challenge::TokenScheme;
/// use toolwire_proto::auth::credentials::Credentials;
///
/// let credentials = Credentials::read(["bearer mF_9.B5f-4.1JqM"])?.expect("there is a token");
/// assert_eq!(credentials.scheme, TokenScheme::Bearer);
/// assert_eq!(credentials.token.expose(), "mF_9.B5f-4.1JqM");
/// # Ok::<(), toolwire_proto::auth::credentials::MalformedCredentials>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Credentials {
    /// How the token is presented.
    pub scheme: TokenScheme,
    /// The token.
    pub token: Secret,
}

impl Credentials {
    /// A token to present; nothing when it fits into no header.
    #[must_use]
    pub fn new(scheme: TokenScheme, token: Secret) -> Option<Self> {
        is_token(token.expose()).then_some(Self { scheme, token })
    }

    /// Reads all `Authorization` headers of a request; `Ok(None)` when they present no token.
    ///
    /// # Errors
    /// When there are several headers, or the token has characters that tokens do not have: a request that is malformed,
    /// to be answered with 400 and `invalid_request`.
    pub fn read<'a>(
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

    /// The value of the header.
    #[must_use]
    pub fn to_header(&self) -> Secret {
        Secret::new(format!("{} {}", self.scheme.as_str(), self.token.expose()))
    }
}

/// Whether a query presents a token, which MCP forbids: URLs are written down in many places.
///
/// RFC 6750, section 2.3, names the parameter; spec 2026-07-28, authorization, "Token Requirements".
#[must_use]
pub fn is_in_query(query: &str) -> bool {
    let mut pairs = query.split('&').filter_map(form::decode);
    pairs.any(|pair| pair.iter().any(|(name, _)| name == "access_token"))
}

/// Whether a text is a token (RFC 6749, appendix A.12). RFC 6750 has fewer characters, but tokens with others are in use;
/// quotation marks and commas stay out, since a comma is what proxies join two headers with.
pub(super) fn is_token(text: &str) -> bool {
    (1..=LONGEST_TOKEN).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b',' | b'\\'))
}

/// An `Authorization` header that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct MalformedCredentials;

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
    fn a_token_in_the_query_is_seen() {
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
    fn tokens_are_read_from_one_header() {
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
    fn malformed_headers_are_refused() {
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
    fn tokens_are_read_up_to_their_longest_and_no_further() {
        assert!(is_token(&"a".repeat(LONGEST_TOKEN)));
        assert!(!is_token(&"a".repeat(LONGEST_TOKEN + 1)));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(token in "[!#-+\\--\\[\\]-~]{1,20}", is_dpop in any::<bool>()) {
            let scheme = if is_dpop { TokenScheme::Dpop } else { TokenScheme::Bearer };
            let credentials = Credentials::new(scheme, token.into()).unwrap();
            let header = credentials.to_header();
            prop_assert_eq!(Credentials::read([header.expose()]), Ok(Some(credentials)));
        }

        #[test]
        fn no_token_breaks_out_of_its_header(token in any::<String>()) {
            if let Some(credentials) = Credentials::new(TokenScheme::Bearer, token.into()) {
                prop_assert!(credentials.to_header().expose().bytes().all(|byte| (b' '..=b'~').contains(&byte)));
            }
        }
    }
}
