//! The two pages for users: the consent form and the error page.
//!
//! All untrusted text is escaped. The pages run no script, load nothing, and cannot be framed.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{
    CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{HeaderValue, StatusCode};
use sha2::{Digest as _, Sha256};

use crate::proxy::responses::{self, ProxyResponse};
use crate::rules::authorization_server::names::display_name;
use crate::rules::redirect_uri::Destination;

const STYLE: &str = "body{font:1rem/1.5 system-ui,sans-serif;max-width:34rem;margin:3rem auto;padding:0 1rem}\
    dt{font-weight:600}dd{margin:0 0 .75rem;overflow-wrap:anywhere}.warning{border-left:.25rem solid #b45309;\
    padding:.25rem .75rem}button{font:inherit;padding:.5rem 1.25rem;margin-right:.75rem}";

/// The content of the consent page.
#[derive(Debug)]
pub(super) struct ConsentPage<'a> {
    /// The display name of the server.
    pub(super) server: &'a str,
    pub(super) client_name: Option<&'a str>,
    pub(super) client_id: &'a str,
    /// Whether the id is a URL, whose owner vouches for the name.
    pub(super) is_described: bool,
    pub(super) destination: &'a Destination,
    pub(super) redirect_uri: &'a str,
    pub(super) scopes: &'a str,
    /// The URL that receives the form.
    pub(super) action: &'a str,
    /// The sealed request in the form.
    pub(super) request: &'a str,
}

/// Creates the consent page.
pub(super) fn consent_page(consent: &ConsentPage<'_>) -> ProxyResponse {
    let name = consent.client_name.and_then(display_name);
    let name = name.as_deref().unwrap_or("A client without a name");
    let host = &consent.destination.host;
    let mut body = format!(
        "<h1>Let {name} use {server}?</h1><p>It asks to act for you. You log in only if you allow it.</p><dl>",
        name = escaped(name),
        server = escaped(consent.server),
    );
    let scopes = match consent.scopes {
        "" => "everything this server offers",
        scopes => scopes,
    };
    for (term, description) in [
        ("Name it gives itself", name),
        ("Client id", consent.client_id),
        ("You are sent back to", host.as_str()),
        ("More precisely", consent.redirect_uri),
        ("It may use", scopes),
    ] {
        let description = escaped(description);
        let _ = write!(body, "<dt>{term}</dt><dd>{description}</dd>");
    }
    body.push_str("</dl>");
    for warning in warnings(consent) {
        let _ = write!(body, "<p class=\"warning\">{warning}</p>");
    }
    let _ = write!(
        body,
        "<form method=\"post\" action=\"{action}\"><input type=\"hidden\" name=\"request\" value=\"{request}\">\
         <button name=\"decision\" value=\"deny\">Do not allow</button>\
         <button name=\"decision\" value=\"allow\">Allow</button></form>",
        action = escaped(consent.action),
        request = escaped(consent.request),
    );
    page(StatusCode::OK, "Allow access?", &body)
}

/// Returns the warnings of a consent page. Spec 2026-07-28, authorization/client-registration, "Localhost Redirect URI
/// Risks": any program can impersonate a client with a redirect URI on the user's machine.
fn warnings(consent: &ConsentPage<'_>) -> impl Iterator<Item = &'static str> {
    let unverified = (!consent.is_described).then_some(
        "This name is not verified. Allow it only if you have just started this yourself.",
    );
    let local = consent.destination.is_this_machine.then_some(
        "It redirects to a program on your own machine. Any program there could pretend to be this one.",
    );
    unverified.into_iter().chain(local)
}

/// Creates the error page for a user who cannot be redirected.
pub(super) fn error_page(status: StatusCode, reason: &str) -> ProxyResponse {
    let body = format!(
        "<h1>This does not work</h1><p>{}</p><p>Close this page and begin again in the program you came from.</p>",
        escaped(reason)
    );
    page(status, "This does not work", &body)
}

/// Creates a page with the HTML of a body. It runs no script, loads nothing, and cannot be framed or cached. The title and
/// the body are not escaped.
#[must_use]
pub fn page(status: StatusCode, title: &str, body: &str) -> ProxyResponse {
    let html = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
         <meta name=\"viewport\" content=\"width=device-width\"><style>{STYLE}</style></head><body>{body}</body></html>"
    );
    let mut response = responses::plain(status, html);
    responses::set_retry_after(&mut response);
    let style = STANDARD.encode(Sha256::digest(STYLE));
    // No `form-action`: browsers also apply it to the redirects after the form, which go to the identity provider and
    // to the client.
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{style}'; frame-ancestors 'none'; base-uri 'none'"
    );
    let headers = response.headers_mut();
    if let Ok(policy) = HeaderValue::try_from(policy) {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    for (name, value) in [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (X_FRAME_OPTIONS, "DENY"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // Not `no-referrer`: the form would then be sent without its origin.
        (REFERRER_POLICY, "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Escapes text for a page, also for quoted attributes.
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn consent_html(name: Option<&str>, redirect: &str, is_described: bool) -> String {
        let destination = Destination::of(redirect).unwrap();
        let response = consent_page(&ConsentPage {
            server: "demo",
            client_name: name,
            client_id: "<id>",
            is_described,
            destination: &destination,
            redirect_uri: redirect,
            scopes: "",
            action: "/consent",
            request: "sealed",
        });
        String::from_utf8(response.body().to_vec()).unwrap()
    }

    #[test]
    fn client_metadata_is_escaped() {
        let attack = "</h1><script>alert('1')</script>\"&";
        let page = consent_html(Some(attack), "https://app.example.com/cb", true);
        assert!(!page.contains("<script>"), "{page}");
        let shown = "&lt;/h1&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&quot;&amp;";
        assert!(page.contains(shown), "{page}");
        assert!(page.contains("&lt;id&gt;") && page.contains("app.example.com"));
    }

    #[test]
    fn unverified_names_and_local_redirects_show_warnings() {
        let check = |redirect: &str, is_described, warnings: usize| {
            let page = consent_html(Some("A"), redirect, is_described);
            assert_eq!(
                page.matches("class=\"warning\"").count(),
                warnings,
                "{page}"
            );
        };
        check("https://app.example.com/cb", true, 0);
        check("https://app.example.com/cb", false, 1);
        check("http://127.0.0.1:1/cb", true, 1);
        check("http://localhost/cb", false, 2);
    }

    #[test]
    fn unnamed_client_has_a_placeholder_name() {
        for name in [None, Some(""), Some("\u{200B}")] {
            let page = consent_html(name, "https://a/cb", true);
            assert!(page.contains("A client without a name"), "{page}");
        }
    }

    #[test]
    fn pages_forbid_framing_caching_and_scripts() {
        let response = error_page(StatusCode::BAD_REQUEST, "<b>");
        let header = |name: &str| response.headers().get(name).unwrap().to_str().unwrap();
        let policy = header("content-security-policy");
        for part in [
            "default-src 'none'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
        ] {
            assert!(policy.contains(part), "{policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(header("x-frame-options"), "DENY");
        assert_eq!(header("cache-control"), "no-store");
        assert_eq!(header("referrer-policy"), "same-origin");
        assert!(!String::from_utf8_lossy(response.body()).contains("<b>"));
    }
}
