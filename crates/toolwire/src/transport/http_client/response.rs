//! Reads the response to a POST: a JSON message, an event stream, or a status that is not a success.

use bytes::{Bytes, BytesMut};
use http::header::CONTENT_TYPE;
use http::{Response, StatusCode};
use toolwire_proto::envelope::{Envelope, ResponseEnvelope};
use toolwire_proto::http::{is_event_stream, is_json};
use toolwire_proto::requests::spellings;
use toolwire_proto::sse::SseEvent;
use toolwire_proto::strict_json;
use toolwire_types::{RawJson, RequestId, ResponseId};

use crate::client::http::ClientBody;
use crate::client::message_router::MessageRouter;
use crate::client::transport::ServerResponse;
use crate::error::{Closure, Error};

/// The maximum number of bytes that are read of a response whose status is not a success.
const MAX_ERROR_BODY_BYTES: usize = 64 * 1024;
/// The maximum number of characters of such a response that an error text repeats.
const SHOWN_CHARACTERS: usize = 200;

/// A response to a POST, classified by its status and its content type.
pub(super) enum PostResponse {
    /// The status is 200, and the body is one message.
    Json(ClientBody),
    /// The status is 200, and the body is an event stream.
    Events(ClientBody),
    /// The status is not a success. [`status_error`] reads the body.
    Rejected(Response<ClientBody>),
}

/// Classifies a response to a request.
///
/// # Errors
/// Returns an error if the status is a success but the body is neither JSON nor an event stream.
pub(super) fn classify(response: Response<ClientBody>) -> Result<PostResponse, Error> {
    let status = response.status();
    if !status.is_success() {
        return Ok(PostResponse::Rejected(response));
    }
    // 202 and 204 are responses to notifications. They are not valid for a request.
    if status.as_u16() == 200 {
        if is_json(content_type(&response)) {
            return Ok(PostResponse::Json(response.into_body()));
        }
        if is_stream(&response) {
            return Ok(PostResponse::Events(response.into_body()));
        }
    }
    let kind = content_type(&response).unwrap_or("no content type");
    Err(Error::protocol(format!(
        "the server responded with HTTP status {status} and {kind}; check that this is the URL of an MCP endpoint"
    )))
}

/// Returns the error of a rejected request like [`status_error`], and reports its message to the listener.
pub(super) async fn rejection(
    response: Response<ClientBody>,
    router: &MessageRouter,
    id: &RequestId,
) -> Error {
    let status = response.status();
    let body = response.into_body().collect(MAX_ERROR_BODY_BYTES).await;
    let body = body.unwrap_or_default();
    let error = error_of(status, &body);
    if error.rpc().is_some() {
        router.incoming.handlers.wire.received(&body, Some(id));
    }
    error
}

/// Returns the error of a response whose status is not a success. It contains the JSON-RPC error if the body has one.
pub(super) async fn status_error(response: Response<ClientBody>) -> Error {
    let status = response.status();
    let body = response.into_body().collect(MAX_ERROR_BODY_BYTES).await;
    error_of(status, &body.unwrap_or_default())
}

fn error_of(status: StatusCode, body: &[u8]) -> Error {
    let limits = strict_json::Limits::default();
    let error = match strict_json::read(body, &limits) {
        Ok(Envelope::Response(ResponseEnvelope {
            outcome: Err(error),
            ..
        })) => Error::from(error),
        _ => Error::protocol(match first_line(body) {
            Some(text) => format!("the server responded with HTTP status {status}: {text}"),
            None => format!("the server responded with HTTP status {status}"),
        }),
    };
    error.with_http_status(status.as_u16())
}

/// Reads the message of a JSON response.
pub(super) async fn read_json(
    mut body: ClientBody,
    limit: usize,
    router: &MessageRouter,
    id: &RequestId,
) -> Result<ServerResponse, Error> {
    let bytes = match body.take_buffered() {
        Some(bytes) => {
            check_length(bytes.len(), limit)?;
            bytes
        }
        // Boxed, so that it does not enlarge the future of bodies in memory.
        None => Box::pin(read_chunks(body, limit)).await?,
    };
    // A server that cannot parse the request does not know its id. This body can only respond to this request.
    let is_match = |response: &ResponseEnvelope<'_>| match &response.id {
        ResponseId::Id(response_id) => is_id_of(response_id, id),
        ResponseId::Null | ResponseId::Absent => response.outcome.is_err(),
    };
    match route_if(router, &bytes, id, is_match)? {
        Some(response) => Ok(response),
        None => Err(Error::protocol(
            "the server's response does not match the request",
        )),
    }
}

