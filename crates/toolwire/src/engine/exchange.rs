//! One request on its way through the server, and what it comes to.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};
use toolwire_proto::methods::Method;
use toolwire_proto::strict_json;
use toolwire_types::{CallToolResult, ErrorObject, RawJson, RequestId, Response, ResponseId};

use crate::server::RequestContext;
use crate::server::snapshot::Snapshot;

/// An admitted request with everything its handler needs.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) route: Route,
    /// The tool, prompt or URI it is about, for methods that name one.
    pub(crate) name: Option<String>,
    pub(crate) params: Option<RawJson>,
    pub(crate) arguments: Option<RawJson>,
    pub(crate) context: RequestContext,
    /// The server as it was when the request came.
    pub(crate) snapshot: Arc<Snapshot>,
}

impl Exchange {
    /// Decodes the parameters of the method.
    pub(crate) fn decode_params<T: DeserializeOwned>(&self) -> Result<T, ErrorObject> {
        let text = self.params.as_ref().map_or("{}", |params| params.get());
        serde_json::from_str(text)
            .map_err(|error| ErrorObject::invalid_params(format!("params: {error}")))
    }
}

/// What a request comes to.
pub(crate) type Outcome = Result<Reply, ErrorObject>;

/// How a method was found: in the protocol's table, or among the author's own.
#[derive(Debug, Clone)]
pub(crate) enum Route {
    Known(&'static Method),
    Custom(String),
}

impl Route {
    /// The wire name of the method.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Known(method) => method.name,
            Self::Custom(name) => name,
        }
    }
}

/// The result of a request, ready to be written.
#[derive(Debug)]
pub(crate) enum Reply {
    /// A page of a list, written once for many.
    Shared(Arc<RawJson>),
    /// Already JSON.
    Json(RawJson),
    /// Written straight into the outgoing message.
    Tool(Box<CallToolResult>),
}

impl Serialize for Reply {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Shared(json) => json.serialize(serializer),
            Self::Json(json) => json.serialize(serializer),
            Self::Tool(result) => result.serialize(serializer),
        }
    }
}

#[derive(Serialize)]
struct ResultMessage<'a> {
    jsonrpc: &'static str,
    id: &'a RequestId,
    result: &'a Reply,
}

/// Writes the message that answers a request.
pub(crate) fn encode_outcome(id: &RequestId, outcome: &Outcome) -> Vec<u8> {
    let written = match outcome {
        Ok(reply) => encode(&ResultMessage {
            jsonrpc: "2.0",
            id,
            result: reply,
        }),
        Err(error) => return encode_error(ResponseId::Id(id.clone()), error.clone()),
    };
    written.unwrap_or_else(|error| {
        tracing::error!(%id, %error, "a result could not be written as JSON");
        encode_error(
            ResponseId::Id(id.clone()),
            ErrorObject::internal("the result could not be written as JSON"),
        )
    })
}

/// Writes an error answer.
pub(crate) fn encode_error(id: ResponseId, error: ErrorObject) -> Vec<u8> {
    encode(&Response::error(id, error)).expect("an error answer holds only text and raw JSON")
}

/// Writes one message. Characters that some readers take for the end of a line are escaped; the framing does the rest.
pub(crate) fn encode<T: Serialize>(message: &T) -> serde_json::Result<Vec<u8>> {
    let text = serde_json::to_string(message)?;
    Ok(match strict_json::escape_line_separators(&text) {
        std::borrow::Cow::Borrowed(_) => text.into_bytes(),
        std::borrow::Cow::Owned(escaped) => escaped.into_bytes(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn line_separators_are_escaped() {
        let raw = RawJson::from_string("{\"text\":\"a\u{2028}b\\n\"}".to_owned()).unwrap();
        let bytes = encode_outcome(&RequestId::from(1), &Ok(Reply::Json(raw)));
        let text = String::from_utf8(bytes).unwrap();
        assert!(!text.contains('\u{2028}'), "{text}");
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            value,
            json!({"jsonrpc": "2.0", "id": 1, "result": {"text": "a\u{2028}b\n"}})
        );
    }

    #[test]
    fn ids_keep_their_type() {
        for id in [
            RequestId::from(1),
            RequestId::from("1"),
            RequestId::from(0),
            RequestId::from(""),
        ] {
            let bytes = encode_outcome(&id, &Err(ErrorObject::internal("x")));
            let value: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
            assert_eq!(value["id"], serde_json::to_value(&id).unwrap());
        }
    }
}
