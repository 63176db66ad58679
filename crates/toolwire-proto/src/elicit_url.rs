//! Where a server may send a user.

/// Whether this is an absolute `http` or `https` URL with a host.
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
    let rest = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"));
    let Some(rest) = rest else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host =
        host.rsplit_once(':').map_or(
            host,
            |(host, port)| if port.contains(']') { authority } else { host },
        );
    !host.is_empty() && !url.chars().any(|c| c.is_control() || c.is_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_absolute_web_urls_may_be_shown() {
        let check = |url: &str, expected: bool| assert_eq!(is_web_url(url), expected, "{url}");
        check("https://example.test/consent?x=1", true);
        check("http://[::1]:8080/", true);
        check("https://user@example.test", true);
        check("https://", false);
        check("https://:80/", false);
        check("/relative", false);
        check("javascript:alert(1)", false);
        check("https://exa mple.test", false);
        check("file:///etc/passwd", false);
    }
}
