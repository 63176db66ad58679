//! CORS response headers for web pages that may call the server (Fetch standard).
//!
//! The guard has checked the origin of these requests, so all requested methods and headers are allowed.

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, ORIGIN, VARY,
};
use http::request::Parts;
use http::{HeaderValue, Method, StatusCode};
use toolwire_proto::param_headers::HeaderLookup;

use crate::transport::http::response::{self, HttpResponse};

/// The response headers that web pages may read.
const EXPOSED: HeaderValue =
    HeaderValue::from_static("Mcp-Session-Id, Mcp-Protocol-Version, WWW-Authenticate, Retry-After");

/// How long a browser may cache the response to a preflight request, in seconds.
const MAX_AGE: HeaderValue = HeaderValue::from_static("600");

/// Returns the response to a preflight request, or `None` if the request is not one.
pub(crate) fn preflight(parts: &Parts, methods: &'static str) -> Option<HttpResponse> {
    let headers = &parts.headers;
    let is_preflight = parts.method == Method::OPTIONS
        && headers.contains_key(ORIGIN)
        && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
    if !is_preflight {
        return None;
    }
    let mut response = response::empty(StatusCode::NO_CONTENT);
    let granted = response.fields_mut();
    let methods = HeaderValue::from_static(methods);
    granted.insert(ACCESS_CONTROL_ALLOW_METHODS, methods);
    if let Some(requested) = headers.get(ACCESS_CONTROL_REQUEST_HEADERS) {
        granted.insert(ACCESS_CONTROL_ALLOW_HEADERS, requested.clone());
    }
    granted.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE);
    Some(response)
}

/// Lets pages of every origin read a response that is the same for all clients.
pub(crate) fn expose_to_all(response: &mut HttpResponse) {
    let all = HeaderValue::from_static("*");
    response
        .fields_mut()
        .insert(ACCESS_CONTROL_ALLOW_ORIGIN, all);
}

/// Lets the page that sent the request read the response.
pub(crate) fn expose(origin: HeaderLookup<'_>, response: &mut HttpResponse) {
    let HeaderLookup::One(origin) = origin else {
        return;
    };
    expose_to(origin, response);
}

#[cold]
fn expose_to(origin: &str, response: &mut HttpResponse) {
    let Ok(origin) = HeaderValue::from_str(origin) else {
        return;
    };
    let headers = response.fields_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    headers.append(VARY, HeaderValue::from_static("Origin"));
}
