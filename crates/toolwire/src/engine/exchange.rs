//! One request on its way through the server, and what it comes to.

use std::borrow::Cow;

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use toolwire_proto::methods::Method;
use toolwire_proto::strict_json;
use toolwire_types::{ErrorObject, RawJson, RequestId, Response, ResponseId, json};

use crate::server::RequestContext;
use crate::server::snapshot::Snapshot;

/// An admitted request with everything its handler needs.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) context: RequestContext,
}

impl Exchange {
    /// How its method was found.
    pub(crate) fn route(&self) -> &MethodRoute {
        &self.context.scope().route
    }

    /// All parameters, of methods that need more than their name and arguments.
    pub(crate) fn params(&self) -> Option<&RawJson> {
        self.context.scope().params.as_ref()
    }

    /// The server as it was when the request came.
    pub(crate) fn snapshot(&self) -> &Snapshot {
        &self.context.scope().snapshot
    }

    /// The tool, prompt or URI it is about, for methods that name one.
    pub(crate) fn name(&self) -> Option<&str> {
        self.context.scope().kept.name()
    }

    /// The arguments of a tool or prompt.
    pub(crate) fn arguments(&self) -> Option<&RawValue> {
        self.context.scope().kept.arguments()
    }

    /// Decodes the parameters of the method.
    pub(crate) fn decode_params<T: DeserializeOwned>(&self) -> Result<T, ErrorObject> {
        let text = self.params().map_or("{}", |params| params.get());
        serde_json::from_str(text)
            .map_err(|error| ErrorObject::invalid_params(format!("params: {error}")))
    }
}

/// What a request comes to.
pub(crate) type Outcome = Result<EncodedResult, ErrorObject>;

/// How a method was found: in the protocol's table, or among the author's own.
#[derive(Debug, Clone)]
pub(crate) enum MethodRoute {
    Known(&'static Method),
    Custom(Box<str>),
}

impl MethodRoute {
    /// The wire name of the method.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Known(method) => method.name,
            Self::Custom(name) => name,
        }
    }
}

/// The result of a request, ready to be sent.
#[derive(Debug)]
pub(crate) enum EncodedResult {
    /// A page of a list, written once for many, see [`shared`].
    Shared(Bytes),
    /// Already JSON.
    Json(RawJson),
    /// The whole message, written where its result was known.
    Message(Vec<u8>),
}

impl EncodedResult {
    /// Writes the answer to a request, whose result is written straight into it.
    pub(crate) fn written(
        id: &RequestId,
        size_hint: usize,
        write_result: impl FnOnce(&mut Vec<u8>) -> serde_json::Result<()>,
    ) -> Outcome {
        let mut message = begin_answer(id, size_hint);
        write_result(&mut message).map_err(|error| unwritable(id, &error))?;
        message.extend_from_slice(AFTER_RESULT);
        Ok(Self::Message(without_line_separators(message)))
    }
}

#[cold]
fn unwritable(id: &RequestId, error: &serde_json::Error) -> ErrorObject {
    tracing::error!(%id, %error, "a result could not be written as JSON");
    ErrorObject::internal("the result could not be written as JSON")
}

/// How much an answer has beside its id and its result, and an id of ordinary length.
const ENVELOPE_BYTES: usize = 64;

fn begin_answer(id: &RequestId, size_hint: usize) -> Vec<u8> {
    let mut message = Vec::with_capacity(size_hint + ENVELOPE_BYTES);
    message.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    json::write(&mut message, id).expect("an id is text or a number");
    message.extend_from_slice(b",\"result\":");
    message
}

/// A result that many answers will have.
pub(crate) fn shared(result: &RawJson) -> Bytes {
    without_line_separators(result.get().as_bytes().to_vec()).into()
}

/// The message that answers a request.
#[derive(Debug)]
pub(crate) enum EncodedResponse {
    Whole(Vec<u8>),
    /// What stands before a shared result, and the result; [`AFTER_RESULT`] follows.
    Around {
        before: Vec<u8>,
        result: Bytes,
    },
}

/// What stands behind the result of an answer.
pub(crate) const AFTER_RESULT: &[u8] = b"}";

impl EncodedResponse {
    pub(crate) fn new(id: &RequestId, outcome: Outcome) -> Self {
        Self::Whole(match outcome {
            Ok(EncodedResult::Message(message)) => message,
            Ok(EncodedResult::Json(result)) => {
                let mut message = begin_answer(id, result.get().len());
                message.extend_from_slice(result.get().as_bytes());
                message.extend_from_slice(AFTER_RESULT);
                without_line_separators(message)
            }
            Ok(EncodedResult::Shared(result)) => {
                let before = without_line_separators(begin_answer(id, 0));
                return Self::Around { before, result };
            }
            Err(error) => encode_error(ResponseId::Id(id.clone()), error),
        })
    }

    /// The message in one piece.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        match self {
            Self::Whole(message) => message,
            Self::Around { before, result } => [&*before, &*result, AFTER_RESULT].concat(),
        }
    }
}

/// The message that answers a request, in one piece.
#[inline]
pub(crate) fn encode_outcome(id: &RequestId, outcome: Outcome) -> Vec<u8> {
    match outcome {
        Ok(EncodedResult::Message(message)) => message,
        outcome => EncodedResponse::new(id, outcome).into_bytes(),
    }
}

/// Writes an error answer.
#[cold]
pub(crate) fn encode_error(id: ResponseId, error: ErrorObject) -> Vec<u8> {
    encode(&Response::error(id, error)).expect("an error answer holds only text and raw JSON")
}

/// Writes one message.
pub(crate) fn encode<T: Serialize>(message: &T) -> serde_json::Result<Vec<u8>> {
    let mut written = Vec::with_capacity(ENVELOPE_BYTES);
    json::write(&mut written, message)?;
    Ok(without_line_separators(written))
}

/// Escapes characters that some readers take for the end of a line; the framing does the rest.
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
    fn a_shared_result_makes_the_same_message() {
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
