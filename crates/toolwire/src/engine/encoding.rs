//! The encoding of messages and outcomes.

use std::borrow::Cow;

use bytes::Bytes;
use serde::Serialize;
use toolwire_proto::strict_json;
use toolwire_types::{ErrorObject, RawJson, RequestId, Response, ResponseId, json};

/// The outcome of a request.
pub(crate) type Outcome = Result<EncodedResult, ErrorObject>;

/// The result of a request, ready to be sent.
#[derive(Debug)]
pub(crate) enum EncodedResult {
    /// A list page that many responses share, see [`shared`].
    Shared(Bytes),
    /// The result as JSON.
    Json(RawJson),
    /// The complete response message.
    Message(Vec<u8>),
}

impl EncodedResult {
    /// Writes a response message. `write_result` writes the result directly into it.
    pub(crate) fn write(
        id: &RequestId,
        size_hint: usize,
        write_result: impl FnOnce(&mut Vec<u8>) -> serde_json::Result<()>,
    ) -> Outcome {
        let mut message = begin_response(id, size_hint);
        write_result(&mut message).map_err(|error| write_error(id, &error))?;
        message.extend_from_slice(AFTER_RESULT);
        Ok(Self::Message(without_line_separators(message)))
    }
}

#[cold]
fn write_error(id: &RequestId, error: &serde_json::Error) -> ErrorObject {
    tracing::error!(%id, %error, "a result could not be written as JSON");
    ErrorObject::internal("the result could not be written as JSON")
}

/// Bytes of a response besides its result, with an id of usual length.
const ENVELOPE_BYTES: usize = 64;

fn begin_response(id: &RequestId, size_hint: usize) -> Vec<u8> {
    let mut message = Vec::with_capacity(size_hint + ENVELOPE_BYTES);
    message.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    json::write(&mut message, id).expect("an id is text or a number");
    message.extend_from_slice(b",\"result\":");
    message
}

/// Prepares a result that many responses share.
pub(crate) fn shared(result: &RawJson) -> Bytes {
    without_line_separators(result.get().as_bytes().to_vec()).into()
}

/// The response message of a request.
#[derive(Debug)]
pub(crate) enum EncodedResponse {
    /// The message in one buffer.
    Message(Vec<u8>),
    /// The bytes before a shared result, and the result. [`AFTER_RESULT`] follows.
    Around { before: Vec<u8>, result: Bytes },
}

/// The bytes after the result of a response.
pub(crate) const AFTER_RESULT: &[u8] = b"}";

impl EncodedResponse {
    pub(crate) fn new(id: &RequestId, outcome: Outcome) -> Self {
        Self::Message(match outcome {
            Ok(EncodedResult::Message(message)) => message,
            Ok(EncodedResult::Json(result)) => {
                let mut message = begin_response(id, result.get().len());
                message.extend_from_slice(result.get().as_bytes());
                message.extend_from_slice(AFTER_RESULT);
                without_line_separators(message)
            }
            Ok(EncodedResult::Shared(result)) => {
                let before = without_line_separators(begin_response(id, 0));
                return Self::Around { before, result };
            }
            Err(error) => encode_error(ResponseId::Id(id.clone()), error),
        })
    }

    /// Returns the message in one buffer.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        match self {
            Self::Message(message) => message,
            Self::Around { before, result } => [&*before, &*result, AFTER_RESULT].concat(),
        }
    }
}

/// Encodes a response message in one buffer.
#[inline]
pub(crate) fn encode_outcome(id: &RequestId, outcome: Outcome) -> Vec<u8> {
    match outcome {
        Ok(EncodedResult::Message(message)) => message,
        outcome => EncodedResponse::new(id, outcome).into_bytes(),
    }
}

/// Encodes an error response.
#[cold]
pub(crate) fn encode_error(id: ResponseId, error: ErrorObject) -> Vec<u8> {
    encode(&Response::error(id, error)).expect("an error response holds only text and raw JSON")
}

/// Encodes one message.
pub(crate) fn encode<T: Serialize>(message: &T) -> serde_json::Result<Vec<u8>> {
    let mut written = Vec::with_capacity(ENVELOPE_BYTES);
    json::write(&mut written, message)?;
    Ok(without_line_separators(written))
}

/// Escapes characters that some readers treat as line ends. The framing handles the rest.
#[inline(never)]
fn without_line_separators(message: Vec<u8>) -> Vec<u8> {
    match strict_json::escape_line_separators(&message) {
        Cow::Borrowed(_) => message,
        Cow::Owned(escaped) => escaped,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn line_separators_are_escaped() {
        let raw = RawJson::from_string("{\"text\":\"a\u{2028}b\\n\"}".to_owned()).unwrap();
        let bytes = encode_outcome(&RequestId::from(1), Ok(EncodedResult::Json(raw)));
        let text = String::from_utf8(bytes).unwrap();
        assert!(!text.contains('\u{2028}'), "{text}");
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            value,
            json!({"jsonrpc": "2.0", "id": 1, "result": {"text": "a\u{2028}b\n"}})
        );
    }

    #[test]
    fn shared_result_encodes_to_the_same_message() {
        let raw = RawJson::from_string("{\"text\":\"a\u{2028}b\"}".to_owned()).unwrap();
        let id = RequestId::from("an\u{2029}id");
        let whole = encode_outcome(&id, Ok(EncodedResult::Json(raw.clone())));
        let around = EncodedResponse::new(&id, Ok(EncodedResult::Shared(shared(&raw))));
        assert!(matches!(around, EncodedResponse::Around { .. }));
        assert_eq!(around.into_bytes(), whole);
    }

    #[test]
    fn ids_keep_their_type() {
        for id in [
            RequestId::from(1),
            RequestId::from("1"),
            RequestId::from(0),
            RequestId::from(""),
        ] {
            let bytes = encode_outcome(&id, Err(ErrorObject::internal("x")));
            let value: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
            assert_eq!(value["id"], serde_json::to_value(&id).unwrap());
        }
    }
}
