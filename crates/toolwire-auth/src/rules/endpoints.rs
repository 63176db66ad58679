//! Checks URLs that a client may call or open in a browser.
//!
//! Authorization sends secrets, so its requests use TLS or stay on this machine (spec 2026-07-28,
//! authorization/security-considerations, "Communication Security"; security best practices, "Server-Side Request
//! Forgery"). Addresses that names resolve to are checked by [`toolwire_proto::http::addresses`].

pub(crate) use toolwire_proto::web_url::{InvalidUrl, InvalidUrlKind};

use toolwire_proto::web_url::WebUrl;

/// Checks a URL that the user configured: `https`, or `http` on this machine, without a fragment.
///
/// # Errors
/// Returns an error for all other URLs, including `javascript:` and other schemes.
pub(crate) fn check(url: &str) -> Result<(), InvalidUrl> {
    parse_checked(url).map(|_| ())
}

/// Checks a URL that the owner of another URL named in a header or in metadata.
///
/// Only a server on this machine may name URLs on this machine. Otherwise, a remote server could make its clients send
/// requests to local services.
///
/// # Errors
/// Returns an error if [`check`] rejects either URL, or if the named URL is on this machine and the naming one is not.
pub(crate) fn check_named_by(url: &str, named_by: &str) -> Result<(), InvalidUrl> {
    let named = parse_checked(url)?;
    let naming = parse_checked(named_by)?;
    if named.is_loopback() && !naming.is_loopback() {
        return Err(InvalidUrl::new(url, InvalidUrlKind::NamesThisMachine));
    }
    Ok(())
}

/// Returns scheme and authority of a URL that passes [`check`], unchanged.
///
/// # Errors
/// Returns the errors of [`check`].
pub(crate) fn origin(url: &str) -> Result<String, InvalidUrl> {
    parse_checked(url).map(|url| url.written_origin())
}

fn parse_checked(text: &str) -> Result<WebUrl<'_>, InvalidUrl> {
    let url = WebUrl::parse(text)?;
    let kind = if !url.is_confidential() {
        InvalidUrlKind::NotSecure
    } else if url.has_fragment {
        InvalidUrlKind::HasFragment
    } else {
        return Ok(url);
    };
    Err(InvalidUrl::new(text, kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_use_https_or_loopback() {
        #[track_caller]
        fn assert_rejected(url: &str, kind: InvalidUrlKind) {
            assert_eq!(check(url).unwrap_err().kind, kind, "{url}");
        }
        for url in [
            "https://auth.example.com/authorize?tenant=1",
            "http://localhost:3000/token",
            "http://127.0.0.1/",
            "http://[::1]:1/",
        ] {
            assert_eq!(check(url), Ok(()), "{url}");
        }
        assert_rejected("http://auth.example.com/", InvalidUrlKind::NotSecure);
        assert_rejected("http://localhost.example.com/", InvalidUrlKind::NotSecure);
        assert_rejected("http://127.0.0.1.nip.io/", InvalidUrlKind::NotSecure);
        assert_rejected("http://10.0.0.1/", InvalidUrlKind::NotSecure);
        assert_rejected("http://0.0.0.0/", InvalidUrlKind::NotSecure);
        assert_rejected("https://auth.example.com/#a", InvalidUrlKind::HasFragment);
        assert_rejected("javascript:alert(1)", InvalidUrlKind::Malformed);
        assert_rejected("file:///etc/passwd", InvalidUrlKind::Malformed);
        assert_rejected("-https://a", InvalidUrlKind::Malformed);
        assert_rejected("https://a$(reboot)/", InvalidUrlKind::Malformed);
    }

    #[test]
    fn origin_is_scheme_and_authority() {
        let origin = |url: &str| origin(url).ok();
        let check = |url: &str, expected: Option<&str>| {
            assert_eq!(origin(url).as_deref(), expected, "{url}");
        };
        check("https://A.example:8443/b?c", Some("https://A.example:8443"));
        check("http://127.0.0.1:3000", Some("http://127.0.0.1:3000"));
        check("http://a.example/", None);
    }

    #[test]
    fn only_loopback_urls_may_name_loopback_urls() {
        #[track_caller]
        fn check(url: &str, named_by: &str, expected: Option<InvalidUrlKind>) {
            let kind = check_named_by(url, named_by).err().map(|error| error.kind);
            assert_eq!(kind, expected, "{url} named by {named_by}");
        }
        let remote = "https://mcp.example.com/mcp";
        let local = "http://localhost:3000/mcp";
        check("https://auth.example.com", remote, None);
        check("https://auth.example.com", local, None);
        check("http://127.0.0.1:4000/", local, None);
        let names_us = Some(InvalidUrlKind::NamesThisMachine);
        check("http://127.0.0.1:4000/", remote, names_us);
        check("https://localhost/", remote, names_us);
        check("https://[::ffff:127.0.0.1]/", remote, names_us);
        check(
            "http://auth.example.com",
            remote,
            Some(InvalidUrlKind::NotSecure),
        );
        check(
            "https://a",
            "http://mcp.example.com",
            Some(InvalidUrlKind::NotSecure),
        );
    }
}
