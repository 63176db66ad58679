//! Absolute `http` and `https` URLs, parsed strictly and compared part by part.
//!
//! URLs that two parsers could interpret differently are rejected: user info, backslashes, spaces, characters outside
//! ASCII, hosts that browsers treat as numbers. The text is not normalized, because several rules of OAuth compare it
//! byte by byte.

use std::fmt;

use crate::http::authority::Authority;
use crate::http::truncated_for_display;

/// The maximum length of a URL in bytes.
pub const LONGEST_URL: usize = 8 * 1024;

/// The parts of an absolute `http` or `https` URL.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WebUrl<'a> {
    /// `true` if the scheme is `https`.
    pub is_secure: bool,
    /// The path. It is empty or starts with a slash.
    pub path: &'a str,
    /// The query without its `?`, if any.
    pub query: Option<&'a str>,
    /// `true` if the URL has a fragment.
    pub has_fragment: bool,
    authority: Authority<'a>,
    /// The authority as written.
    written_authority: &'a str,
}

impl<'a> WebUrl<'a> {
    /// Parses a URL.
    ///
    /// # Errors
    /// Returns an error if the text is not an absolute `http` or `https` URL in unambiguous form.
    pub fn parse(text: &'a str) -> Result<Self, InvalidUrl> {
        Self::read(text).ok_or_else(|| InvalidUrl::new(text, InvalidUrlKind::Malformed))
    }

    fn read(text: &'a str) -> Option<Self> {
        if text.len() > LONGEST_URL || !has_url_characters(text) {
            return None;
        }
        let (scheme, rest) = text.split_once("://")?;
        let is_secure = match scheme {
            _ if scheme.eq_ignore_ascii_case("https") => true,
            _ if scheme.eq_ignore_ascii_case("http") => false,
            _ => return None,
        };
        let (rest, has_fragment) = match rest.split_once('#') {
            Some((rest, _)) => (rest, true),
            None => (rest, false),
        };
        let (rest, query) = match rest.split_once('?') {
            Some((rest, query)) => (rest, Some(query)),
            None => (rest, None),
        };
        let (written_authority, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        Some(Self {
            is_secure,
            path,
            query,
            has_fragment,
            authority: Authority::parse(written_authority)?,
            written_authority,
        })
    }

    /// Returns `true` if the host is a loopback host.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        self.authority.host.is_loopback()
    }

    /// Returns the host as in a URL: a name as written, or an address, an IPv6 address in brackets.
    #[must_use]
    pub fn host(&self) -> String {
        self.authority.host.to_string()
    }

    /// Returns the explicit or default port.
    #[must_use]
    pub fn port(&self) -> u16 {
        let default_port = if self.is_secure { 443 } else { 80 };
        self.authority.port.unwrap_or(default_port)
    }

    /// Returns `true` if both URLs have the same host. Their ports may differ.
    #[must_use]
    pub fn is_same_host(&self, other: &WebUrl<'_>) -> bool {
        self.authority.host == other.authority.host
    }

    /// Returns `true` if both URLs have the same scheme, host and port.
    #[must_use]
    pub fn is_same_origin(&self, other: &WebUrl<'_>) -> bool {
        self.is_secure == other.is_secure && self.port() == other.port() && self.is_same_host(other)
    }

    /// Returns scheme and authority in lower case, without a default port.
    #[must_use]
    pub fn origin(&self) -> String {
        let (scheme, default_port) = if self.is_secure {
            ("https", 443)
        } else {
            ("http", 80)
        };
        let mut authority = self.authority.clone();
        authority.port = authority.port.filter(|port| *port != default_port);
        format!("{scheme}://{}", authority.to_string().to_ascii_lowercase())
    }

    /// Returns the scheme in lower case and the authority as written.
    #[must_use]
    pub fn written_origin(&self) -> String {
        let scheme = if self.is_secure { "https" } else { "http" };
        format!("{scheme}://{}", self.written_authority)
    }

    /// Returns the path without a trailing slash. The root is the empty text.
    #[must_use]
    pub fn trimmed_path(&self) -> &'a str {
        self.path.strip_suffix('/').unwrap_or(self.path)
    }

    /// Returns `true` if a resolver would change the path: `.` and `..`, plain or percent-encoded.
    #[must_use]
    pub fn has_dot_segments(&self) -> bool {
        self.path.split('/').any(|segment| {
            let plain = segment.replace("%2e", ".").replace("%2E", ".");
            matches!(plain.as_str(), "." | "..")
        })
    }

    /// Returns `true` if requests to this URL are confidential: with TLS, or on this machine.
    #[must_use]
    pub fn is_confidential(&self) -> bool {
        self.is_secure || self.is_loopback()
    }
}

/// Checks for visible ASCII without the characters that RFC 3986 excludes, and for percent signs with two hexadecimal
/// digits.
fn has_url_characters(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.iter().enumerate().all(|(at, byte)| match byte {
        b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}' => false,
        b'%' => bytes
            .get(at + 1..at + 3)
            .is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)),
        _ => byte.is_ascii_graphic(),
    })
}

/// A URL that is invalid for its use.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidUrl {
    /// The start of the URL, without its query.
    pub url: String,
    /// The reason why the URL is invalid.
    pub kind: InvalidUrlKind,
}

impl InvalidUrl {
    /// Creates an error for a URL. The error does not contain the query, which may be secret.
    #[must_use]
    pub fn new(url: &str, kind: InvalidUrlKind) -> Self {
        // Queries may contain codes and tokens.
        let end = url.find(['?', '#']).unwrap_or(url.len());
        Self {
            url: truncated_for_display(url.get(..end).unwrap_or_default()),
            kind,
        }
    }
}

