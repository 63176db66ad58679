//! The outcome of a request as its middleware sees it.

use std::borrow::Cow;

use indexmap::IndexMap;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use toolwire_proto::stamp;
use toolwire_types::{CallToolResult, ErrorObject, RawJson};

use crate::engine::{self, EncodedResult};
use crate::server::input_methods::write_tool_result;
use crate::server::request::Exchange;

/// The outcome of a request: a result or an error.
///
/// A result is decoded only on demand, and an outcome that no middleware replaces is not written again. A result of a
/// middleware gets the members that the revision of the request requires.
#[derive(Debug)]
pub struct Outcome {
    content: Content,
}

#[derive(Debug)]
enum Content {
    /// A result that is stamped for its revision.
    Encoded(EncodedResult),
    /// A result of a middleware.
    Result(RawJson),
    /// A tool result of a middleware.
    Tool(Box<CallToolResult>),
    Error(ErrorObject),
}

/// The members of a result that determine its kind.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ResultKind<'a> {
    is_error: Option<bool>,
    #[serde(borrow)]
    result_type: Option<Cow<'a, str>>,
}

impl Outcome {
    /// Creates the outcome of a tool that failed: a result that the model reads.
    #[must_use]
    pub fn tool_error(text: impl Into<String>) -> Self {
        CallToolResult::error(text).into()
    }

    /// Creates an outcome from a result of any method. Missing members that the revision requires are added.
    #[must_use]
    pub fn from_result(result: RawJson) -> Self {
        Content::Result(result).into()
    }

    /// Returns the error, if the request failed with one.
    #[must_use]
    pub fn error(&self) -> Option<&ErrorObject> {
        match &self.content {
            Content::Error(error) => Some(error),
            _ => None,
        }
    }

    /// Returns the result as JSON, if there is one.
    #[must_use]
    pub fn result(&self) -> Option<RawJson> {
        match &self.content {
            Content::Tool(result) => RawJson::from_serialize(result).ok(),
            _ => self.raw_result().map(RawJson::from),
        }
    }

    /// Decodes the result of a tool. Returns `None` if the outcome is an error, asks for input, or is not the result of a
    /// tool.
    #[must_use]
    pub fn tool_result(&self) -> Option<CallToolResult> {
        match &self.content {
            Content::Tool(result) => Some(CallToolResult::clone(result)),
            _ if self.is_input_required() => None,
            _ => serde_json::from_str(self.raw_result()?.get()).ok(),
        }
    }

    /// Returns `true` if the outcome asks the client for input (2026-07-28). The client then sends a further request; see
    /// [`Request::is_retry`](crate::middleware::Request::is_retry).
    #[must_use]
    pub fn is_input_required(&self) -> bool {
        self.kind().result_type.as_deref() == Some("input_required")
    }

    /// Returns `true` if the outcome is the result of a tool that failed.
    #[must_use]
    pub fn is_tool_error(&self) -> bool {
        match &self.content {
            Content::Tool(result) => result.is_error == Some(true),
            _ => self.kind().is_error == Some(true),
        }
    }

