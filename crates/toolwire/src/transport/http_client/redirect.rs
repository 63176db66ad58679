//! Decides whether a redirect is followed.
//!
//! Only 307 and 308 are followed, because they preserve the method and the body. The target must have the origin of the
//! request, because the headers of the request may contain secrets for that origin.

use http::header::LOCATION;
use http::{HeaderMap, StatusCode, Uri};

use crate::transport::http_client::authority::HostPort;
use crate::transport::http_client::{HttpError, HttpPhase};

/// The maximum number of redirects per request.
pub(super) const MAX_REDIRECTS: usize = 5;

/// Returns the target of a redirect, or `None` if the response is not a redirect.
///
/// # Errors
/// Returns an error if the redirect is not permitted or has no valid URL.
pub(super) fn target(
    requested: &Uri,
    status: StatusCode,
    headers: &HeaderMap,
) -> Result<Option<Uri>, HttpError> {
    if !matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = headers.get(LOCATION) else {
        return Ok(None);
    };
    let server = HostPort::of(requested)?;
    let reject = |problem: String, advice: &str| {
        HttpError::new(HttpPhase::Redirect, format!("{server} {problem}")).with_advice(advice)
    };
    let target = location
        .to_str()
        .ok()
        .and_then(|location| resolve(requested, location));
    let Some(target) = target else {
        return Err(reject(
            "redirects to an invalid URL".to_owned(),
            "check the URL of the server",
        ));
    };
    if !matches!(status.as_u16(), 307 | 308) {
        return Err(reject(
            format!(
                "redirects with status {status} to {}",
                without_secrets(&target)
            ),
            "use that URL if you trust it",
        ));
    }
    if !is_same_origin(requested, &target) {
        return Err(reject(
            format!("redirects to another origin: {}", without_secrets(&target)),
            "use that URL if you trust it",
        ));
    }
    if target
        .authority()
        .is_some_and(|authority| authority.as_str().contains('@'))
    {
        // A proxy could read these credentials, and the user did not configure them.
        return Err(reject(
            format!("redirects with credentials to {}", without_secrets(&target)),
            "check the URL of the server",
        ));
    }
    Ok(Some(target))
}

/// Returns the error of a request with too many redirects.
pub(super) fn too_many(last: &Uri) -> HttpError {
    let what = format!(
        "more than {MAX_REDIRECTS} redirects, the last of them to {}",
        without_secrets(last)
    );
    HttpError::new(HttpPhase::Redirect, what).with_advice("check the URL of the server")
}

/// Returns the URL without credentials and without its query, because both may be secret.
pub(super) fn without_secrets(uri: &Uri) -> String {
    let scheme = uri.scheme_str().unwrap_or_default();
    let host = uri.host().unwrap_or_default();
    let port = uri
        .port()
        .map(|port| format!(":{port}"))
        .unwrap_or_default();
    format!("{scheme}://{host}{port}{}", uri.path())
}

/// Returns `true` if two URLs have the same origin.
pub(crate) fn is_same_origin(one: &Uri, other: &Uri) -> bool {
    one.scheme() == other.scheme()
        && HostPort::of(one).is_ok_and(|one| HostPort::of(other).is_ok_and(|other| one == other))
}

/// Resolves a URI reference against a base URI: RFC 3986, section 5.2.
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
        format!(
            "{scheme}://{authority}{}{query}",
            remove_dot_segments(&path)
        )
    };
    let uri = Uri::try_from(absolute).ok()?;
    (uri.scheme().is_some() && uri.host().is_some()).then_some(uri)
}

/// Returns `true` if a reference starts with a scheme. Such a reference is absolute.
fn has_scheme(reference: &str) -> bool {
    let Some((scheme, _)) = reference.split_once(':') else {
        return false;
    };
    scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|one| one.is_ascii_alphanumeric() || matches!(one, '+' | '-' | '.'))
}

/// Removes the dot segments of a path: RFC 3986, section 5.2.4.
fn remove_dot_segments(path: &str) -> String {
    let mut output: Vec<&str> = Vec::new();
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let last = segments.peek().is_none();
        match segment {
            "." | ".." => {
                if segment == ".." {
                    output.pop();
                }
                if last {
                    output.push("");
                }
            }
            other => output.push(other),
        }
    }
    format!("/{}", output.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redirect_target(status: u16, location: &str) -> Result<Option<String>, String> {
        let requested = Uri::from_static("https://example.com/v1/mcp?key=1");
        let mut headers = HeaderMap::new();
        headers.insert(LOCATION, location.parse().unwrap());
        target(&requested, StatusCode::from_u16(status).unwrap(), &headers)
            .map(|target| target.map(|uri| uri.to_string()))
            .map_err(|failure| failure.message().to_owned())
    }

    #[test]
    fn references_are_resolved_as_in_rfc_3986() {
        let check = |location: &str, expected: &str| {
            assert_eq!(
                redirect_target(307, location),
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
    fn redirect_to_another_origin_is_rejected() {
        let check = |location: &str, target: &str| {
            let expected = format!("example.com:443 redirects to another origin: {target}");
            assert_eq!(redirect_target(308, location), Err(expected));
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
    fn redirect_with_credentials_is_rejected() {
        for location in ["https://user:secret@example.com/x", "//user@example.com/x"] {
            assert_eq!(
                redirect_target(307, location),
                Err(
                    "example.com:443 redirects with credentials to https://example.com/x"
                        .to_owned()
                )
            );
        }
    }

    #[test]
    fn only_status_307_and_308_are_followed() {
        for status in [301, 302, 303] {
            let problem = redirect_target(status, "/elsewhere").unwrap_err();
            assert!(
                problem.ends_with("to https://example.com/elsewhere"),
                "{problem}"
            );
        }
        for status in [200, 201, 300, 304, 404] {
            assert_eq!(redirect_target(status, "/elsewhere"), Ok(None), "{status}");
        }
        let problem = redirect_target(307, "http://").unwrap_err();
        assert_eq!(problem, "example.com:443 redirects to an invalid URL");
    }

    #[test]
    fn redirect_without_location_is_returned_as_response() {
        let requested = Uri::from_static("https://example.com/mcp");
        let target = target(
            &requested,
            StatusCode::TEMPORARY_REDIRECT,
            &HeaderMap::new(),
        );
        assert!(target.unwrap().is_none());
    }
}
