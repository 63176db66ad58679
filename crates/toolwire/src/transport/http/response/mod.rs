//! Answers: statuses, headers, and the one shape of every refusal.

pub(crate) mod body;
pub(crate) mod event_queue;
pub(crate) mod event_source;
pub(crate) mod event_stream;
pub(crate) mod sanitize;
pub(crate) mod stall_monitor;

use std::borrow::Cow;

use http::header::{ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use toolwire_proto::admit::http_status_for;
use toolwire_proto::features::Era;
use toolwire_types::{ErrorObject, RequestId, ResponseId};

use crate::engine::Outcome;
use crate::engine::exchange::{EncodedResponse, encode_error};
use crate::store::StoreError;
use crate::transport::http::listener::read_timeout::RequestGuard;
use crate::transport::http::response::body::ServerBody;
use crate::transport::http::response::event_stream::EventStream;

/// An answer that is not sent yet. Small, because it goes through many hands: hardly any has more in its head than its type.
#[derive(Debug)]
pub(crate) struct HttpResponse {
    status: StatusCode,
    is_json: bool,
    /// What its head says besides.
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

    /// An answer with all that is in its head.
    pub(crate) fn with_fields(status: StatusCode, fields: HeaderMap, body: ServerBody) -> Self {
        Self {
            fields: Some(Box::new(fields)),
            ..Self::new(status, body)
        }
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    /// Whether its body is JSON, which its fields do not say again.
    pub(crate) fn is_json(&self) -> bool {
        self.is_json
    }

    /// What its head says besides.
    pub(crate) fn fields(&self) -> Option<&HeaderMap> {
        self.fields.as_deref()
    }

    /// The same, to say more.
    pub(crate) fn fields_mut(&mut self) -> &mut HeaderMap {
        self.fields.get_or_insert_default()
    }

    pub(crate) fn body(&self) -> &ServerBody {
        &self.body
    }

    pub(crate) fn into_body(self) -> ServerBody {
        self.body
    }

    /// The same answer, whose body ends a request of its connection when it is dropped.
    pub(crate) fn with_request_guard(mut self, request: RequestGuard) -> Self {
        self.body = self.body.during(request);
        self
    }

    /// For whoever speaks in types of `http`.
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

/// How long a client that was turned away should wait, in seconds.
const RETRY_AFTER_SECONDS: HeaderValue = HeaderValue::from_static("2");

/// One message.
pub(crate) fn json(status: StatusCode, body: ServerBody) -> HttpResponse {
    HttpResponse {
        is_json: true,
        ..HttpResponse::new(status, body)
    }
}

/// One error.
#[cold]
pub(crate) fn error(status: StatusCode, id: ResponseId, error: ErrorObject) -> HttpResponse {
    json(status, ServerBody::message(encode_error(id, error)))
}

/// A request that is turned away before anybody has read its message.
#[cold]
pub(crate) fn reject(status: StatusCode, reason: impl Into<Cow<'static, str>>) -> HttpResponse {
    let object = ErrorObject::invalid_request(reason);
    error(status, ResponseId::Absent, object)
}

/// As [`refuse`], and the rest of the request is not wanted.
#[cold]
pub(crate) fn reject_and_close(
    status: StatusCode,
    reason: impl Into<Cow<'static, str>>,
) -> HttpResponse {
    close_after(reject(status, reason))
}

/// The same response, after which the connection closes.
#[cold]
pub(crate) fn close_after(mut answer: HttpResponse) -> HttpResponse {
    let close = HeaderValue::from_static("close");
    answer.fields_mut().insert(CONNECTION, close);
    answer
}

/// Come back later.
#[cold]
pub(crate) fn unavailable(reason: impl Into<Cow<'static, str>>) -> HttpResponse {
    let object =
        ErrorObject::internal(reason).with_data(serde_json::json!({ "reason": "overloaded" }));
    overloaded(ResponseId::Absent, object)
}

/// Come back later with this request.
#[cold]
pub(crate) fn overloaded(id: ResponseId, object: ErrorObject) -> HttpResponse {
    retry_later(StatusCode::SERVICE_UNAVAILABLE, id, object)
}

/// Rejects a request of a client that has sent too many.
#[cold]
pub(crate) fn too_many_requests(id: ResponseId, object: ErrorObject) -> HttpResponse {
    retry_later(StatusCode::TOO_MANY_REQUESTS, id, object)
}

fn retry_later(status: StatusCode, id: ResponseId, object: ErrorObject) -> HttpResponse {
    let mut answer = error(status, id, object);
    let headers = answer.fields_mut();
    headers.insert(RETRY_AFTER, RETRY_AFTER_SECONDS);
    answer
}

/// A store did not do what it was asked, so nothing is served that would need it.
#[cold]
pub(crate) fn store_error(failure: &StoreError) -> HttpResponse {
    tracing::warn!(error = %failure, "a request cannot be served");
    unavailable(match failure {
        StoreError::Full | StoreError::OwnerFull => "there are too many sessions at the moment",
        StoreError::Unavailable(_) => "sessions cannot be served at the moment",
    })
}

/// The HTTP method is not served here.
#[cold]
pub(crate) fn method_not_allowed(allowed: &'static str) -> HttpResponse {
    let reason = format!("the endpoint takes {allowed} for what the request says it is");
    let mut answer = reject(StatusCode::METHOD_NOT_ALLOWED, reason);
    let allowed = HeaderValue::from_static(allowed);
    answer.fields_mut().insert(ALLOW, allowed);
    answer
}

/// Nothing to say.
pub(crate) fn empty(status: StatusCode) -> HttpResponse {
    HttpResponse::new(status, ServerBody::empty())
}

/// Events as they come.
#[cold]
pub(crate) fn event_stream(stream: EventStream) -> HttpResponse {
    let mut answer = HttpResponse::new(StatusCode::OK, ServerBody::stream(stream));
    let headers = answer.fields_mut();
    headers.insert(CONTENT_TYPE, EVENT_STREAM);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // Spec 2026-07-28, basic/transports/streamable-http: proxies are asked not to hold events back.
    headers.insert(X_ACCEL_BUFFERING, HeaderValue::from_static("no"));
    answer
}

/// The last message of an answer.
pub(crate) struct FinalMessage {
    pub(crate) status: StatusCode,
    pub(crate) message: EncodedResponse,
}

impl FinalMessage {
    pub(crate) fn new(id: &RequestId, era: Era, outcome: Outcome) -> Self {
        let status = match &outcome {
            Ok(_) => StatusCode::OK,
            Err(error) => status(http_status_for(error.code, era)),
        };
        Self {
            status,
            message: EncodedResponse::new(id, outcome),
        }
    }
}

/// A status the rules name.
pub(crate) fn status(code: u16) -> StatusCode {
    StatusCode::from_u16(code).expect("the rules name real statuses")
}

/// The last message of a request, which is also the first; nothing is said of a request that was cancelled.
pub(crate) fn finished(finished: Option<FinalMessage>) -> HttpResponse {
    match finished {
        Some(finished) => json(finished.status, ServerBody::answer(finished.message)),
        None => empty(StatusCode::ACCEPTED),
    }
}
