//! Which URLs a client may call or open in a browser.
//!
//! Everything that authorization sends is worth stealing, so it goes over TLS or stays on this machine (spec 2026-07-28,
//! authorization/security-considerations, "Communication Security"; security best practices, "Server-Side Request
//! Forgery"). Names that resolve to private addresses are judged when they are resolved, by [`crate::auth::addresses`].

pub use crate::web_url::{InvalidUrl, LONGEST_URL, UrlProblem};

use crate::web_url::WebUrl;

/// Checks a URL that the user configured: `https`, or `http` on this machine, and no fragment.
///
/// # Errors
/// When it is none of these, which includes `javascript:` and every other scheme.
pub fn check(url: &str) -> Result<(), InvalidUrl> {
    judge(url).map(|_| ())
}

/// Checks a URL that another URL's owner told us, in a header or in metadata.
///
/// Only a server on this machine may name places on this machine: otherwise any server could make its clients knock at
/// doors that are closed to itself.
///
/// # Errors
/// When [`check`] refuses either URL, or the named one is on this machine and the naming one is not.
pub fn check_named_by(url: &str, named_by: &str) -> Result<(), InvalidUrl> {
    let named = judge(url)?;
    let naming = judge(named_by)?;
    if named.is_loopback() && !naming.is_loopback() {
        return Err(InvalidUrl::new(url, UrlProblem::NamesThisMachine));
    }
    Ok(())
}

/// Scheme and authority of a URL that passes [`check`], as they were written.
///
/// # Errors
/// As [`check`].
pub fn origin(url: &str) -> Result<String, InvalidUrl> {
    judge(url).map(|url| url.written_origin())
}

fn judge(text: &str) -> Result<WebUrl<'_>, InvalidUrl> {
    let url = WebUrl::parse(text)?;
    let problem = if !url.is_confidential() {
        UrlProblem::NotSecure
    } else if url.has_fragment {
        UrlProblem::HasFragment
    } else {
        return Ok(url);
    };
    Err(InvalidUrl::new(text, problem))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_secure_or_on_this_machine() {
        #[track_caller]
        fn refused(url: &str, problem: UrlProblem) {
            assert_eq!(check(url).unwrap_err().problem, problem, "{url}");
        }
        for url in [
            "https://auth.example.com/authorize?tenant=1",
            "http://localhost:3000/token",
            "http://127.0.0.1/",
            "http://[::1]:1/",
        ] {
            assert_eq!(check(url), Ok(()), "{url}");
        }
        refused("http://auth.example.com/", UrlProblem::NotSecure);
        refused("http://localhost.example.com/", UrlProblem::NotSecure);
        refused("http://127.0.0.1.nip.io/", UrlProblem::NotSecure);
        refused("http://10.0.0.1/", UrlProblem::NotSecure);
        refused("http://0.0.0.0/", UrlProblem::NotSecure);
        refused("https://auth.example.com/#a", UrlProblem::HasFragment);
        refused("javascript:alert(1)", UrlProblem::Malformed);
        refused("file:///etc/passwd", UrlProblem::Malformed);
        refused("-https://a", UrlProblem::Malformed);
        refused("https://a$(reboot)/", UrlProblem::Malformed);
    }

    #[test]
    fn an_origin_is_what_stands_before_the_path() {
        let origin = |url: &str| origin(url).ok();
        let check = |url: &str, expected: Option<&str>| {
            assert_eq!(origin(url).as_deref(), expected, "{url}");
        };
        check("https://A.example:8443/b?c", Some("https://A.example:8443"));
        check("http://127.0.0.1:3000", Some("http://127.0.0.1:3000"));
        check("http://a.example/", None);
    }

    #[test]
    fn only_this_machine_names_this_machine() {
        #[track_caller]
        fn check(url: &str, named_by: &str, expected: Option<UrlProblem>) {
            let problem = check_named_by(url, named_by)
                .err()
                .map(|error| error.problem);
            assert_eq!(problem, expected, "{url} named by {named_by}");
        }
        let remote = "https://mcp.example.com/mcp";
        let local = "http://localhost:3000/mcp";
        check("https://auth.example.com", remote, None);
        check("https://auth.example.com", local, None);
        check("http://127.0.0.1:4000/", local, None);
        let names_us = Some(UrlProblem::NamesThisMachine);
        check("http://127.0.0.1:4000/", remote, names_us);
        check("https://localhost/", remote, names_us);
        check("https://[::ffff:127.0.0.1]/", remote, names_us);
        check(
            "http://auth.example.com",
            remote,
            Some(UrlProblem::NotSecure),
        );
        check(
            "https://a",
            "http://mcp.example.com",
            Some(UrlProblem::NotSecure),
        );
    }
}