/// The reason why a URL is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidUrlKind {
    /// It is not an absolute `http` or `https` URL, is too long, or is ambiguous.
    Malformed,
    /// It is `http` and not on this machine.
    NotSecure,
    /// It is not `https`, and this machine is not an exception.
    NotHttps,
    /// A remote server names a URL on this machine.
    NamesThisMachine,
    /// It has a fragment.
    HasFragment,
    /// It has a query.
    HasQuery,
    /// It has no path.
    HasNoPath,
    /// Its path has `.` or `..` as a segment.
    HasDotSegments,
}

impl fmt::Display for InvalidUrlKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "it is not a plain absolute http or https URL",
            Self::NotSecure => "it must be https, or http on this machine",
            Self::NotHttps => "it must be https",
            Self::NamesThisMachine => "a remote server must not name a URL on this machine",
            Self::HasFragment => "it must not have a fragment",
            Self::HasQuery => "it must not have a query",
            Self::HasNoPath => "it must have a path",
            Self::HasDotSegments => "its path must not have dot segments",
        })
    }
}

impl fmt::Display for InvalidUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = self.url.escape_debug();
        write!(f, "the URL `{url}` is rejected: {}", self.kind)
    }
}

impl std::error::Error for InvalidUrl {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn urls_are_parsed_into_parts() {
        #[track_caller]
        fn check(text: &str, origin: &str, path: &str, query: Option<&str>) {
            let url = WebUrl::parse(text).expect("well formed");
            assert_eq!(url.origin(), origin, "{text}");
            assert_eq!((url.path, url.query), (path, query), "{text}");
        }
        check("https://a.example", "https://a.example", "", None);
        check("HTTPS://A.Example:443/", "https://a.example", "/", None);
        check("http://a.example:80/b?", "http://a.example", "/b", Some(""));
        check(
            "http://a:443/b/c/?d=/e?f",
            "http://a:443",
            "/b/c/",
            Some("d=/e?f"),
        );
        check("https://[::1]:8443/x", "https://[::1]:8443", "/x", None);
        check("https://a?b", "https://a", "", Some("b"));
        check("https://a#b?c/d", "https://a", "", None);
        check("https://a.example./", "https://a.example", "/", None);
        check("https://a/%2F", "https://a", "/%2F", None);
    }

    #[test]
    fn ambiguous_urls_are_rejected() {
        for text in [
            "",
            "a.example",
            "//a.example/",
            "https:a.example",
            "https:/a.example",
            "https:///a.example",
            "ftp://a.example",
            "javascript://a.example/%0aalert(1)",
            "data:text/html,https://a",
            " https://a.example",
            "https://a.example ",
            "https://a.example/\n",
            "https://user@a.example",
            "https://user:secret@a.example/",
            "https://a.example\\@b.example/",
            "https://a.example\\.b.example/",
            "https://a.example/\\b",
            "https://2130706433/",
            "https://0x7f.1/",
            "https://127.1/",
            "https://bücher.example/",
            "https://a.example/ü",
            "https://a.example/{b}",
            "https://a.example/%",
            "https://a.example/%2",
            "https://a.example/%zz",
            "https://a.example:99999/",
            "https://[::1%25eth0]/",
            "https://a\0b/",
        ] {
            assert!(WebUrl::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn overlong_urls_are_rejected() {
        let longest = format!("https://a/{}", "b".repeat(LONGEST_URL - 10));
        assert_eq!(longest.len(), LONGEST_URL);
        assert!(WebUrl::parse(&longest).is_ok());
        assert!(WebUrl::parse(&format!("{longest}b")).is_err());
    }

    #[test]
    fn dot_segments_are_found_in_every_spelling() {
        let check = |path: &str, expected: bool| {
            let text = format!("https://a{path}");
            let url = WebUrl::parse(&text).unwrap();
            assert_eq!(url.has_dot_segments(), expected, "{path}");
        };
        for path in [
            "/.", "/..", "/a/../b", "/a/./b", "/%2e", "/.%2E/b", "/%2e%2E",
        ] {
            check(path, true);
        }
        for path in [
            "",
            "/",
            "/a.b",
            "/...",
            "/.well-known",
            "/a..",
            "/%2e%2e%2e",
        ] {
            check(path, false);
        }
    }

    #[test]
    fn errors_do_not_show_queries() {
        let error = WebUrl::parse("ftp://a.example/b?code=secret").unwrap_err();
        assert_eq!(
            error.to_string(),
            "the URL `ftp://a.example/b` is rejected: it is not a plain absolute http or https URL"
        );
        let hostile = WebUrl::parse("a\nb").unwrap_err();
        assert!(!hostile.to_string().contains('\n'));
        let long = WebUrl::parse(&"a".repeat(9000)).unwrap_err();
        assert!(long.url.chars().count() < 200);
    }

    proptest! {
        #[test]
        fn parsing_any_text_does_not_panic(text in any::<String>()) {
            let _ = WebUrl::parse(&text);
        }

        #[test]
        fn origin_of_an_origin_is_itself(text in "https?://[a-zA-Z.\\[\\]:0-9-]{1,20}(/[a-z.%/]{0,8})?") {
            if let Ok(url) = WebUrl::parse(&text) {
                let origin = url.origin();
                let again = WebUrl::parse(&origin).unwrap();
                prop_assert_eq!(again.origin(), origin.clone());
                prop_assert!(again.is_same_origin(&url));
            }
        }
    }
}
