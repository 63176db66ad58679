//! The redirect of a user back to the client (OAuth 2.1, section 4.1.2; RFC 9207 for `iss`).

use crate::documents::Secret;
use crate::rules::form;

/// The target of a redirect, with the values that are returned to the client.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RedirectTarget<'a> {
    /// The redirect URI of the request, which was compared with the client's registered URIs.
    pub redirect_uri: &'a str,
    /// The `state` of the request.
    pub state: Option<&'a str>,
    /// The issuer of the response.
    pub issuer: &'a str,
}

impl RedirectTarget<'_> {
    /// Returns the URL with a code.
    #[must_use]
    pub(crate) fn with_code(&self, code: &Secret) -> Secret {
        Secret::new(self.url(&[("code", code.expose())]))
    }

    /// Returns the URL with an error.
    #[must_use]
    pub(crate) fn with_error(&self, code: &str, description: &str) -> String {
        self.url(&[("error", code), ("error_description", description)])
    }

    /// Creates the URL. All values are escaped, so that no client value can end the URL or its header. The query of the
    /// redirect URI is preserved (OAuth 2.1, section 2.3.1).
    fn url(&self, parameters: &[(&str, &str)]) -> String {
        let state = self.state.map(|state| ("state", state));
        let issuer = ("iss", self.issuer);
        let pairs = parameters.iter().copied().chain(state).chain([issuer]);
        let separator = match self.redirect_uri.split_once('?') {
            None => "?",
            Some((_, "")) => "",
            Some(_) => "&",
        };
        format!("{}{separator}{}", self.redirect_uri, form::encode(pairs))
    }
}

/// Returns the error code for the client after an error of the identity provider. `access_denied` and
/// `temporarily_unavailable` are relayed. All other codes become `server_error`.
#[must_use]
pub(crate) fn relayed_error(upstream: &str) -> &'static str {
    match upstream {
        "access_denied" => "access_denied",
        "temporarily_unavailable" => "temporarily_unavailable",
        _ => "server_error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::authorization_response::{ExpectedResponse, read};

    const ISSUER: &str = "https://mcp.example.com";

    fn target<'a>(redirect_uri: &'a str, state: Option<&'a str>) -> RedirectTarget<'a> {
        RedirectTarget {
            redirect_uri,
            state,
            issuer: ISSUER,
        }
    }

    #[test]
    fn redirect_is_parsed_by_clients() {
        let target = target("http://127.0.0.1:3000/cb", Some("s 1"));
        let url = target.with_code(&"c+d".into());
        let (uri, query) = url.expose().split_once('?').unwrap();
        assert_eq!(uri, "http://127.0.0.1:3000/cb");
        let expected = ExpectedResponse {
            state: &"s 1".into(),
            issuer: ISSUER,
            declares_iss: true,
        };
        assert_eq!(read(query, &expected).unwrap().expose(), "c+d");
    }

    #[test]
    fn query_is_preserved_and_absent_state_is_omitted() {
        let end = "error=access_denied&error_description=no&iss=https%3A%2F%2Fmcp.example.com";
        for (uri, start) in [
            ("https://a/b", "https://a/b?"),
            ("https://a/b?", "https://a/b?"),
            ("https://a/b?c=d", "https://a/b?c=d&"),
        ] {
            let url = target(uri, None).with_error("access_denied", "no");
            assert_eq!(url, format!("{start}{end}"));
        }
    }

    #[test]
    fn values_are_escaped() {
        let state = "a\r\nSet-Cookie: b=c&code=stolen#d";
        let url = target("https://a/b", Some(state)).with_error("e\r\n", "f\n");
        assert!(url.bytes().all(|byte| byte.is_ascii_graphic()), "{url}");
        assert!(!url.contains("code=stolen") && !url.contains('#'), "{url}");
    }

    #[test]
    fn only_errors_that_clients_can_act_on_are_relayed() {
        assert_eq!(relayed_error("access_denied"), "access_denied");
        let busy = "temporarily_unavailable";
        assert_eq!(relayed_error(busy), busy);
        for other in ["", "invalid_scope", "AADSTS50011", "unauthorized_client"] {
            assert_eq!(relayed_error(other), "server_error");
        }
    }
}
