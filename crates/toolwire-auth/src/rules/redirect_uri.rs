//! Redirect URIs, to which a user is redirected with a code.
//!
//! Spec 2026-07-28, authorization/security-considerations, "Communication Security" and "Open Redirection"; OAuth 2.1,
//! section 2.3.1; RFC 8252, section 7.3. They are compared as texts. Only the port of an `http` URI on this machine may
//! differ, because a native client listens on any free port.

use toolwire_proto::web_url::{InvalidUrl, InvalidUrlKind, WebUrl};

use crate::documents::ApplicationType;

/// Checks a URI that a client wants to register.
///
/// # Errors
/// Returns an error if it is neither `https` nor on this machine, or has a fragment. Private schemes are rejected, too.
pub(crate) fn check(uri: &str) -> Result<(), InvalidUrl> {
    crate::rules::endpoints::check(uri)?;
    if WebUrl::parse(uri)?.has_dot_segments() {
        return Err(InvalidUrl::new(uri, InvalidUrlKind::HasDotSegments));
    }
    Ok(())
}

/// Returns `true` if the client's registered URIs permit a redirect to a URI.
#[must_use]
pub(crate) fn is_registered(requested: &str, registered: &[String]) -> bool {
    find_registered(requested, registered).is_some()
}

/// Returns the registered redirect URI that permits redirecting to `requested`.
#[must_use]
pub(crate) fn find_registered<'r>(requested: &str, registered: &'r [String]) -> Option<&'r str> {
    check(requested).ok()?;
    let mut registered = registered.iter();
    let uri = registered.find(|registered| matches(registered, requested));
    uri.map(String::as_str)
}

/// The destination of a redirect URI, for display on the consent page.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) struct Destination {
    /// The host.
    pub host: String,
    /// Whether the host is this machine, where any program may listen.
    pub is_this_machine: bool,
}

impl Destination {
    /// Returns the destination of a URI, or `None` if redirects to it are not permitted.
    #[must_use]
    pub(crate) fn of(uri: &str) -> Option<Self> {
        check(uri).ok()?;
        let url = WebUrl::parse(uri).ok()?;
        Some(Self {
            host: url.host(),
            is_this_machine: url.is_loopback(),
        })
    }
}

/// Returns the application type for registration: native if the redirect is to the user's machine, otherwise web (spec
/// 2026-07-28, authorization/client-registration, "Application Type and Redirect URI Constraints").
#[must_use]
pub(crate) fn application_type(redirect_uris: &[String]) -> ApplicationType {
    let is_local = |uri: &String| WebUrl::parse(uri).is_ok_and(|url| url.is_loopback());
    if redirect_uris.iter().any(is_local) {
        ApplicationType::Native
    } else {
        ApplicationType::Web
    }
}

fn matches(registered: &str, requested: &str) -> bool {
    if registered == requested {
        return true;
    }
    match (without_port(registered), without_port(requested)) {
        (Some(registered), Some(requested)) => registered == requested,
        _ => false,
    }
}

