//! The page for a user who opens the server in a browser.
//!
//! The page says that the server is for MCP clients, and with which URL a client connects to it. It runs no script and
//! loads nothing. A request of an MCP client never gets the page: see [`is_requested`].

use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use toolwire_proto::http::lists_media_type;
use toolwire_proto::param_headers::HeaderLookup;

use crate::transport::http::endpoint::HttpEndpoint;
use crate::transport::http::request::headers::RequestHeaders;
use crate::transport::http::response::HttpResponse;
use crate::transport::http::response::body::ServerBody;

impl HttpEndpoint {
    /// Returns the page, if the request is that of a browser to the endpoint or to `/`.
    ///
    /// The endpoint of a server with an authorizer has no page: a request without a token gets 401 there, as the
    /// specification requires.
    #[cold]
    pub(crate) fn browser_page(
        &self,
        parts: &Parts,
        head: &RequestHeaders<'_>,
    ) -> Option<HttpResponse> {
        let has_page = match parts.uri.path() {
            path if path == self.options.path => self.options.authorizer.is_none(),
            path => path == "/",
        };
        if !self.options.browser_page || !has_page || !is_requested(parts, head) {
            return None;
        }
        let url = self.public_url(parts, head)?;
        Some(page(&self.html(&url)))
    }

    fn html(&self, url: &str) -> String {
        let snapshot = self.server.snapshot();
        let info = &snapshot.info;
        // Only callers with a token learn the name of a protected server.
        let (title, version) = match self.options.authorizer {
            None => (
                info.title.as_deref().unwrap_or(&info.name),
                info.version.as_str(),
            ),
            Some(_) => ("MCP server", ""),
        };
        let (title, version, url) = (escaped(title), escaped(version), escaped(url));
        let access = match self.options.authorizer {
            None => "",
            Some(_) => "<p>The client needs authorization, which it asks you for.</p>",
        };
        format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width\"><title>{title}</title></head><body>\
             <h1>{title} {version}</h1>\
             <p>This is a server of the Model Context Protocol (MCP). It serves MCP clients, not browsers.</p>\
             <p>To use it, add this URL to an MCP client:</p><pre>{url}</pre>{access}\
             <p><a href=\"https://modelcontextprotocol.io/\">About the Model Context Protocol</a></p>\
             </body></html>\n"
        )
    }
}

/// Returns `true` if a browser requests a page: it names HTML, and neither event streams nor anything of MCP.
fn is_requested(parts: &Parts, head: &RequestHeaders<'_>) -> bool {
    let routing = &head.routing;
    let mcp_fields = [
        head.session_id,
        routing.protocol_version,
        routing.method,
        routing.name,
    ];
    matches!(parts.method, Method::GET | Method::HEAD)
        && mcp_fields
            .iter()
            .all(|field| *field == HeaderLookup::Absent)
        && !parts.headers.contains_key("last-event-id")
        && lists_media_type(head.accept(), "text/html")
        && !lists_media_type(head.accept(), "text/event-stream")
}

fn page(html: &str) -> HttpResponse {
    let mut fields = HeaderMap::new();
    for (name, value) in [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (
            CONTENT_SECURITY_POLICY,
            "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        ),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-store"),
    ] {
        fields.insert(name, HeaderValue::from_static(value));
    }
    HttpResponse::with_fields(StatusCode::OK, fields, ServerBody::full(html.to_owned()))
}

/// Escapes text for HTML, also in attributes.
fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            letter => html.push(letter),
        }
    }
    html
}
