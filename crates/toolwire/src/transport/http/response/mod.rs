//! HTTP responses: statuses, headers, and the common form of all rejections.

pub(crate) mod body;
pub(crate) mod event_queue;
pub(crate) mod event_stream;
pub(crate) mod sanitize;
pub(crate) mod stall_monitor;
pub(crate) mod stream_source;

use std::borrow::Cow;

use http::header::{ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use toolwire_proto::admit::http_status_of;
use toolwire_proto::features::Era;
use toolwire_proto::requests::overloaded_error;
use toolwire_types::{ErrorObject, RequestId, ResponseId};

use crate::engine::Outcome;
use crate::engine::encoding::{EncodedResponse, encode_error};
use crate::store::StoreError;
use crate::transport::http::access_log::AccessEntry;
use crate::transport::http::listener::read_timeout::RequestGuard;
use crate::transport::http::response::body::ServerBody;
use crate::transport::http::response::event_stream::EventStream;

/// A response that is not sent yet. The type is small, because responses are moved often. Most responses have no header
/// field except the content type, so the header map is optional.
#[derive(Debug)]
pub(crate) struct HttpResponse {
    status: StatusCode,
    is_json: bool,
    /// The header fields without `Content-Type: application/json`.
    fields: Option<Box<HeaderMap>>,
    body: ServerBody,
}

impl HttpResponse {
    pub(crate) fn new(status: StatusCode, body: ServerBody) -> Self {
        Self {
            status,
            is_json: false,
            fields: None,
            body,
        }
    }

    /// Creates a response with these header fields.
    pub(crate) fn with_fields(status: StatusCode, fields: HeaderMap, body: ServerBody) -> Self {
        Self {
            fields: Some(Box::new(fields)),
            ..Self::new(status, body)
        }
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    /// Returns `true` if the body is JSON. The fields then do not contain the content type.
    pub(crate) fn is_json(&self) -> bool {
        self.is_json
    }

    /// Returns the header fields without `Content-Type: application/json`.
    pub(crate) fn fields(&self) -> Option<&HeaderMap> {
        self.fields.as_deref()
    }

    /// Returns the header fields for changes.
    pub(crate) fn fields_mut(&mut self) -> &mut HeaderMap {
        self.fields.get_or_insert_default()
    }

    pub(crate) fn body(&self) -> &ServerBody {
        &self.body
    }

    pub(crate) fn into_body(self) -> ServerBody {
        self.body
    }

    /// Adds a guard that ends the request of the connection when the body is dropped.
    pub(crate) fn with_request_guard(mut self, request: RequestGuard) -> Self {
        self.body = self.body.with_request_guard(request);
        self
    }

    /// Ends the record of an access log, with the body if it is a stream.
    pub(crate) fn with_access_entry(mut self, mut entry: Box<AccessEntry>) -> Self {
        entry.set_status(self.status);
        if self.body.is_complete() {
            entry.add_bytes(self.body.remaining_len());
        } else {
            self.body = self.body.with_access_entry(entry);
        }
        self
    }

    /// Converts the response into the type of the `http` crate.
    pub(crate) fn into_response(self) -> Response<ServerBody> {
        let mut response = Response::new(self.body);
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        if let Some(fields) = self.fields {
            *headers = *fields;
        }
        if self.is_json {
            headers.insert(CONTENT_TYPE, JSON);
        }
        response
    }
}

pub(crate) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");

/// How long a client that was rejected because of too many requests should wait before it retries, in seconds.
const RETRY_AFTER_SECONDS: HeaderValue = HeaderValue::from_static("2");

/// Returns a response with one JSON message.
pub(crate) fn json(status: StatusCode, body: ServerBody) -> HttpResponse {
    HttpResponse {
        is_json: true,
        ..HttpResponse::new(status, body)
    }
}

/// Returns a response with a JSON-RPC error.
#[cold]
pub(crate) fn error(status: StatusCode, id: ResponseId, error: ErrorObject) -> HttpResponse {
    json(status, ServerBody::message(encode_error(id, error)))
}

/// Returns the rejection of a request whose message was not read.
#[cold]
pub(crate) fn reject(status: StatusCode, reason: impl Into<Cow<'static, str>>) -> HttpResponse {
    let object = ErrorObject::invalid_request(reason);
    error(status, ResponseId::Absent, object)
}

/// Returns the same as [`reject`], and closes the connection without reading the rest of the request.
#[cold]
pub(crate) fn reject_and_close(
    status: StatusCode,
    reason: impl Into<Cow<'static, str>>,
) -> HttpResponse {
    close_after(reject(status, reason))
}

/// Closes the connection after a response.
#[cold]
pub(crate) fn close_after(mut response: HttpResponse) -> HttpResponse {
    let close = HeaderValue::from_static("close");
    response.fields_mut().insert(CONNECTION, close);
    response
}

/// Returns 503: the client should retry later.
#[cold]
pub(crate) fn unavailable(reason: impl Into<Cow<'static, str>>) -> HttpResponse {
    overloaded(ResponseId::Absent, overloaded_error(reason))
}

/// Returns 503 for the request with this id: the client should retry later.
#[cold]
pub(crate) fn overloaded(id: ResponseId, object: ErrorObject) -> HttpResponse {
    retry_later(StatusCode::SERVICE_UNAVAILABLE, id, object)
}

/// Returns 429 for a request of a client that has sent too many requests.
#[cold]
pub(crate) fn too_many_requests(id: ResponseId, object: ErrorObject) -> HttpResponse {
    retry_later(StatusCode::TOO_MANY_REQUESTS, id, object)
}

fn retry_later(status: StatusCode, id: ResponseId, object: ErrorObject) -> HttpResponse {
    let mut response = error(status, id, object);
    let headers = response.fields_mut();
    headers.insert(RETRY_AFTER, RETRY_AFTER_SECONDS);
    response
}

/// Returns the response to a request that failed because of a store error.
#[cold]
pub(crate) fn store_error(failure: &StoreError) -> HttpResponse {
    let mut response = overloaded(ResponseId::Absent, store_error_object(failure));
    let seconds = HeaderValue::from(store_retry_seconds());
    response.fields_mut().insert(RETRY_AFTER, seconds);
    response
}

/// Returns the error of a request that failed because of a store, and logs the reason.
#[cold]
pub(crate) fn store_error_object(failure: &StoreError) -> ErrorObject {
    tracing::warn!(error = %failure, "a request failed because of a store error");
    overloaded_error(match failure {
        StoreError::Full | StoreError::OwnerFull => "there are too many sessions",
        StoreError::Taken
        | StoreError::Unavailable(_)
        | StoreError::Unknown(_)
        | StoreError::UnsupportedFormat => "sessions are temporarily unavailable",
    })
}

/// Returns a random time of 1 to 3 seconds, so that the clients of all nodes do not return to a store at once.
fn store_retry_seconds() -> u16 {
    let mut random = [0];
    match getrandom::fill(&mut random) {
        Ok(()) => 1 + u16::from(random[0]) % 3,
        Err(_) => 2,
    }
}

/// Returns 405 with the allowed methods.
#[cold]
pub(crate) fn method_not_allowed(allowed: &'static str) -> HttpResponse {
    let reason = format!("the endpoint supports {allowed} for this request");
    let mut response = reject(StatusCode::METHOD_NOT_ALLOWED, reason);
    let allowed = HeaderValue::from_static(allowed);
    response.fields_mut().insert(ALLOW, allowed);
    response
}

/// Returns a response without a body.
pub(crate) fn empty(status: StatusCode) -> HttpResponse {
    HttpResponse::new(status, ServerBody::empty())
}

/// Returns a response whose body is an event stream.
#[cold]
pub(crate) fn event_stream(stream: EventStream) -> HttpResponse {
    let mut response = HttpResponse::new(StatusCode::OK, ServerBody::stream(stream));
    let headers = response.fields_mut();
    headers.insert(CONTENT_TYPE, EVENT_STREAM);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // Spec 2026-07-28, basic/transports/streamable-http: proxies should not buffer events.
    headers.insert(X_ACCEL_BUFFERING, HeaderValue::from_static("no"));
    response
}

/// The final message of a response.
pub(crate) struct FinalMessage {
    pub(crate) status: StatusCode,
    pub(crate) message: EncodedResponse,
}

impl FinalMessage {
    pub(crate) fn new(id: &RequestId, era: Era, outcome: Outcome) -> Self {
        let status = match &outcome {
            Ok(_) => StatusCode::OK,
            Err(error) => status(http_status_of(error, era)),
        };
        Self {
            status,
            message: EncodedResponse::new(id, outcome),
        }
    }
}

/// Converts a status code of the protocol rules.
pub(crate) fn status(code: u16) -> StatusCode {
    StatusCode::from_u16(code).expect("the protocol rules contain valid status codes")
}

/// Returns the response that consists of the final message only, or 202 for a cancelled request.
pub(crate) fn from_final_message(message: Option<FinalMessage>) -> HttpResponse {
    match message {
        Some(message) => {
            let mut response = json(message.status, ServerBody::response(message.message));
            if message.status == StatusCode::SERVICE_UNAVAILABLE {
                response
                    .fields_mut()
                    .insert(RETRY_AFTER, RETRY_AFTER_SECONDS);
            }
            response
        }
        None => empty(StatusCode::ACCEPTED),
    }
}
