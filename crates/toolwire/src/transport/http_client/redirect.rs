//! Where a redirect leads, and whether we go there.
//!
//! Only 307 and 308 are followed, which keep the method and the body, and only within the origin that was asked: what
//! the headers hold is meant for that origin and for nobody else.

use http::header::LOCATION;
use http::{HeaderMap, StatusCode, Uri};

use crate::transport::http_client::authority::HostPort;
use crate::transport::http_client::{HttpError, HttpPhase};

/// How many redirects one request may follow.
pub(super) const MAX_REDIRECTS: usize = 5;

/// Where to ask again, or nothing when the answer is one.
pub(super) fn target(
    asked: &Uri,
    status: StatusCode,
    headers: &HeaderMap,
) -> Result<Option<Uri>, HttpError> {
    if !matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = headers.get(LOCATION) else {
        return Ok(None);
    };
    let server = HostPort::of(asked)?;
    let refused = |problem: String, advice: &str| {
        HttpError::new(HttpPhase::Redirect, format!("{server} {problem}")).with_advice(advice)
    };
    let target = location
        .to_str()
        .ok()
        .and_then(|location| resolve(asked, location));
    let Some(target) = target else {
        return Err(refused(
            "redirects to a place that is no URL".to_owned(),
            "check the URL of the server",
        ));
    };
    if !matches!(status.as_u16(), 307 | 308) {
        return Err(refused(
            format!("redirects with status {status} to {}", shown(&target)),
            "use that URL if you trust it",
        ));
    }
    if !is_same_origin(asked, &target) {
        return Err(refused(
            format!("redirects to another origin: {}", shown(&target)),
            "use that URL if you trust it",
        ));
    }
    if target
        .authority()
        .is_some_and(|authority| authority.as_str().contains('@'))
    {
        // Whoever is between us and the server would read them, and nobody asked us to send them.
        return Err(refused(
            format!("redirects with credentials to {}", shown(&target)),
            "check the URL of the server",
        ));
    }
    Ok(Some(target))
}

/// The failure of a request that was led on too often.
pub(super) fn too_many(last: &Uri) -> HttpError {
    let what = format!(
        "more than {MAX_REDIRECTS} redirects, the last of them to {}",
        shown(last)
    );
    HttpError::new(HttpPhase::Redirect, what).with_advice("check the URL of the server")
}

/// The URL without credentials and without its query, both of which may be secret.
pub(super) fn shown(uri: &Uri) -> String {
    let scheme = uri.scheme_str().unwrap_or_default();
    let host = uri.host().unwrap_or_default();
    let port = uri
        .port()
        .map(|port| format!(":{port}"))
        .unwrap_or_default();
    format!("{scheme}://{host}{port}{}", uri.path())
}

/// Whether what is meant for one place may be sent to the other.
pub(crate) fn is_same_origin(one: &Uri, other: &Uri) -> bool {
    one.scheme() == other.scheme()
        && HostPort::of(one)
            .is_ok_and(|place| HostPort::of(other).is_ok_and(|other| place == other))
}

/// RFC 3986, 5.2: what a reference means at the place where it was found.
pub(super) fn resolve(base: &Uri, reference: &str) -> Option<Uri> {
    let reference = reference.split('#').next().unwrap_or_default();
    let scheme = base.scheme_str()?;
    let authority = base.authority()?;
    let absolute = if has_scheme(reference) {
        reference.to_owned()
    } else if reference.starts_with("//") {
        format!("{scheme}:{reference}")
    } else if reference.is_empty() {
        base.to_string()
    } else if reference.starts_with('?') {
        format!("{scheme}://{authority}{}{reference}", base.path())
    } else {
        let (path, query) = match reference.split_once('?') {
            Some((path, query)) => (path, format!("?{query}")),
            None => (reference, String::new()),
        };
        let path = if path.starts_with('/') {
            path.to_owned()
        } else {
            let directory = base.path().rsplit_once('/').map_or("", |(above, _)| above);
            format!("{directory}/{path}")
        };
        format!("{scheme}://{authority}{}{query}", without_dots(&path))
    };
    let uri = Uri::try_from(absolute).ok()?;
    (uri.scheme().is_some() && uri.host().is_some()).then_some(uri)
}