/// Reads the chunks of a body. Most bodies have one chunk, which needs no copy.
async fn read_chunks(mut body: ClientBody, limit: usize) -> Result<Bytes, Error> {
    let mut first = Bytes::new();
    let mut whole = BytesMut::new();
    while let Some(chunk) = body.chunk().await {
        let chunk = chunk.map_err(|error| truncated_error().with_source(error))?;
        check_length(first.len().max(whole.len()) + chunk.len(), limit)?;
        if first.is_empty() {
            first = chunk;
            continue;
        }
        if whole.is_empty() {
            whole.extend_from_slice(&first);
        }
        whole.extend_from_slice(&chunk);
    }
    Ok(if whole.is_empty() {
        first
    } else {
        whole.freeze()
    })
}

fn check_length(length: usize, limit: usize) -> Result<(), Error> {
    if length <= limit {
        Ok(())
    } else {
        Err(Error::limit(
            "the server's response is larger than ClientLimits::message_bytes; raise this limit",
        ))
    }
}

/// Returns the error of a response that ended early.
pub(super) fn truncated_error() -> Error {
    Error::closed_because(Closure {
        reason: "the connection was lost before the response arrived".to_owned(),
        exit: None,
    })
}

/// Checks that the stream of a response is one of Streamable HTTP.
///
/// # Errors
/// Returns [`Error::http_with_sse`] if the event is the first of the HTTP+SSE transport. Some servers of that transport
/// respond to a POST like to a GET.
pub(super) fn check_transport(event: &SseEvent) -> Result<(), Error> {
    match event.event.as_deref() {
        Some("endpoint") => Err(Error::http_with_sse()),
        _ => Ok(()),
    }
}

/// Routes one message of an event stream. Returns the response to the request, or `None` for any other message.
///
/// # Errors
/// Returns an error if the message has the id of the request but is invalid.
pub(super) fn route(
    router: &MessageRouter,
    bytes: &[u8],
    id: &RequestId,
) -> Result<Option<ServerResponse>, Error> {
    route_if(router, bytes, id, |response| match &response.id {
        ResponseId::Id(response_id) => is_id_of(response_id, id),
        ResponseId::Null | ResponseId::Absent => false,
    })
}

fn route_if(
    router: &MessageRouter,
    bytes: &[u8],
    id: &RequestId,
    is_match: impl Fn(&ResponseEnvelope<'_>) -> bool,
) -> Result<Option<ServerResponse>, Error> {
    let mut matched = None;
    let routed = router.route(bytes, Some(id), &mut |response| {
        if is_match(&response) && matched.is_none() {
            matched = Some(response.outcome.map(RawJson::from));
        } else {
            router
                .incoming
                .count_skipped("a response without a pending call");
        }
    });
    match routed {
        Ok(()) => Ok(matched),
        Err(malformed) => {
            if strict_json::salvage_id(bytes).is_some_and(|response_id| is_id_of(&response_id, id))
            {
                return Err(Error::protocol(format!(
                    "the server's response is invalid: {}",
                    malformed.error.message
                )));
            }
            router
                .incoming
                .count_skipped("an event that is not a message");
            Ok(None)
        }
    }
}

fn is_id_of(response_id: &RequestId, request_id: &RequestId) -> bool {
    spellings(response_id).any(|id| id == *request_id)
}

/// Returns `true` if the content type of a response is an event stream.
pub(super) fn is_stream(response: &Response<ClientBody>) -> bool {
    is_event_stream(content_type(response))
}

/// Checks the response to a notification or to a client response. Any success is valid, and a body is ignored.
pub(super) async fn check_accepted(response: Response<ClientBody>) -> Result<(), Error> {
    if response.status().is_success() {
        Ok(())
    } else {
        Err(status_error(response).await)
    }
}

fn content_type(response: &Response<ClientBody>) -> Option<&str> {
    response.headers().get(CONTENT_TYPE)?.to_str().ok()
}

/// Returns the beginning of the first line of a body, or `None` if the body is not text or is empty.
fn first_line(body: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(body).ok()?.trim();
    let line = text.lines().next()?;
    let line: String = line
        .chars()
        .filter(|c| !c.is_control())
        .take(SHOWN_CHARACTERS)
        .collect();
    (!line.is_empty()).then_some(line)
}
