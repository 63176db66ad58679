//! What came back for one POST: a message, a stream of them, or a refusal.

use bytes::{Bytes, BytesMut};
use http::Response;
use http::header::CONTENT_TYPE;
use toolwire_proto::envelope::{Envelope, ResponseEnvelope};
use toolwire_proto::http::{is_event_stream, is_json};
use toolwire_proto::requests::spellings;
use toolwire_proto::strict_json;
use toolwire_types::{RawJson, RequestId, ResponseId};

use crate::client::http::ClientBody;
use crate::client::message_router::MessageRouter;
use crate::client::transport::ServerResponse;
use crate::error::{Closure, Error};

/// How much of a refusal is read.
const MAX_ERROR_BODY_BYTES: usize = 64 * 1024;
/// How much of a refusal that is no message is repeated in the error.
const SHOWN_BYTES: usize = 200;

/// An answer to a request, by its status and its content type.
pub(super) enum ResponseBody {
    /// One message, unread.
    Json(ClientBody),
    /// A stream of messages.
    Events(ClientBody),
    /// No success; [`refusal`] tells what it says.
    Refused(Response<ClientBody>),
}

/// Sorts an answer to a request.
///
/// # Errors
/// When a success is neither JSON nor a stream.
pub(super) fn classify(response: Response<ClientBody>) -> Result<ResponseBody, Error> {
    let status = response.status();
    if !status.is_success() {
        return Ok(ResponseBody::Refused(response));
    }
    // 202 and 204 accept something that wants no answer; a request does.
    if status.as_u16() == 200 {
        if is_json(content_type(&response)) {
            return Ok(ResponseBody::Json(response.into_body()));
        }
        if is_stream(&response) {
            return Ok(ResponseBody::Events(response.into_body()));
        }
    }
    let kind = content_type(&response).unwrap_or("no content type");
    Err(Error::protocol(format!(
        "the server answered a request with HTTP status {status} and {kind}; is this the address of an MCP endpoint?"
    )))
}

/// The error of an answer whose status is no success, with the JSON-RPC error in it when there is one.
pub(super) async fn status_error(response: Response<ClientBody>) -> Error {
    let status = response.status();
    let body = response.into_body().collect(MAX_ERROR_BODY_BYTES).await;
    let body = body.unwrap_or_default();
    let limits = strict_json::Limits::default();
    let error = match strict_json::read(&body, &limits) {
        Ok(Envelope::Response(ResponseEnvelope {
            outcome: Err(error),
            ..
        })) => Error::from(error),
        _ => Error::protocol(match shown(&body) {
            Some(text) => format!("the server answered with HTTP status {status}: {text}"),
            None => format!("the server answered with HTTP status {status}"),
        }),
    };
    error.with_http_status(status.as_u16())
}

/// Reads the one message of a JSON answer.
pub(super) async fn read_json(
    mut body: ClientBody,
    limit: usize,
    intake: &MessageRouter,
    id: &RequestId,
) -> Result<ServerResponse, Error> {
    let bytes = match body.take_whole() {
        Some(bytes) => {
            within(bytes.len(), limit)?;
            bytes
        }
        // Boxed, so that answers which are there already do not carry it around.
        None => Box::pin(read_pieces(body, limit)).await?,
    };
    // A server that could not read the request does not know its id; here it can mean no other.
    let is_meant = |response: &ResponseEnvelope<'_>| match &response.id {
        ResponseId::Id(theirs) => is_id_of(theirs, id),
        ResponseId::Null | ResponseId::Absent => response.outcome.is_err(),
    };
    match take_if(intake, &bytes, id, is_meant)? {
        Some(answer) => Ok(answer),
        None => Err(Error::protocol(
            "the server's answer does not belong to the request",
        )),
    }
}

/// Puts the pieces of a body together. Most answers are one piece, which needs no copy.
async fn read_pieces(mut body: ClientBody, limit: usize) -> Result<Bytes, Error> {
    let mut first = Bytes::new();
    let mut whole = BytesMut::new();
    while let Some(chunk) = body.chunk().await {
        let chunk = chunk.map_err(|error| truncated().with_source(error))?;
        within(first.len().max(whole.len()) + chunk.len(), limit)?;
        if first.is_empty() {
            first = chunk;
            continue;
        }
        if whole.is_empty() {
            whole.extend_from_slice(&first);
        }
        whole.extend_from_slice(&chunk);
    }
    Ok(match whole.is_empty() {
        true => first,
        false => whole.freeze(),
    })
}

fn within(length: usize, limit: usize) -> Result<(), Error> {
    match length <= limit {
        true => Ok(()),
        false => Err(Error::limit(
            "the server's answer is over the limit of this client; raise ClientLimits::message_bytes",
        )),
    }
}

/// The error of an answer that ended too early.
pub(super) fn truncated() -> Error {
    Error::closed_because(Closure {
        reason: "the connection was lost before the answer came".to_owned(),
        exit: None,
    })
}

/// Takes one message that came for a request; yields its answer once it is that.
///
/// # Errors
/// When it is the answer, but unreadable.
pub(super) fn take(
    intake: &MessageRouter,
    bytes: &[u8],
    id: &RequestId,
) -> Result<Option<ServerResponse>, Error> {
    take_if(intake, bytes, id, |response| match &response.id {
        ResponseId::Id(theirs) => is_id_of(theirs, id),
        ResponseId::Null | ResponseId::Absent => false,
    })
}

fn take_if(
    intake: &MessageRouter,
    bytes: &[u8],
    id: &RequestId,
    is_meant: impl Fn(&ResponseEnvelope<'_>) -> bool,
) -> Result<Option<ServerResponse>, Error> {
    let mut found = None;
    let taken = intake.message(
        bytes,
        &mut |response| match is_meant(&response) && found.is_none() {
            true => found = Some(response.outcome.map(RawJson::from)),
            false => intake.inbox.skipped("an answer that nobody waits for"),
        },
    );
    match taken {
        Ok(()) => Ok(found),
        Err(unreadable) => {
            if strict_json::salvage_id(bytes).is_some_and(|theirs| is_id_of(&theirs, id)) {
                return Err(Error::protocol(format!(
                    "the server's answer is unreadable: {}",
                    unreadable.error.message
                )));
            }
            intake.inbox.skipped("an event that is no message");
            Ok(None)
        }
    }
}

fn is_id_of(theirs: &RequestId, ours: &RequestId) -> bool {
    spellings(theirs).any(|id| id == *ours)
}

/// Whether an answer is declared as a stream of events.
pub(super) fn is_stream(response: &Response<ClientBody>) -> bool {
    is_event_stream(content_type(response))
}

/// Any success accepts a message that wants no answer; some servers send something along.
pub(super) async fn accepted(response: Response<ClientBody>) -> Result<(), Error> {
    match response.status().is_success() {
        true => Ok(()),
        false => Err(status_error(response).await),
    }
}

fn content_type(response: &Response<ClientBody>) -> Option<&str> {
    response.headers().get(CONTENT_TYPE)?.to_str().ok()
}

/// The beginning of a body that is text, on one line.
fn shown(body: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(body).ok()?.trim();
    let line = text.lines().next()?;
    let shown: String = line
        .chars()
        .filter(|c| !c.is_control())
        .take(SHOWN_BYTES)
        .collect();
    (!shown.is_empty()).then_some(shown)
}
