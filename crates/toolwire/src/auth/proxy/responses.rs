//! Answers of the proxy: documents, redirects and refusals. None of them may be kept by anybody.

use bytes::Bytes;
use http::header::{
    CACHE_CONTROL, CONTENT_TYPE, LOCATION, PRAGMA, REFERRER_POLICY, RETRY_AFTER, WWW_AUTHENTICATE,
};
use http::{HeaderValue, Response, StatusCode};
use serde::Serialize;
use toolwire_proto::auth::authorization_server::token::TokenRequestError;
use toolwire_types::auth::OAuthError;

pub(super) type ProxyResponse = Response<Bytes>;

/// An answer that nobody keeps (RFC 6749, section 5.1).
pub(super) fn plain(status: StatusCode, body: impl Into<Bytes>) -> ProxyResponse {
    let mut answer = Response::new(body.into());
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(PRAGMA, HeaderValue::from_static("no-cache"));
    answer
}

/// A document.
pub(super) fn json(status: StatusCode, document: &impl Serialize) -> ProxyResponse {
    let body = serde_json::to_vec(document).expect("texts by name are JSON");
    let mut answer = plain(status, body);
    let json = HeaderValue::from_static("application/json");
    answer.headers_mut().insert(CONTENT_TYPE, json);
    answer
}

/// A refusal to a client (RFC 6749, section 5.2).
pub(super) fn error(status: StatusCode, code: &str, description: &str) -> ProxyResponse {
    json(status, &OAuthError::new(code).with_description(description))
}

/// A refusal of the token endpoint. Who tried the header is told how it is meant to be used.
pub(super) fn token_refused(refused: TokenRequestError, in_header: bool) -> ProxyResponse {
    let status = StatusCode::from_u16(refused.status()).unwrap_or(StatusCode::BAD_REQUEST);
    let mut answer = error(status, refused.code(), &refused.to_string());
    if refused == TokenRequestError::InvalidClient && in_header {
        let basic = HeaderValue::from_static("Basic realm=\"token\"");
        answer.headers_mut().insert(WWW_AUTHENTICATE, basic);
    }
    answer
}

/// The refusal while something that is needed does not work.
pub(super) fn unavailable(why: &dyn std::fmt::Display) -> ProxyResponse {
    tracing::error!(%why, "a request to the OAuth proxy cannot be answered");
    let mut answer = error(
        StatusCode::SERVICE_UNAVAILABLE,
        "temporarily_unavailable",
        "this does not work at the moment; try again later",
    );
    name_retry(&mut answer);
    answer
}

/// Adds to a response with 503 when to try again.
pub(super) fn name_retry(answer: &mut ProxyResponse) {
    if answer.status() == StatusCode::SERVICE_UNAVAILABLE {
        let seconds = HeaderValue::from_static("60");
        answer.headers_mut().insert(RETRY_AFTER, seconds);
    }
}

/// Sends a user somewhere. The place learns nothing of where the user was: that URL may hold a code.
pub(super) fn redirect(url: &str) -> ProxyResponse {
    let Ok(location) = HeaderValue::try_from(url) else {
        return error(
            StatusCode::BAD_REQUEST,
            "invalid_request",
            "there is no way to this place",
        );
    };
    let mut answer = plain(StatusCode::SEE_OTHER, Bytes::new());
    let headers = answer.headers_mut();
    headers.insert(LOCATION, location);
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    answer
}
