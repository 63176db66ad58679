//! The responses of the page and of its HTTP interface, with the headers that protect them.

use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Response, StatusCode};
use serde::Serialize;
use serde_json::json;

use crate::inspect::http::event_body::EventBody;

pub(super) type PageBody = Either<Full<Bytes>, EventBody>;
pub(super) type PageResponse = Response<PageBody>;

/// The policy of every response. The page loads nothing from elsewhere, and no other page can contain it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
     img-src 'self' data: blob:; media-src blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The headers of every response.
const HEADERS: [(HeaderName, &str); 6] = [
    (CONTENT_SECURITY_POLICY, POLICY),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (REFERRER_POLICY, "no-referrer"),
    (CACHE_CONTROL, "no-store"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
];

/// Returns a response with the headers of every response.
pub(super) fn response(
    status: StatusCode,
    content_type: &'static str,
    body: PageBody,
) -> PageResponse {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// Returns a response with a JSON value.
pub(super) fn json_response(status: StatusCode, value: &impl Serialize) -> PageResponse {
    match serde_json::to_vec(value) {
        Ok(text) => full(status, "application/json", text.into()),
        Err(problem) => error(
            StatusCode::INTERNAL_SERVER_ERROR,
            &format!("the response cannot be encoded: {problem}"),
            None,
        ),
    }
}

/// Returns a response with bytes in memory.
pub(super) fn full(status: StatusCode, content_type: &'static str, body: Bytes) -> PageResponse {
    response(status, content_type, Either::Left(Full::new(body)))
}

/// Returns an error with its message and the remedy.
pub(super) fn error(status: StatusCode, message: &str, advice: Option<&str>) -> PageResponse {
    let mut value = json!({ "error": message });
    if let Some(advice) = advice {
        value["advice"] = advice.into();
    }
    full(status, "application/json", value.to_string().into())
}

pub(super) fn not_found() -> PageResponse {
    let advice = "the guide `inspect` lists the addresses";
    error(
        StatusCode::NOT_FOUND,
        "there is nothing at this address",
        Some(advice),
    )
}

pub(super) fn no_content() -> PageResponse {
    full(StatusCode::NO_CONTENT, "application/json", Bytes::new())
}