/// Whether a reference begins with a scheme, which is what makes it absolute.
fn has_scheme(reference: &str) -> bool {
    let Some((scheme, _)) = reference.split_once(':') else {
        return false;
    };
    scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|one| one.is_ascii_alphanumeric() || matches!(one, '+' | '-' | '.'))
}

fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let last = segments.peek().is_none();
        match segment {
            "." | ".." => {
                if segment == ".." {
                    kept.pop();
                }
                if last {
                    kept.push("");
                }
            }
            other => kept.push(other),
        }
    }
    format!("/{}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn followed(status: u16, location: &str) -> Result<Option<String>, String> {
        let asked = Uri::from_static("https://example.com/v1/mcp?key=1");
        let mut headers = HeaderMap::new();
        headers.insert(LOCATION, location.parse().unwrap());
        target(&asked, StatusCode::from_u16(status).unwrap(), &headers)
            .map(|target| target.map(|uri| uri.to_string()))
            .map_err(|failure| failure.message().to_owned())
    }

    #[test]
    fn references_mean_what_rfc_3986_says() {
        let check = |location: &str, expected: &str| {
            assert_eq!(
                followed(307, location),
                Ok(Some(expected.to_owned())),
                "{location}"
            );
        };
        check("/v2/mcp", "https://example.com/v2/mcp");
        check("other", "https://example.com/v1/other");
        check("other/", "https://example.com/v1/other/");
        check("./a/../b?c=d", "https://example.com/v1/b?c=d");
        check("../../..", "https://example.com/");
        check("?key=2", "https://example.com/v1/mcp?key=2");
        check(
            "https://EXAMPLE.com:443/x#part",
            "https://EXAMPLE.com:443/x",
        );
        check("//example.com/x", "https://example.com/x");
        check("#part", "https://example.com/v1/mcp?key=1");
        check("/a:b", "https://example.com/a:b");
    }

    #[test]
    fn other_origins_are_named_and_not_asked() {
        let check = |location: &str, named: &str| {
            let expected = format!("example.com:443 redirects to another origin: {named}");
            assert_eq!(followed(308, location), Err(expected));
        };
        check("https://other.com/mcp", "https://other.com/mcp");
        check("http://example.com/mcp", "http://example.com/mcp");
        check("https://example.com:8443/", "https://example.com:8443/");
        check(
            "https://example.com.evil.com/",
            "https://example.com.evil.com/",
        );
        check("https://example.com@evil.com/", "https://evil.com/");
        check("//evil.com", "https://evil.com/");
        check("ftp://example.com/", "ftp://example.com/");
        check(
            "https://user:secret@other.com/a?token=t",
            "https://other.com/a",
        );
    }

    #[test]
    fn credentials_are_not_taken_from_a_redirect() {
        for location in ["https://user:secret@example.com/x", "//user@example.com/x"] {
            assert_eq!(
                followed(307, location),
                Err(
                    "example.com:443 redirects with credentials to https://example.com/x"
                        .to_owned()
                )
            );
        }
    }

    #[test]
    fn only_307_and_308_are_followed() {
        for status in [301, 302, 303] {
            let problem = followed(status, "/elsewhere").unwrap_err();
            assert!(
                problem.ends_with("to https://example.com/elsewhere"),
                "{problem}"
            );
        }
        for status in [200, 201, 300, 304, 404] {
            assert_eq!(followed(status, "/elsewhere"), Ok(None), "{status}");
        }
        let problem = followed(307, "http://").unwrap_err();
        assert_eq!(
            problem,
            "example.com:443 redirects to a place that is no URL"
        );
    }

    #[test]
    fn a_redirect_without_a_target_is_an_answer() {
        let asked = Uri::from_static("https://example.com/mcp");
        let found = target(&asked, StatusCode::TEMPORARY_REDIRECT, &HeaderMap::new());
        assert!(found.unwrap().is_none());
    }
}
