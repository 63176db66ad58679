//! Web pages that may call the server: what their browser wants to hear before and after (Fetch standard, CORS).
//!
//! Only requests whose origin has passed the guard come here, so everything they ask for may be granted.

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, ORIGIN, VARY,
};
use http::request::Parts;
use http::{HeaderValue, Method, StatusCode};
use toolwire_proto::param_headers::HeaderLookup;

use crate::transport::http::response::{self, HttpResponse};

/// What pages may read besides the body.
const EXPOSED: HeaderValue =
    HeaderValue::from_static("Mcp-Session-Id, Mcp-Protocol-Version, WWW-Authenticate, Retry-After");

/// For how many seconds a browser need not ask again.
const MAX_AGE: HeaderValue = HeaderValue::from_static("600");

/// The answer to a browser that asks whether it may send a request at all.
pub(crate) fn preflight(parts: &Parts, methods: &'static str) -> Option<HttpResponse> {
    let headers = &parts.headers;
    let asks = parts.method == Method::OPTIONS
        && headers.contains_key(ORIGIN)
        && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
    if !asks {
        return None;
    }
    let mut answer = response::empty(StatusCode::NO_CONTENT);
    let granted = answer.fields_mut();
    let methods = HeaderValue::from_static(methods);
    granted.insert(ACCESS_CONTROL_ALLOW_METHODS, methods);
    if let Some(wanted) = headers.get(ACCESS_CONTROL_REQUEST_HEADERS) {
        granted.insert(ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
    }
    granted.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE);
    Some(answer)
}

/// Lets every page read an answer that is the same for everybody.
pub(crate) fn expose_to_all(answer: &mut HttpResponse) {
    let all = HeaderValue::from_static("*");
    answer.fields_mut().insert(ACCESS_CONTROL_ALLOW_ORIGIN, all);
}

/// Lets the page that asked read the answer.
pub(crate) fn expose(origin: HeaderLookup<'_>, answer: &mut HttpResponse) {
    let HeaderLookup::One(origin) = origin else {
        return;
    };
    expose_to(origin, answer);
}

#[cold]
fn expose_to(origin: &str, answer: &mut HttpResponse) {
    let Ok(origin) = HeaderValue::from_str(origin) else {
        return;
    };
    let headers = answer.fields_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    headers.append(VARY, HeaderValue::from_static("Origin"));
}