    /// Returns `true` if the outcome is an error or the result of a tool that failed.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        self.error().is_some() || self.is_tool_error()
    }

    /// Returns the bytes of the result, or of the response that contains it if that is already written. 0 for an error.
    #[must_use]
    pub fn size(&self) -> usize {
        match &self.content {
            Content::Encoded(EncodedResult::Message(message)) => message.len(),
            Content::Encoded(EncodedResult::Shared(result)) => result.len(),
            Content::Encoded(EncodedResult::Json(result)) | Content::Result(result) => {
                result.get().len()
            }
            Content::Tool(result) => {
                RawJson::from_serialize(result).map_or(0, |result| result.get().len())
            }
            Content::Error(_) => 0,
        }
    }

    /// Returns the number of input requests in an outcome that asks for input.
    pub(crate) fn input_request_count(&self) -> usize {
        /// The members of a result that asks for input.
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct InputRequired {
            input_requests: IndexMap<String, IgnoredAny>,
        }

        let Some(result) = self.raw_result().filter(|_| self.is_input_required()) else {
            return 0;
        };
        let asked = serde_json::from_str::<InputRequired>(result.get());
        asked.map_or(0, |asked| asked.input_requests.len())
    }

    fn kind(&self) -> ResultKind<'_> {
        let result = self.raw_result();
        let kind = result.and_then(|result| serde_json::from_str(result.get()).ok());
        kind.unwrap_or_default()
    }

    /// Returns the result, unless it is a tool result of a middleware or an error.
    fn raw_result(&self) -> Option<&RawValue> {
        /// A response with a result.
        #[derive(Deserialize)]
        struct ResponseMessage<'a> {
            #[serde(borrow)]
            result: &'a RawValue,
        }

        match &self.content {
            Content::Encoded(EncodedResult::Json(result)) | Content::Result(result) => {
                Some(result.as_raw_value())
            }
            Content::Encoded(EncodedResult::Shared(result)) => serde_json::from_slice(result).ok(),
            Content::Encoded(EncodedResult::Message(message)) => {
                let message: ResponseMessage<'_> = serde_json::from_slice(message).ok()?;
                Some(message.result)
            }
            Content::Tool(_) | Content::Error(_) => None,
        }
    }

    pub(crate) fn from_encoded(outcome: engine::Outcome) -> Self {
        match outcome {
            Ok(result) => Content::Encoded(result).into(),
            Err(error) => Content::Error(error).into(),
        }
    }

    /// Encodes the outcome for its exchange. What the dispatch encoded stays as it is.
    pub(crate) fn into_encoded(self, exchange: &Exchange) -> engine::Outcome {
        let version = exchange.context.version();
        match self.content {
            Content::Encoded(result) => Ok(result),
            Content::Result(result) => {
                let target = exchange.snapshot().target(version);
                Ok(EncodedResult::Json(stamp::stamp_raw(result, &target)))
            }
            Content::Tool(result) => write_tool_result(exchange, *result),
            Content::Error(error) => Err(stamp::stamp_error(error, version)),
        }
    }
}

impl From<Content> for Outcome {
    fn from(content: Content) -> Self {
        Self { content }
    }
}

impl From<ErrorObject> for Outcome {
    fn from(error: ErrorObject) -> Self {
        Content::Error(error).into()
    }
}

impl From<CallToolResult> for Outcome {
    fn from(result: CallToolResult) -> Self {
        Content::Tool(Box::new(result)).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> RawJson {
        RawJson::from_string(text.to_owned()).unwrap()
    }

    #[test]
    fn result_is_found_in_every_encoding() {
        let text = r#"{"content":[{"type":"text","text":"hi"}],"isError":true}"#;
        let message = format!(r#"{{"jsonrpc":"2.0","id":"a\"b","result":{text}}}"#);
        let encodings = [
            EncodedResult::Json(json(text)),
            EncodedResult::Shared(text.as_bytes().to_vec().into()),
            EncodedResult::Message(message.into_bytes()),
        ];
        for encoding in encodings {
            let outcome = Outcome::from_encoded(Ok(encoding));
            assert_eq!(outcome.result().unwrap().get(), text);
            assert_eq!(outcome.tool_result(), Some(CallToolResult::error("hi")));
            assert!(outcome.is_failure() && !outcome.is_input_required());
            assert!(outcome.size() >= text.len());
        }
    }

    #[test]
    fn kinds_of_outcomes_are_distinguished() {
        let error = Outcome::from(ErrorObject::internal("no"));
        assert!(error.is_failure() && !error.is_tool_error());
        assert_eq!((error.result(), error.size()), (None, 0));
        let asks = Outcome::from_result(json(r#"{"resultType":"input_required"}"#));
        assert!(asks.is_input_required() && !asks.is_failure());
        assert_eq!(asks.input_request_count(), 0);
        let text = r#"{"inputRequests":{"a":{},"b":{}},"resultType":"input_required"}"#;
        assert_eq!(Outcome::from_result(json(text)).input_request_count(), 2);
        assert_eq!(asks.tool_result(), None);
        assert!(Outcome::tool_error("no").is_failure());
        assert!(!Outcome::from(CallToolResult::text("yes")).is_failure());
    }
}
