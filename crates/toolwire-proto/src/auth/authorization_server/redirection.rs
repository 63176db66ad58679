//! The redirect that sends a user back to the client (OAuth 2.1, section 4.1.2; RFC 9207 for `iss`).

use toolwire_types::auth::Secret;

use crate::auth::form;

/// Where a user goes, and what the client has to hear again.
#[derive(Debug, Clone, Copy)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a caller that forgets a new member would leave it out of the answer"
)]
pub struct RedirectTarget<'a> {
    /// The redirect URI of the request, which was compared with those of the client.
    pub redirect_uri: &'a str,
    /// The `state` of the request.
    pub state: Option<&'a str>,
    /// Who answers.
    pub issuer: &'a str,
}

impl RedirectTarget<'_> {
    /// The URL that brings a code.
    #[must_use]
    pub fn with_code(&self, code: &Secret) -> Secret {
        Secret::new(self.url(&[("code", code.expose())]))
    }

    /// The URL that brings a refusal.
    #[must_use]
    pub fn with_error(&self, code: &str, description: &str) -> String {
        self.url(&[("error", code), ("error_description", description)])
    }

    /// Everything is escaped, so nothing that a client sent can end the URL or the header it stands in. The query of the
    /// redirect URI is kept (OAuth 2.1, section 2.3.1).
    fn url(&self, answer: &[(&str, &str)]) -> String {
        let state = self.state.map(|state| ("state", state));
        let issuer = ("iss", self.issuer);
        let pairs = answer.iter().copied().chain(state).chain([issuer]);
        let separator = match self.redirect_uri.split_once('?') {
            None => "?",
            Some((_, "")) => "",
            Some(_) => "&",
        };
        format!("{}{separator}{}", self.redirect_uri, form::encode(pairs))
    }
}

/// The refusals of an identity provider that a client is told about. What else it says is between the two of us.
#[must_use]
pub fn relayed_error(upstream: &str) -> &'static str {
    match upstream {
        "access_denied" => "access_denied",
        "temporarily_unavailable" => "temporarily_unavailable",
        _ => "server_error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::authorization_response::{ExpectedResponse, read};

    const ISSUER: &str = "https://mcp.example.com";

    fn way<'a>(redirect_uri: &'a str, state: Option<&'a str>) -> RedirectTarget<'a> {
        RedirectTarget {
            redirect_uri,
            state,
            issuer: ISSUER,
        }
    }

    #[test]
    fn clients_can_read_what_is_written() {
        let back = way("http://127.0.0.1:3000/cb", Some("s 1"));
        let url = back.with_code(&"c+d".into());
        let (place, query) = url.expose().split_once('?').unwrap();
        assert_eq!(place, "http://127.0.0.1:3000/cb");
        let expected = ExpectedResponse {
            state: &"s 1".into(),
            issuer: ISSUER,
            announces_iss: true,
        };
        assert_eq!(read(query, &expected).unwrap().expose(), "c+d");
    }

    #[test]
    fn queries_are_kept_and_absent_states_stay_absent() {
        let end = "error=access_denied&error_description=no&iss=https%3A%2F%2Fmcp.example.com";
        for (uri, start) in [
            ("https://a/b", "https://a/b?"),
            ("https://a/b?", "https://a/b?"),
            ("https://a/b?c=d", "https://a/b?c=d&"),
        ] {
            let url = way(uri, None).with_error("access_denied", "no");
            assert_eq!(url, format!("{start}{end}"));
        }
    }

    #[test]
    fn nothing_breaks_out_of_the_url() {
        let state = "a\r\nSet-Cookie: b=c&code=stolen#d";
        let url = way("https://a/b", Some(state)).with_error("e\r\n", "f\n");
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
