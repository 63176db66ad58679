//! Creates the responses of the proxy: documents, redirects and errors. All of them forbid caching.

use bytes::Bytes;
use http::header::{
    CACHE_CONTROL, CONTENT_TYPE, LOCATION, PRAGMA, REFERRER_POLICY, RETRY_AFTER, WWW_AUTHENTICATE,
};
use http::{HeaderValue, Response, StatusCode};
use serde::Serialize;

use crate::documents::OAuthError;
use crate::rules::authorization_server::token::TokenRequestError;

pub(crate) type ProxyResponse = Response<Bytes>;

/// Creates a response that must not be cached (RFC 6749, section 5.1).
pub(super) fn plain(status: StatusCode, body: impl Into<Bytes>) -> ProxyResponse {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(PRAGMA, HeaderValue::from_static("no-cache"));
    response
}

/// Creates a response with a JSON document.
pub(super) fn json(status: StatusCode, document: &impl Serialize) -> ProxyResponse {
    let body = serde_json::to_vec(document).expect("a map of strings serializes to JSON");
    let mut response = plain(status, body);
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

/// Creates an OAuth error response (RFC 6749, section 5.2).
pub(super) fn error(status: StatusCode, code: &str, description: &str) -> ProxyResponse {
    json(status, &OAuthError::new(code).with_description(description))
}

/// Creates the error response of the token endpoint. A client that used the `Authorization` header gets a challenge.
pub(super) fn token_error(rejection: TokenRequestError, in_header: bool) -> ProxyResponse {
    let status = StatusCode::from_u16(rejection.status()).unwrap_or(StatusCode::BAD_REQUEST);
    let mut response = error(status, rejection.code(), &rejection.to_string());
    if rejection == TokenRequestError::InvalidClient && in_header {
        let basic = HeaderValue::from_static("Basic realm=\"token\"");
        response.headers_mut().insert(WWW_AUTHENTICATE, basic);
    }
    response
}

/// Creates the response if a required service is unavailable.
pub(super) fn unavailable(reason: &dyn std::fmt::Display) -> ProxyResponse {
    tracing::error!(%reason, "a request to the OAuth proxy failed");
    let mut response = error(
        StatusCode::SERVICE_UNAVAILABLE,
        "temporarily_unavailable",
        "the server is temporarily unavailable; try again later",
    );
    set_retry_after(&mut response);
    response
}

/// Adds `Retry-After` to a response with status 503.
pub(super) fn set_retry_after(response: &mut ProxyResponse) {
    if response.status() == StatusCode::SERVICE_UNAVAILABLE {
        let seconds = HeaderValue::from_static("60");
        response.headers_mut().insert(RETRY_AFTER, seconds);
    }
}

/// Redirects a user. The destination gets no referrer, because that URL may contain a code.
#[must_use]
pub fn redirect(url: &str) -> ProxyResponse {
    let Ok(location) = HeaderValue::try_from(url) else {
        return error(
            StatusCode::BAD_REQUEST,
            "invalid_request",
            "the redirect target is not a valid URL",
        );
    };
    let mut response = plain(StatusCode::SEE_OTHER, Bytes::new());
    let headers = response.headers_mut();
    headers.insert(LOCATION, location);
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}
