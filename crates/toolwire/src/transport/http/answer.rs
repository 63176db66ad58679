//! Answers: statuses, headers, and the one shape of every refusal.

use std::borrow::Cow;

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderName, HeaderValue, Response, StatusCode};
use toolwire_proto::admit::http_status_for;
use toolwire_proto::features::Era;
use toolwire_types::{ErrorObject, RequestId, ResponseId};

use crate::engine::Outcome;
use crate::engine::exchange::{EncodedAnswer, encode_error};
use crate::store::StoreError;
use crate::transport::http::body::HttpBody;
use crate::transport::http::event_stream::EventStream;

pub(super) type Answer = Response<HttpBody>;

pub(super) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");

/// How long a client that was turned away should wait, in seconds.
const RETRY_AFTER_SECONDS: HeaderValue = HeaderValue::from_static("2");

/// One message.
pub(super) fn json(status: StatusCode, message: impl Into<Bytes>) -> Answer {
    with_json(status, HttpBody::full(message))
}

fn with_json(status: StatusCode, body: HttpBody) -> Answer {
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, JSON);
    answer
}

/// One error.
pub(super) fn error(status: StatusCode, id: ResponseId, error: ErrorObject) -> Answer {
    json(status, encode_error(id, error))
}

/// A request that is turned away before anybody has read its message.
pub(super) fn refuse(status: StatusCode, reason: impl Into<Cow<'static, str>>) -> Answer {
    let object = ErrorObject::invalid_request(reason);
    error(status, ResponseId::Absent, object)
}

/// As [`refuse`], and the rest of the request is not wanted.
pub(super) fn refuse_and_close(status: StatusCode, reason: impl Into<Cow<'static, str>>) -> Answer {
    let mut answer = refuse(status, reason);
    let close = HeaderValue::from_static("close");
    answer.headers_mut().insert(CONNECTION, close);
    answer
}

/// Come back later.
pub(super) fn unavailable(reason: impl Into<Cow<'static, str>>) -> Answer {
    let object =
        ErrorObject::internal(reason).with_data(serde_json::json!({ "reason": "overloaded" }));
    overloaded(ResponseId::Absent, object)
}

/// Come back later with this request.
pub(super) fn overloaded(id: ResponseId, object: ErrorObject) -> Answer {
    let mut answer = error(StatusCode::SERVICE_UNAVAILABLE, id, object);
    let headers = answer.headers_mut();
    headers.insert(RETRY_AFTER, RETRY_AFTER_SECONDS);
    answer
}

/// A store did not do what it was asked, so nothing is served that would need it.
pub(super) fn store_failed(failure: &StoreError) -> Answer {
    tracing::warn!(error = %failure, "a request cannot be served");
    unavailable(match failure {
        StoreError::Full => "there are too many sessions at the moment",
        StoreError::Unavailable(_) => "sessions cannot be served at the moment",
    })
}

/// The HTTP method is not served here.
pub(super) fn method_not_allowed(allowed: &'static str) -> Answer {
    let reason = format!("the endpoint takes {allowed} for what the request says it is");
    let mut answer = refuse(StatusCode::METHOD_NOT_ALLOWED, reason);
    let allowed = HeaderValue::from_static(allowed);
    answer.headers_mut().insert(ALLOW, allowed);
    answer
}

/// Nothing to say.
pub(super) fn empty(status: StatusCode) -> Answer {
    let mut answer = Response::new(HttpBody::empty());
    *answer.status_mut() = status;
    answer
}

/// Events as they come.
pub(super) fn event_stream(stream: EventStream) -> Answer {
    event_stream_headers(HttpBody::stream(stream))
}

fn event_stream_headers(body: HttpBody) -> Answer {
    let mut answer = Response::new(body);
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, EVENT_STREAM);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // Spec 2026-07-28, basic/transports/streamable-http: proxies are asked not to hold events back.
    headers.insert(X_ACCEL_BUFFERING, HeaderValue::from_static("no"));
    answer
}

/// The last message of an answer.
pub(super) struct Finished {
    pub(super) status: StatusCode,
    pub(super) message: EncodedAnswer,
}

impl Finished {
    pub(super) fn new(id: &RequestId, era: Era, outcome: Outcome) -> Self {
        let status = match &outcome {
            Ok(_) => StatusCode::OK,
            Err(error) => status(http_status_for(error.code, era)),
        };
        Self {
            status,
            message: EncodedAnswer::new(id, outcome),
        }
    }
}

/// A status the rules name.
pub(super) fn status(code: u16) -> StatusCode {
    StatusCode::from_u16(code).expect("the rules name real statuses")
}

/// The last message of a request, which is also the first; nothing is said of a request that was cancelled.
pub(super) fn finished(finished: Option<Finished>) -> Answer {
    match finished {
        Some(finished) => with_json(finished.status, HttpBody::answer(finished.message)),
        None => empty(StatusCode::ACCEPTED),
    }
}