/// Returns host, path and query of a plain `http` URI on this machine, the only kind whose port may vary. `localhost`
/// and the loopback addresses are different hosts, because different programs may listen there.
fn without_port(uri: &str) -> Option<(String, &str, Option<&str>)> {
    let url = WebUrl::parse(uri).ok()?;
    let is_variable = !url.is_secure && url.is_loopback() && !url.has_fragment;
    is_variable.then(|| (url.host(), url.path, url.query))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_https_and_loopback_uris_can_be_registered() {
        for uri in [
            "https://app.example.com/callback?a=b",
            "http://127.0.0.1/callback",
            "http://127.0.0.1:3000/callback",
            "http://[::1]:3000/callback",
            "http://localhost:3000/callback",
            "https://app.example.com",
        ] {
            assert_eq!(check(uri), Ok(()), "{uri}");
        }
        for uri in [
            "",
            "/callback",
            "http://app.example.com/callback",
            "http://localhost.example.com/callback",
            "http://192.168.0.1/callback",
            "https://app.example.com/callback#",
            "https://app.example.com/callback#a",
            "https://user@app.example.com/callback",
            "https://app.example.com/a/../callback",
            "com.example.app:/callback",
            "javascript:alert(1)",
            "data:text/html,a",
            "urn:ietf:wg:oauth:2.0:oob",
            "https://app.example.com\\@evil.test/",
            "https://*.example.com/callback",
        ] {
            assert!(check(uri).is_err(), "{uri}");
        }
    }

    #[test]
    fn uris_are_compared_exactly() {
        #[track_caller]
        fn check(requested: &str, expected: bool) {
            let registered = [
                "https://app.example.com/callback".to_owned(),
                "https://app.example.com/other?a=b".to_owned(),
            ];
            assert_eq!(
                is_registered(requested, &registered),
                expected,
                "{requested}"
            );
        }
        check("https://app.example.com/callback", true);
        check("https://app.example.com/other?a=b", true);
        check("https://app.example.com/callback/", false);
        check("https://app.example.com/callback?a=b", false);
        check("https://app.example.com:443/callback", false);
        check("https://app.example.com:8443/callback", false);
        check("https://APP.example.com/callback", false);
        check("https://app.example.com/Callback", false);
        check("https://app.example.com/callback/../evil", false);
        check("https://app.example.com/other?a=b&c=d", false);
        check("https://evil.test/callback", false);
        check("https://app.example.com.evil.test/callback", false);
        check("http://app.example.com/callback", false);
    }

    #[test]
    fn only_the_port_of_loopback_uris_may_vary() {
        #[track_caller]
        fn check(registered: &str, requested: &str, expected: bool) {
            let registered = [registered.to_owned()];
            assert_eq!(
                is_registered(requested, &registered),
                expected,
                "{requested}"
            );
        }
        let address = "http://127.0.0.1/callback";
        check(address, "http://127.0.0.1:51004/callback", true);
        check(
            "http://127.0.0.1:3000/callback",
            "http://127.0.0.1:51004/callback",
            true,
        );
        check("http://127.0.0.1:3000/callback", address, true);
        check("http://[::1]/callback", "http://[::1]:51004/callback", true);
        check(
            "http://localhost/callback",
            "http://localhost:51004/callback",
            true,
        );
        check(address, "http://127.0.0.1:51004/other", false);
        check(address, "http://127.0.0.1:51004/callback?a=b", false);
        check(address, "http://127.0.0.2:51004/callback", false);
        check(address, "http://localhost:51004/callback", false);
        check(
            "http://localhost/callback",
            "http://127.0.0.1:51004/callback",
            false,
        );
        check(
            "http://localhost/callback",
            "http://[::1]:51004/callback",
            false,
        );
        check(address, "https://127.0.0.1:51004/callback", false);
        check(
            "https://localhost/callback",
            "https://localhost:51004/callback",
            false,
        );
        check(address, "http://127.0.0.1:51004/callback#a", false);
        check(address, "http://127.0.0.1:51004@evil.test/callback", false);
        check(address, "http://127.0.0.1.evil.test:51004/callback", false);
    }

    #[test]
    fn clients_with_loopback_redirects_are_native() {
        let check = |uris: &[&str], expected: ApplicationType| {
            let uris: Vec<String> = uris.iter().map(ToString::to_string).collect();
            assert_eq!(application_type(&uris), expected, "{uris:?}");
        };
        check(&["http://127.0.0.1/cb"], ApplicationType::Native);
        check(&["http://localhost:3000/cb"], ApplicationType::Native);
        check(
            &["https://a.example/cb", "http://[::1]/cb"],
            ApplicationType::Native,
        );
        check(&["https://a.example/cb"], ApplicationType::Web);
        check(&[], ApplicationType::Web);
    }

    #[test]
    fn destination_has_the_host() {
        let check = |uri: &str, expected: Option<(&str, bool)>| {
            let destination = Destination::of(uri);
            let destination = destination.as_ref();
            let destination = destination.map(|it| (it.host.as_str(), it.is_this_machine));
            assert_eq!(destination, expected, "{uri}");
        };
        check(
            "https://app.example.com/cb",
            Some(("app.example.com", false)),
        );
        check("http://127.0.0.1:3000/cb", Some(("127.0.0.1", true)));
        check("http://localhost/cb", Some(("localhost", true)));
        check("http://evil.test/cb", None);
        check("javascript:alert(1)", None);
    }

    #[test]
    fn invalid_uri_does_not_match_itself() {
        for uri in ["javascript:alert(1)", "http://evil.test/", "https://a/#b"] {
            assert!(!is_registered(uri, &[uri.to_owned()]), "{uri}");
        }
    }
}
