//! The origin of a request.

use http::Uri;
use toolwire_proto::web_url::WebUrl;

/// Returns `true` if both URIs are absolute and have the same scheme, host and port.
pub(crate) fn is_same_origin(one: &Uri, other: &Uri) -> bool {
    let (one, other) = (one.to_string(), other.to_string());
    match (WebUrl::parse(&one), WebUrl::parse(&other)) {
        (Ok(one), Ok(other)) => one.is_same_origin(&other),
        _ => false,
    }
}

/// Returns `true` if the host of a URI is `localhost`, a name below it, or a loopback address. Names are not resolved.
pub(crate) fn is_loopback(uri: &Uri) -> bool {
    WebUrl::parse(&uri.to_string()).is_ok_and(|url| {
        url.is_loopback() || url.host().to_ascii_lowercase().ends_with(".localhost")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_compared_by_scheme_host_and_port() {
        let check = |one: &'static str, other: &'static str, expected: bool| {
            let same = is_same_origin(&Uri::from_static(one), &Uri::from_static(other));
            assert_eq!(same, expected, "{one} {other}");
        };
        check("https://example.com/mcp", "https://EXAMPLE.com:443/", true);
        check(
            "http://example.com/mcp",
            "http://example.com:80/other?q",
            true,
        );
        check("https://example.com/mcp", "http://example.com/mcp", false);
        check(
            "https://example.com/mcp",
            "https://example.com:8443/mcp",
            false,
        );
        check("https://example.com/mcp", "https://example.org/mcp", false);
        check(
            "https://user@example.com/mcp",
            "https://user@example.com/mcp",
            false,
        );
        check("/mcp", "/mcp", false);
    }

    #[test]
    fn loopback_hosts_are_recognized() {
        let check = |uri: &'static str, expected: bool| {
            assert_eq!(is_loopback(&Uri::from_static(uri)), expected, "{uri}");
        };
        check("http://localhost:3000/mcp", true);
        check("http://app.localhost/mcp", true);
        check("http://127.0.0.1/mcp", true);
        check("http://[::1]:3000/mcp", true);
        check("https://example.com/mcp", false);
        check("http://127.0.0.1.example.com/mcp", false);
    }
}
