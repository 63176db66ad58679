//! The URLs to which a server may send a user.

use crate::web_url::WebUrl;

/// Returns `true` for an absolute `http` or `https` URL that all parsers parse alike. Such a URL is ASCII and has a
/// host. It has no user info, which users mistake for the host.
///
/// Spec 2025-11-25, client/elicitation: the `url` of an elicitation must be a valid URL.
///
/// ```
/// use toolwire_proto::elicit_url::is_web_url;
///
/// assert!(is_web_url("https://example.com/consent"));
/// assert!(!is_web_url("javascript:alert(1)"));
/// ```
#[must_use]
pub fn is_web_url(url: &str) -> bool {
    WebUrl::parse(url).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_absolute_web_urls_may_be_shown() {
        let check = |url: &str, expected: bool| assert_eq!(is_web_url(url), expected, "{url}");
        check("https://example.test/consent?x=1#y", true);
        check("http://[::1]:8080/", true);
        check("https://bank.example@evil.test", false);
        check("https://", false);
        check("https://:80/", false);
        check("/relative", false);
        check("javascript:alert(1)", false);
        check("https://exa mple.test", false);
        check("https://example.test/gr\u{f6}\u{df}e", false);
        check("file:///etc/passwd", false);
    }
}
